/* SPDX-License-Identifier: MIT */
/* chain.c - a chain of calls 8 deep; the figure is that of one call of the eight. */
#include "test/bench/bench.h"

#define LINK(name, next) \
	static BENCH_CALLED void name(void) \
	{ \
		next; \
		__asm__ volatile(""); \
	}

LINK(f8, (void)0)
LINK(f7, f8())
LINK(f6, f7())
LINK(f5, f6())
LINK(f4, f5())
LINK(f3, f4())
LINK(f2, f3())
LINK(f1, f2())

static BENCH_PLAIN void bench_run(long calls)
{
	for (long i = 0; i < calls; i += 8)
		f1();
}
