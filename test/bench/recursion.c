/* SPDX-License-Identifier: MIT */
/* recursion.c - 10 000 activations of one function, down and up again. */
#include "test/bench/bench.h"

#define DEPTH 10000

static BENCH_CALLED void down(int depth)
{
	if (depth > 1)
		down(depth - 1);
	__asm__ volatile("");
}

static BENCH_PLAIN void bench_run(long calls)
{
	for (long i = 0; i < calls; i += DEPTH)
		down(DEPTH);
}
