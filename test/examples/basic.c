/* SPDX-License-Identifier: MIT */
/*
 * basic.c - a first look: few functions, known numbers of calls.
 *
 *	cc -O2 -g -finstrument-functions basic.c -o basic && hotpath-run ./basic
 *
 * main calls work 100 times; work calls fast 10 times and slow once in ten;
 * fib(15) is 1973 calls of one recursive function.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

static volatile uint64_t sink;

static __attribute__((noinline)) void fast(uint64_t seed)
{
	for (int i = 0; i < 100; i++)
		seed = seed * UINT64_C(6364136223846793005) + 1;
	sink += seed;
}

static __attribute__((noinline)) void slow(void)
{
	struct timespec wait = { .tv_nsec = 1000000 };

	nanosleep(&wait, NULL);
}

static __attribute__((noinline)) void work(int turn)
{
	for (int i = 0; i < 10; i++)
		fast((uint64_t)turn);
	if (turn % 10 == 0)
		slow();
}

static __attribute__((noinline)) unsigned fib(unsigned n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(void)
{
	for (int turn = 0; turn < 100; turn++)
		work(turn);
	printf("fib(15) = %u\n", fib(15));
	return 0;
}
