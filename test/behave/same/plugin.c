/* SPDX-License-Identifier: MIT */
/* plugin.c - a library that allocates, locks, has threads and thread-local storage, and constructors. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static __thread char storage[1000];
static void *kept;

static __attribute__((constructor)) void begin(void)
{
	kept = malloc(333);
}

static __attribute__((destructor)) void end(void)
{
	free(kept);
	free(malloc(444));
}

static void first(void)
{
	free(calloc(10, 10));
}

static void *thread_work(void *arg)
{
	memset(storage, 1, sizeof(storage));
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	return realloc(malloc(10), 1000 + (size_t)storage[5] + (arg != NULL));
}

int plugin_work(int x);
int plugin_work(int x)
{
	pthread_t thread;
	void *block = NULL;

	pthread_once(&once, first);
	if (pthread_create(&thread, NULL, thread_work, &x) == 0)
		pthread_join(thread, &block);
	free(block);
	return x * 2 + (block != NULL);
}
