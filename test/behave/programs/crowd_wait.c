/* SPDX-License-Identifier: MIT */
/*
 * crowd_wait.c N - N threads wait for one condition variable at the same time.
 *
 * Prints "ready" when all do, and broadcasts when a byte arrives or its input ends. Then it
 * prints how many threads there were, and how long all took to start, and to return and end, in
 * us.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t begin = PTHREAD_COND_INITIALIZER, all = PTHREAD_COND_INITIALIZER;
static int waiting, wanted, is_begun;

static long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void *wait_for_all(void *nothing)
{
	pthread_mutex_lock(&mutex);
	if (++waiting == wanted)
		pthread_cond_signal(&all);
	while (!is_begun)
		pthread_cond_wait(&begin, &mutex);
	pthread_mutex_unlock(&mutex);
	return nothing;
}

int main(int argc, char **argv)
{
	pthread_attr_t small;
	pthread_t *threads;
	long start, came, back;
	char byte;

	wanted = argc > 1 ? atoi(argv[1]) : 1000;
	threads = calloc((size_t)wanted, sizeof(*threads));
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	start = now_us();
	for (int i = 0; i < wanted; i++)
		if (pthread_create(&threads[i], &small, wait_for_all, NULL))
			return 7;
	pthread_mutex_lock(&mutex);
	while (waiting < wanted)
		pthread_cond_wait(&all, &mutex);
	pthread_mutex_unlock(&mutex);
	came = now_us();
	puts("ready");
	fflush(stdout);
	if (read(0, &byte, 1) < 0)
		return 6;
	back = now_us();
	pthread_mutex_lock(&mutex);
	is_begun = 1;
	pthread_cond_broadcast(&begin);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < wanted; i++)
		pthread_join(threads[i], NULL);
	printf("%d threads, %ld us and %ld us\n", wanted, came - start, now_us() - back);
	return 0;
}
