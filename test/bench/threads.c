/* SPDX-License-Identifier: MIT */
/*
 * threads.c - threads THREADS AT_ONCE CALLS: THREADS threads, never more than
 * AT_ONCE of them at a time, each making CALLS calls of turn().  Prints
 * processor time per call, and wall time times busy processors per call, in ns.
 */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "test/bench/work.h"

static long calls;
static pthread_barrier_t begin;

static BENCH_CALLED void turn(void)
{
	__asm__ volatile("");
}

static BENCH_PLAIN void *run(void *unused)
{
	pthread_barrier_wait(&begin);
	for (long i = 0; i < calls; i++)
		turn();
	return unused;
}

static BENCH_PLAIN double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* All threads of one batch start together and end before the next batch starts. */
static BENCH_PLAIN void run_lot(pthread_t *ids, long count)
{
	pthread_barrier_init(&begin, NULL, (unsigned)count);
	for (long i = 0; i < count; i++)
		if (pthread_create(&ids[i], NULL, run, NULL) != 0)
			abort();
	for (long i = 0; i < count; i++)
		pthread_join(ids[i], NULL);
	pthread_barrier_destroy(&begin);
}

BENCH_PLAIN int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 1, at_once = argc > 2 ? atol(argv[2]) : 1;
	long busy = sysconf(_SC_NPROCESSORS_ONLN);
	double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC), all;
	pthread_t *ids = calloc((size_t)at_once, sizeof(*ids));

	calls = argc > 3 ? atol(argv[3]) : 1000000;
	for (long left = threads; left > 0; left -= at_once)
		run_lot(ids, left < at_once ? left : at_once);
	all = (double)threads * (double)calls / 1e9;
	busy = busy < at_once ? busy : at_once;
	printf("%.3f %.3f\n", (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / all,
	       (seconds(CLOCK_MONOTONIC) - wall) * (double)busy / all);
	free(ids);
	return 0;
}
