/* SPDX-License-Identifier: MIT */
/*
 * smoke.c - two functions of known shares of the time, three to one: `make smoke`
 * looks whether the tables say so.  Prints their shares by each clock, percent:
 * where a processor is often taken away, those of wall time are others.
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
	static const char *const tables[] = { "timing", "cpu" };
	double begin[2], heavy[2] = { 0, 0 }, light[2] = { 0, 0 }, all[2] = { 0, 0 };

	for (int i = 0; i < 2; i++)
		begin[i] = seconds(clocks[i]);
	while (all[1] < 0.6) {
		double start[2], between[2];

		for (int i = 0; i < 2; i++)
			start[i] = seconds(clocks[i]);
		heavy_work();
		for (int i = 0; i < 2; i++)
			between[i] = seconds(clocks[i]);
		light_work();
		for (int i = 0; i < 2; i++) {
			double end = seconds(clocks[i]);

			heavy[i] += between[i] - start[i];
			light[i] += end - between[i];
			all[i] = end - begin[i];
		}
	}
	for (int i = 0; i < 2; i++)
		printf("%s %.0f %.0f\n", tables[i], 100 * heavy[i] / all[i],
		       100 * light[i] / all[i]);
	return 0;
}
