/* SPDX-License-Identifier: MIT */
/*
 * many.c - 2000 functions in random order, or 20,000 with -DTENFOLD: no cache holds the data of all
 * of them.
 */
#include "test/bench/bench.h"

#include <stdint.h>

#define ORDER 65536

#define ONE(n) \
	static BENCH_CALLED void f##n(void) \
	{ \
		__asm__ volatile(""); \
	}
#define NAME(n) f##n,
#define TEN(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
#define HUNDRED(X, n) \
	TEN(X, n##0) \
	TEN(X, n##1) \
	TEN(X, n##2) \
	TEN(X, n##3) \
	TEN(X, n##4) \
	TEN(X, n##5) \
	TEN(X, n##6) \
	TEN(X, n##7) \
	TEN(X, n##8) \
	TEN(X, n##9)
#define THOUSAND(X, n) \
	HUNDRED(X, n##0) \
	HUNDRED(X, n##1) \
	HUNDRED(X, n##2) \
	HUNDRED(X, n##3) \
	HUNDRED(X, n##4) \
	HUNDRED(X, n##5) \
	HUNDRED(X, n##6) \
	HUNDRED(X, n##7) \
	HUNDRED(X, n##8) \
	HUNDRED(X, n##9)

#ifdef TENFOLD
#define THOUSANDS(X, n) \
	THOUSAND(X, n##0) \
	THOUSAND(X, n##1) \
	THOUSAND(X, n##2) \
	THOUSAND(X, n##3) \
	THOUSAND(X, n##4) \
	THOUSAND(X, n##5) \
	THOUSAND(X, n##6) \
	THOUSAND(X, n##7) \
	THOUSAND(X, n##8) \
	THOUSAND(X, n##9)
#else
#define THOUSANDS(X, n) THOUSAND(X, n)
#endif

THOUSANDS(ONE, 1)
THOUSANDS(ONE, 2)

static void (*const functions[])(void) = { THOUSANDS(NAME, 1) THOUSANDS(NAME, 2) };
static uint16_t order[ORDER];

static BENCH_PLAIN void bench_run(long calls)
{
	uint32_t seed = 1;

	for (int i = 0; i < ORDER; i++) {
		seed = seed * 1664525 + 1013904223;
		order[i] = (uint16_t)((seed >> 8) % (sizeof(functions) / sizeof(*functions)));
	}
	for (long i = 0; i < calls; i++)
		functions[order[i % ORDER]]();
}
