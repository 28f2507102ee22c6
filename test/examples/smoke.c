/* SPDX-License-Identifier: MIT */
/*
 * smoke.c - two functions with known shares of the time, three to one: `make
 * smoke` checks the tables for that. Prints their shares by each clock, percent:
 * with frequent preemption, those of wall time differ.
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

/* The wall clock is read next to the call: a program is often preempted when a system call
 * returns. */
static UNSEEN void measured(void (*work)(void), double *wall, double *cpu)
{
	double cpu_start = seconds(CLOCK_THREAD_CPUTIME_ID), start = seconds(CLOCK_MONOTONIC);

	work();
	*wall += seconds(CLOCK_MONOTONIC) - start;
	*cpu += seconds(CLOCK_THREAD_CPUTIME_ID) - cpu_start;
}

int main(void)
{
	double begin = seconds(CLOCK_MONOTONIC), wall[2] = { 0, 0 }, cpu[2] = { 0, 0 };

	while (cpu[0] + cpu[1] < 0.6) {
		measured(heavy_work, &wall[0], &cpu[0]);
		measured(light_work, &wall[1], &cpu[1]);
	}
	double all = (seconds(CLOCK_MONOTONIC) - begin) / 100;
	double all_cpu = seconds(CLOCK_THREAD_CPUTIME_ID) / 100;

	printf("timing %.0f %.0f\n", wall[0] / all, wall[1] / all);
	printf("cpu %.0f %.0f\n", cpu[0] / all_cpu, cpu[1] / all_cpu);
	return 0;
}
