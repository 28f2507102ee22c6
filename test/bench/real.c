/* SPDX-License-Identifier: MIT */
/*
 * real.c - slow calls among many short ones, on the real clock: real SHAPE CALLS SEED [EMPTY | LOOP].
 *
 * The shapes are those of test/behave/programs/virtual.c; here slow calls spin, and short ones
 * multiply. The program reads the clock at both ends of each spin and of the whole loop, so it
 * knows how long the slow calls took, whoever interrupted them. It prints "loop NS" and, for each
 * function, "slow NAME NS", its spins without its callees'.
 *
 * With EMPTY, short calls do nothing, and with LOOP there are none. The differences to a usual run
 * tell how long these take (real.py).
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define QUIET __attribute__((no_instrument_function))
#define ALONE __attribute__((noinline, noclone))
#define INLINE static inline __attribute__((always_inline, no_instrument_function))

enum who { QUICK, OTHER, DEEP, CALLERS, WHO };

static uint64_t spun[WHO];
static uint64_t value = 1;
static bool is_empty, is_loop;
static long all_calls;

INLINE uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static QUIET __attribute__((noinline)) void spin(enum who who, uint64_t ns)
{
	uint64_t start = clock_ns(), now = start;

	while (now < start + ns)
		now = clock_ns();
	spun[who] += now - start;
}

/* Some 4 ns each: every step waits for the previous one. */
INLINE void work(uint64_t steps)
{
	uint64_t x = value;

	if (is_empty)
		return;
	for (uint64_t i = 0; i < steps; i++) {
		x = x * 3 + 1;
		__asm__ volatile("" : "+r"(x));
		x = x * 5 + 1;
		__asm__ volatile("" : "+r"(x));
		x = x * 7 + 1;
		__asm__ volatile("" : "+r"(x));
	}
	value = x;
}

ALONE void quick(uint64_t steps, uint64_t ns)
{
	work(steps);
	if (ns)
		spin(QUICK, ns);
}

ALONE void other(uint64_t steps, uint64_t ns)
{
	work(steps);
	if (ns)
		spin(OTHER, ns);
}

ALONE void deep(uint64_t ns, int depth)
{
	work(1);
	if (depth)
		deep(ns, depth - 1);
	else if (ns)
		spin(DEEP, ns);
	__asm__ volatile("" : : : "memory");
}

static uint64_t state = 88172645463325252u;

/* Marsaglia's xorshift64. */
INLINE uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

#define SLOW_MAX 512
static long slow[SLOW_MAX + 1]; /* places of slow calls, in order, and an end */

static QUIET int by_place(const void *a, const void *b)
{
	const long *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static QUIET void place_slow(int count)
{
	for (int i = 0; i < count; i++)
		slow[i] = 10000 + (long)(next() >> 11) % (all_calls - 10000);
	qsort(slow, (size_t)count, sizeof(slow[0]), by_place);
	slow[count] = INT64_MAX;
}

enum shape {
	CONSTANT,
	RANDOM,
	FEW,
	FIRST,
	LAST,
	THOUSANDTH,
	PERIODIC,
	P64,
	P128,
	P1000,
	BURST,
	ALTERNATING,
	BOTH,
	CALLER,
	DOUBLING,
	DRIFTING,
	RECURSION,
	TENS,
	SHAPES
};

static const struct {
	const char *name;
	int places;
} shapes[SHAPES] = {
	[CONSTANT] = { "constant", 0 },
	[RANDOM] = { "random", 193 },
	[FEW] = { "few", 20 },
	[FIRST] = { "first", 0 },
	[LAST] = { "last", 0 },
	[THOUSANDTH] = { "thousandth", 0 },
	[PERIODIC] = { "periodic", 0 },
	[P64] = { "p64", 0 },
	[P128] = { "p128", 0 },
	[P1000] = { "p1000", 0 },
	[BURST] = { "burst", 1 },
	[ALTERNATING] = { "alternating", 193 },
	[BOTH] = { "both", 193 },
	[CALLER] = { "caller", 193 },
	[DOUBLING] = { "doubling", 0 },
	[DRIFTING] = { "drifting", 0 },
	[RECURSION] = { "recursion", 193 },
	[TENS] = { "tens", 193 },
};

INLINE uint64_t more(enum shape shape, long i)
{
	static int at;
	uint64_t ns = 0;

	switch (shape) {
	case FIRST:
		return i >= 10000 && i < 10020 ? 2000000 : 0;
	case LAST:
		return i >= all_calls - 20 ? 2000000 : 0;
	case THOUSANDTH:
		return (next() >> 20) % 1000 ? 0 : 10000;
	case PERIODIC:
		return i % 100000 == 99999 ? 1000000 : 0;
	case P64:
		return i % 64 == 63 ? 2000 : 0;
	case P128:
		return i % 128 == 127 ? 4000 : 0;
	case P1000:
		return i % 1000 == 999 ? 10000 : 0;
	case BURST:
		return i >= slow[0] && i < slow[0] + 200 ? 20000 : 0;
	case DOUBLING:
		return i & (i - 1) || i < 64 ? 0 : (uint64_t)i * 2;
	default:
		for (; slow[at] <= i; at++)
			ns += 100000;
		return ns;
	}
}

ALONE void callers(enum shape shape)
{
	uint64_t due = 0;

	for (long i = 0; i < all_calls; i++) {
		uint64_t steps = shape == TENS	     ? 10
				 : shape == DRIFTING ? 1 + (uint64_t)(i * 3 / all_calls)
						     : 1;

		due += more(shape, i);
		if (due && (shape == CALLER || (shape == BOTH && next() >> 63))) {
			spin(CALLERS, due);
			due = 0;
		}
		if (is_loop) {
			__asm__ volatile("" : : "r"(steps), "r"(due) : "memory");
			due = 0;
		} else if (shape == RECURSION) {
			deep(due, 3);
			due = 0;
		} else if ((shape == ALTERNATING || shape == BOTH) && i % 2) {
			other(steps, due);
			due = 0;
		} else if (shape == ALTERNATING || shape == BOTH) {
			quick(steps, 0);
		} else {
			quick(steps, due);
			due = 0;
		}
	}
}

QUIET int main(int argc, char **argv)
{
	static const char *const names[WHO] = { "quick", "other", "deep", "callers" };
	uint64_t start;

	if (argc < 4)
		return 2;
	all_calls = atol(argv[2]);
	is_empty = argc > 4 && strcmp(argv[4], "EMPTY") == 0;
	is_loop = argc > 4 && strcmp(argv[4], "LOOP") == 0;
	state ^= strtoul(argv[3], NULL, 10) * 0x9e3779b97f4a7c15u;
	for (int k = 0; k < 20; k++)
		next();
	for (int i = 0; i < SHAPES; i++)
		if (strcmp(shapes[i].name, argv[1]) == 0) {
			place_slow(shapes[i].places);
			start = clock_ns();
			callers((enum shape)i);
			printf("loop %lu\n", clock_ns() - start);
		}
	for (int i = 0; i < WHO; i++)
		printf("slow %s %lu\n", names[i], spun[i]);
	return 0;
}
