/* SPDX-License-Identifier: MIT */
/*
 * crowd_burn.c N - among N waiting threads, one computes and then naps.
 *
 * Prints the CPU time of burn(), the time in nap() and the number of naps, then the CPU time of the
 * process; ns.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BURN_NS 500000000
#define NAPS 50

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t begin = PTHREAD_COND_INITIALIZER, all = PTHREAD_COND_INITIALIZER;
static int waiting, wanted, is_over;

static long long ns_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void *wait_for_end(void *nothing)
{
	pthread_mutex_lock(&mutex);
	if (++waiting == wanted)
		pthread_cond_signal(&all);
	while (!is_over)
		pthread_cond_wait(&begin, &mutex);
	pthread_mutex_unlock(&mutex);
	return nothing;
}

__attribute__((noinline)) static void burn(void)
{
	static volatile unsigned long n;
	long long end = ns_of(CLOCK_THREAD_CPUTIME_ID) + BURN_NS;

	while (ns_of(CLOCK_THREAD_CPUTIME_ID) < end)
		for (int i = 0; i < 100000; i++)
			n++;
}

__attribute__((noinline)) static void nap(void)
{
	nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
}

static void *work(void *nothing)
{
	long long from = ns_of(CLOCK_THREAD_CPUTIME_ID), burned, slept;

	burn();
	burned = ns_of(CLOCK_THREAD_CPUTIME_ID) - from;
	from = ns_of(CLOCK_MONOTONIC);
	for (int i = 0; i < NAPS; i++)
		nap();
	slept = ns_of(CLOCK_MONOTONIC) - from;
	printf("%lld %lld %d\n", burned, slept, NAPS);
	return nothing;
}

int main(int argc, char **argv)
{
	pthread_attr_t small;
	pthread_t *threads, worker;

	wanted = argc > 1 ? atoi(argv[1]) : 1000;
	threads = calloc((size_t)wanted, sizeof(*threads));
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; i < wanted; i++)
		if (pthread_create(&threads[i], &small, wait_for_end, NULL))
			return 7;
	pthread_mutex_lock(&mutex);
	while (waiting < wanted)
		pthread_cond_wait(&all, &mutex);
	pthread_mutex_unlock(&mutex);
	if (pthread_create(&worker, NULL, work, NULL))
		return 7;
	pthread_join(worker, NULL);
	pthread_mutex_lock(&mutex);
	is_over = 1;
	pthread_cond_broadcast(&begin);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < wanted; i++)
		pthread_join(threads[i], NULL);
	printf("%lld\n", ns_of(CLOCK_PROCESS_CPUTIME_ID));
	return 0;
}
