/* SPDX-License-Identifier: MIT */
/*
 * smoke.c - two functions of known shares of the time, three to one: `make smoke`
 * looks whether the tables say so.  Prints the share of the first by each clock,
 * percent: where a processor is often taken away, that of wall time is another.
 */
#include <stdio.h>
#include <time.h>

#define UNSEEN __attribute__((no_instrument_function))

static volatile unsigned long sink;

static __attribute__((noinline)) void heavy_work(void)
{
	for (unsigned long i = 0; i < 1500000; i++)
		sink += i * 7;
}

static __attribute__((noinline)) void light_work(void)
{
	for (unsigned long i = 0; i < 500000; i++)
		sink += i * 7;
}

static UNSEEN double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(void)
{
	static const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID };
	double heavy[2] = { 0, 0 }, all[2] = { 0, 0 };

	while (all[1] < 0.6) {
		double start[2], between[2];

		for (int i = 0; i < 2; i++)
			start[i] = seconds(clocks[i]);
		heavy_work();
		for (int i = 0; i < 2; i++)
			between[i] = seconds(clocks[i]);
		light_work();
		for (int i = 0; i < 2; i++) {
			heavy[i] += between[i] - start[i];
			all[i] += seconds(clocks[i]) - start[i];
		}
	}
	printf("timing %.0f\ncpu %.0f\n", 100 * heavy[0] / all[0], 100 * heavy[1] / all[1]);
	return 0;
}
