/* SPDX-License-Identifier: MIT */
/*
 * alloc_peaks.c - alloc_peaks N: N rounds of three allocations, each round with a new peak of
 * held bytes, found while the previous block is still pending.
 */
#include <stdlib.h>

static void *volatile held;

static __attribute__((noinline)) void *large(void)
{
	return malloc(64);
}

static __attribute__((noinline)) void *small(void)
{
	return malloc(32);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	void *passing = malloc(16);

	for (int i = 0; i < rounds; i++) {
		held = large();
		held = small();
		free(passing);
		passing = malloc(16);
	}
	free(passing);
	return 0;
}
