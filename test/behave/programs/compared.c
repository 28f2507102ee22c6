/* SPDX-License-Identifier: MIT */
/*
 * compared.c - two versions of one program: -DSLOWER makes `changed` work eight
 * times as long and allocate twice as much; `added` exists only then.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef SLOWER
#define TIMES 8
#define BYTES 2000
#else
#define TIMES 1
#define BYTES 1000
#endif

static volatile uint64_t sum;

__attribute__((noinline)) static void work(unsigned long rounds)
{
	while (rounds--)
		sum += rounds;
}

__attribute__((noinline)) static void changed(void)
{
	work(TIMES * 1000000UL);
	for (int i = 0; i < 10; i++)
		free(malloc(BYTES));
	sum++;
}

__attribute__((noinline)) static void steady(void)
{
	free(malloc(500));
	sum++;
}

#ifdef SLOWER
__attribute__((noinline)) static void added(void)
{
	work(1000000);
	sum++;
}
#endif

int main(void)
{
	for (int i = 0; i < 20; i++) {
		changed();
		steady();
	}
#ifdef SLOWER
	added();
#endif
	return sum == 1;
}
