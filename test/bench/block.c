/* SPDX-License-Identifier: MIT */
/*
 * block.c - KIND CALLS: ns of a call of an empty instrumented function, of an
 * empty block, of a pair, of the same loop without any; alternating, so that all
 * see the same machine load. Prints "function block pair nothing", the minimum of
 * each.
 */
#include "include/hotpath.h"
#include "test/bench/work.h"

#include <time.h>

static BENCH_PLAIN double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static BENCH_CALLED void empty(void)
{
	__asm__ volatile("");
}

static BENCH_PLAIN void functions(long calls)
{
	for (long i = 0; i < calls; i++)
		empty();
}

static BENCH_PLAIN void blocks(long calls)
{
	for (long i = 0; i < calls; i++) {
		HOTPATH_BLOCK("block");
		__asm__ volatile("");
	}
}

static BENCH_PLAIN void pairs(long calls)
{
	for (long i = 0; i < calls; i++) {
		HOTPATH_BEGIN("pair");
		__asm__ volatile("");
		HOTPATH_END("pair");
	}
}

static BENCH_PLAIN void nothing(long calls)
{
	for (long i = 0; i < calls; i++)
		__asm__ volatile("");
}

BENCH_PLAIN int main(int argc, char **argv)
{
	static void (*const kinds[])(long) = { functions, blocks, pairs, nothing };
	long calls = argc > 1 ? atol(argv[1]) : 1000000;
	double least[4] = { 1e9, 1e9, 1e9, 1e9 };

	for (int round = 0; round < 20; round++)
		for (int kind = 0; kind < 4; kind++) {
			double start = now_ns();

			kinds[kind](calls / 20);
			start = (now_ns() - start) / ((double)calls / 20);
			if (round > 0 && start < least[kind])
				least[kind] = start;
		}
	for (int kind = 0; kind < 4; kind++)
		printf("%.3f ", least[kind]);
	puts("");
	return 0;
}
