/* SPDX-License-Identifier: MIT */
/*
 * guest_keys.c - takes all keys that pthread_key_create provides, while threads start and end; then
 * threads that call functions, lock and allocate, and whose destructors run. Prints the first key,
 * and how many keys and calls there were.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 40
#define CALLS 100

int __pthread_key_create(pthread_key_t *key, void (*end)(void *));

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int ended, wrong, stop;
static pthread_key_t last;

__attribute__((noinline)) void called(void)
{
	__asm__ volatile("" : : : "memory");
}

static void end(void *value)
{
	ended++;
	wrong += value != &ended;
}

static void *run(void *value)
{
	for (int i = 0; i < CALLS; i++) {
		pthread_mutex_lock(&mutex);
		called();
		pthread_mutex_unlock(&mutex);
		free(malloc(64));
	}
	if (value)
		pthread_setspecific(last, value);
	return NULL;
}

/* Keys are deleted while threads start and end. */
static void *come_and_go(void *value)
{
	pthread_t thread;

	while (!stop)
		if (pthread_create(&thread, NULL, run, NULL) == 0)
			pthread_join(thread, NULL);
	return value;
}

int main(void)
{
	pthread_t threads[THREADS], other;
	int count = 0, error;

	if (pthread_key_create(&last, end) == 0)
		printf("first key %u\n", last);
	pthread_create(&other, NULL, come_and_go, NULL);
	while ((error = count % 2 ? pthread_key_create(&last, end)
				  : __pthread_key_create(&last, end)) == 0)
		count++;
	stop = 1;
	pthread_join(other, NULL);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, run, &ended);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
	}
	printf("keys %d, %s; ended %d, wrong %d\n", count, error == EAGAIN ? "no more" : "?", ended,
	       wrong);
	return 0;
}
