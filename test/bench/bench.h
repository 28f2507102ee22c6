/* SPDX-License-Identifier: MIT */
/*
 * bench.h - the frame of a benchmark: a program that prints the ns of one call.
 *
 * A benchmark defines bench_run, which makes the given number of instrumented
 * calls; test/bench/run compiles it with and without instrumentation, runs it
 * under different hooks and prints the figures and their ratios.  The first
 * tenth only warms up.
 */
#ifndef HP_TEST_BENCH_BENCH_H
#define HP_TEST_BENCH_BENCH_H

#include <time.h>

#include "test/bench/work.h"

static BENCH_PLAIN void bench_run(long calls);

static BENCH_PLAIN double bench_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

BENCH_PLAIN int main(int argc, char **argv)
{
	long calls = argc > 1 ? atol(argv[1]) : 1000000;
	long first = argc > 2 ? atol(argv[2]) : calls / 10;
	double start;

	bench_run(first);
	start = bench_now();
	bench_run(calls);
	printf("%.3f\n", (bench_now() - start) / (double)calls);
	return 0;
}

#endif
