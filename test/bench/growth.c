/* SPDX-License-Identifier: MIT */
/*
 * growth.c - growth calls|pairs COUNT... - makes calls, or pairs of malloc and free, up to
 * a given number, reports that, and waits for a line of input, while its memory is
 * measured.  The functions are a few levels deep and of several durations, so that
 * histograms have groups to touch; blocks are of many sizes and ages, from eight paths.
 */
#include <string.h>

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

static void *kept[1024];
static volatile unsigned depth;

/* Some 1000 blocks of up to 511 bytes are held at any time; half of the pairs are temporary. */
static BENCH_PLAIN void pair(unsigned n)
{
	void **place = &kept[n % 1024];

	if (n & 1 << 20) {
		free(*place);
		*place = malloc(n >> 10 & 511);
	} else {
		void *volatile block = malloc(n >> 10 & 511);

		free(block);
	}
}

static BENCH_PLAIN void above_pair(unsigned n, unsigned levels)
{
	if (levels)
		above_pair(n, levels - 1);
	else
		pair(n);
	depth = levels;
}

static BENCH_PLAIN long pairs_to(long made, long pairs)
{
	for (; made < pairs; made++)
		above_pair((unsigned)made * 2654435761u, (unsigned)made >> 4 & 7);
	return made;
}

/* outer, middle and two of leaf: four calls per turn. */
static BENCH_PLAIN long run_to(long made, long calls)
{
	for (; made < calls; made += 4)
		outer((unsigned)(made >> 2) * 2654435761u >> 16);
	return made;
}

BENCH_PLAIN int main(int argc, char **argv)
{
	long made = 0;

	for (int i = 2; i < argc; i++) {
		made = strcmp(argv[1], "pairs") ? run_to(made, atol(argv[i]))
						: pairs_to(made, atol(argv[i]));
		printf("%ld\n", made);
		fflush(stdout);
		if (getchar() == EOF)
			return 1;
	}
	return 0;
}
