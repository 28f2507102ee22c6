/* SPDX-License-Identifier: MIT */
/*
 * waits_futex.c - threads that wait for one mutex, which each holds for 10 ms.
 * Prints the mutex's address: strace's name of the futex.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define THREADS 3
#define ROUNDS 15

static pthread_mutex_t contended = PTHREAD_MUTEX_INITIALIZER;

static void *use(void *unused)
{
	const struct timespec hold = { 0, 10000000 };

	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&contended);
		nanosleep(&hold, NULL);
		pthread_mutex_unlock(&contended);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, use, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%p\n", (void *)&contended);
	return 0;
}
