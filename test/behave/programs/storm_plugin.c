/* SPDX-License-Identifier: MIT */
/*
 * storm_plugin.c - one of several libraries with the same layout: LETTER is in the names of its
 * functions and of its lock, SIZE is the size of its blocks.
 */
#include <pthread.h>
#include <stdlib.h>

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define OWN(name) PASTE(name, LETTER)

static pthread_mutex_t OWN(lock_) = PTHREAD_MUTEX_INITIALIZER;

void *OWN(get_)(void);
__attribute__((noinline)) void *OWN(get_)(void)
{
	return malloc(SIZE);
}

static __attribute__((noinline)) void OWN(inner_)(void)
{
	void *volatile block = OWN(get_)();

	pthread_mutex_lock(&OWN(lock_));
	pthread_mutex_unlock(&OWN(lock_));
	free(block);
}

static __attribute__((noinline)) void OWN(outer_)(void)
{
	OWN(inner_)();
	OWN(inner_)();
}

void entry(void);
__attribute__((no_instrument_function)) void entry(void)
{
	OWN(outer_)();
}
