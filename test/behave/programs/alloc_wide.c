/* SPDX-License-Identifier: MIT */
/*
 * alloc_wide.c - more paths, and more callers, than tables have room for at first.
 *
 *   alloc_wide paths ROUNDS     each of 2^14 paths allocates 1 + (its number % 7) bytes, ROUNDS times
 *   alloc_wide callers ROUNDS   each of 2048 callers allocates 16 bytes, ROUNDS times, keeps every other
 */
#include <stdlib.h>
#include <string.h>

static volatile int after;
static void *volatile block;
static void *kept;

static __attribute__((noinline)) void take(unsigned size)
{
	block = malloc(size);
	free(block);
}

/* The path is the number: a bit is one of two calls. */
static __attribute__((noinline)) void branch(unsigned number, int bits, unsigned size)
{
	if (bits == 0) {
		take(size);
		after = 0;
	} else if (number & 1) {
		branch(number >> 1, bits - 1, size);
		after = 1;
	} else {
		branch(number >> 1, bits - 1, size);
		after = 2;
	}
}

#define CALL \
	do { \
		void **made = malloc(16); \
		if (after++ & 1) { \
			*made = kept; \
			kept = made; \
		} else { \
			free(made); \
		} \
	} while (0);
#define CALLS4 CALL CALL CALL CALL
#define CALLS16 CALLS4 CALLS4 CALLS4 CALLS4
#define CALLS64 CALLS16 CALLS16 CALLS16 CALLS16
#define CALLS256 CALLS64 CALLS64 CALLS64 CALLS64

static __attribute__((noinline)) void callers(void)
{
	CALLS256 CALLS256 CALLS256 CALLS256 CALLS256 CALLS256 CALLS256 CALLS256
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 1;

	for (int round = 0; round < rounds; round++) {
		if (argc > 1 && strcmp(argv[1], "callers") == 0)
			callers();
		else
			for (unsigned i = 0; i < 1 << 14; i++)
				branch(i, 14, 1 + i % 7);
	}
	return 0;
}
