/* SPDX-License-Identifier: MIT */
/*
 * smoke.c - two functions of known shares of the CPU, three to one: `make smoke`
 * looks whether the tables say so.
 */
#include <stdio.h>

static volatile unsigned long sink;

static __attribute__((noinline)) void heavy_work(void)
{
	for (unsigned long i = 0; i < 1500000; i++)
		sink += i * 7;
}

static __attribute__((noinline)) void light_work(void)
{
	for (unsigned long i = 0; i < 500000; i++)
		sink += i * 7;
}

int main(void)
{
	for (int i = 0; i < 300; i++) {
		heavy_work();
		light_work();
	}
	printf("%lu\n", sink);
	return 0;
}
