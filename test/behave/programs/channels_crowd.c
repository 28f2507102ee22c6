/* SPDX-License-Identifier: MIT */
/*
 * channels_crowd.c THREADS ROUNDS - threads that all send into one pipe and receive from it, one message each at a
 * time. Prints the number of messages, and the ns from before each was sent to after it was received, in all.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MOST 64

static int ends[2];
static long rounds;
static atomic_long total;
static pthread_barrier_t start;

static long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void *work(void *unused)
{
	long own = 0, sent;

	(void)unused;
	pthread_barrier_wait(&start);
	for (long i = 0; i < rounds; i++) {
		sent = now();
		if (write(ends[1], &sent, sizeof(sent)) != sizeof(sent) ||
		    read(ends[0], &sent, sizeof(sent)) != sizeof(sent))
			abort();
		own += now() - sent;
	}
	atomic_fetch_add(&total, own);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[MOST];
	long count = argc > 2 ? atol(argv[1]) : 0;

	rounds = argc > 2 ? atol(argv[2]) : 0;
	if (count < 1 || count > MOST || rounds < 1 || pipe(ends))
		return 1;
	pthread_barrier_init(&start, NULL, (unsigned)count);
	for (long i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	for (long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("%ld %ld\n", count * rounds, atomic_load(&total));
	return 0;
}
