/* SPDX-License-Identifier: MIT */
/*
 * fairness.c THREADS MS HOLD - threads that take one mutex as often as they can:
 * HOLD rounds of work with it, twice as many without. Prints acquisitions per
 * second, the smallest and largest share of a thread (1 = as many as the
 * others), and the longest wait in ms. Threads read the clock themselves, so
 * that stopping them needs no processor.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS_MAX 64

struct party {
	_Alignas(64) unsigned long count;
	double longest;
	unsigned long work;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct party parties[THREADS_MAX];
static double end;
static int hold;
static unsigned long shared;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void *contend(void *arg)
{
	struct party *me = arg;

	for (double since = now(); since < end; since = now()) {
		pthread_mutex_lock(&mutex);
		since = now() - since;
		for (int i = 0; i < hold; i++)
			shared = shared * 3 + (unsigned)i;
		pthread_mutex_unlock(&mutex);
		for (int i = 0; i < 2 * hold; i++)
			me->work = me->work * 5 + (unsigned)i;
		me->longest = since > me->longest ? since : me->longest;
		me->count++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 4, ms = argc > 2 ? atoi(argv[2]) : 300;
	double start, took, longest = 0;
	pthread_t threads[THREADS_MAX];
	unsigned long sum = 0, least = ~0UL, most = 0;

	hold = argc > 3 ? atoi(argv[3]) : 1000;
	if (count < 1 || count > THREADS_MAX)
		return 2;
	start = now();
	end = start + ms;
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, contend, &parties[i]);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	took = now() - start;
	for (int i = 0; i < count; i++) {
		sum += parties[i].count;
		least = parties[i].count < least ? parties[i].count : least;
		most = parties[i].count > most ? parties[i].count : most;
		longest = parties[i].longest > longest ? parties[i].longest : longest;
	}
	printf("%.0f %.3f %.3f %.3f\n", (double)sum * 1e3 / took,
	       (double)least * count / (double)sum, (double)most * count / (double)sum, longest);
	return 0;
}
