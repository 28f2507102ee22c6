/* SPDX-License-Identifier: MIT */
/*
 * benchmark.c - one million calls (or as many as the argument says) of an empty
 * function: the most expensive program for a profiler.
 *
 *	hyperfine build/examples/benchmark 'hotpath-run build/examples/benchmark'
 */
#include <stdlib.h>

/* The asm keeps the calls from being merged or dropped. */
static __attribute__((noinline)) void empty(void)
{
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 1000000;

	for (long i = 0; i < calls; i++)
		empty();
	return 0;
}
