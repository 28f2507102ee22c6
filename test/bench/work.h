/* SPDX-License-Identifier: MIT */
/*
 * work.h - work of a known amount, and the attributes of bench.h, for programs
 * with their own main.
 */
#ifndef HP_TEST_BENCH_WORK_H
#define HP_TEST_BENCH_WORK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define BENCH_PLAIN __attribute__((no_instrument_function, noinline))
#define BENCH_CALLED __attribute__((noinline))

/* A chain of dependent multiplications, some 1 ns each. */
static inline __attribute__((no_instrument_function)) void work(unsigned steps)
{
	uint64_t x = steps | 1;

	for (unsigned i = 0; i < steps; i++) {
		x = x * 3 + i;
		__asm__ volatile("" : "+r"(x));
	}
}

#endif
