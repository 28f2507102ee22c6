/* SPDX-License-Identifier: MIT */
/*
 * alloc.c - malloc/free pairs below FRAMES frames, in THREADS threads.
 *
 *   alloc clock            ns of a reading of the clock
 *   alloc FRAMES THREADS   ns of a pair, least of some short rounds
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "segment/clock.h"

#define PAIRS 2000	/* 50 us: less than a thread's time slice next to others */
#define ROUNDS 4000

static void *volatile sink;
static __thread volatile int one = 1;

static uint64_t raw_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static double now_ns(void)
{
	return (double)raw_ns();
}

static __attribute__((noinline)) void pairs(void)
{
	for (int i = 0; i < PAIRS; i++) {
		void *block = malloc(64);

		__asm__ volatile("" : "+r"(block));
		free(block);
	}
}

static __attribute__((noinline)) void deep(int depth)
{
	if (depth <= 0)
		pairs();
	else
		deep(depth - 1);
	one = 1;
}

static void *run(void *data)
{
	double *best = data, start, ns;
	int depth = (int)*best;

	*best = 1e9;
	for (int round = 0; round < ROUNDS; round++) {
		start = now_ns();
		deep(depth);
		ns = (now_ns() - start) / PAIRS;
		*best = ns < *best ? ns : *best;
	}
	return NULL;
}

static double clock_cost(void)
{
	double best = 1e9, start, ns;

	for (int round = 0; round < ROUNDS; round++) {
		start = now_ns();
		for (int i = 0; i < PAIRS; i++)
			sink = (void *)(uintptr_t)hp_clock_tsc();
		ns = (now_ns() - start) / PAIRS;
		best = ns < best ? ns : best;
	}
	return best;
}

int main(int argc, char **argv)
{
	int frames = argc > 1 ? atoi(argv[1]) : 8;
	int count = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t threads[64];
	double best[64], sum = 0;

	if (argc > 1 && strcmp(argv[1], "clock") == 0) {
		printf("%.2f\n", clock_cost());
		return 0;
	}
	/* Between deep(0) and the outermost frame: pairs, run, and two to four of the C library. */
	for (int i = 0; i < count; i++)
		best[i] = frames - 6;
	for (int i = 1; i < count; i++)
		pthread_create(&threads[i], NULL, run, &best[i]);
	run(&best[0]);
	for (int i = 1; i < count; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < count; i++)
		sum += best[i];
	printf("%.2f\n", sum / count);
	return 0;
}
