/* SPDX-License-Identifier: MIT */
/* loop.c - one empty function in a loop: the minimum cost of a call pair. */
#include "test/bench/bench.h"

static BENCH_CALLED void empty(void)
{
	__asm__ volatile("");
}

static BENCH_PLAIN void bench_run(long calls)
{
	for (long i = 0; i < calls; i++)
		empty();
}
