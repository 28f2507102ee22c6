/* SPDX-License-Identifier: MIT */
/*
 * growth.c - growth CALLS... - makes calls until there were so many, says so,
 * and waits for a line of input, while somebody looks at what memory it takes.
 * The functions are a few levels deep and of several durations, so that
 * histograms have groups to touch.
 */
#include "test/bench/work.h"

static BENCH_CALLED void leaf(unsigned n)
{
	work(n % 64);
}
static BENCH_CALLED void middle(unsigned n)
{
	leaf(n);
	leaf(n * 7);
}
static BENCH_CALLED void outer(unsigned n)
{
	middle(n);
}

/* outer, middle and two of leaf: four calls a turn. */
static BENCH_PLAIN long run_to(long made, long calls)
{
	for (; made < calls; made += 4)
		outer((unsigned)(made >> 2) * 2654435761u >> 16);
	return made;
}

BENCH_PLAIN int main(int argc, char **argv)
{
	long made = 0;

	for (int i = 1; i < argc; i++) {
		made = run_to(made, atol(argv[i]));
		printf("%ld\n", made);
		fflush(stdout);
		if (getchar() == EOF)
			return 1;
	}
	return 0;
}
