/* SPDX-License-Identifier: MIT */
/*
 * locks_path.c - a thread that waits on two call paths in turn, for one that releases on a third.
 */
#include "asleep.h"

#include <pthread.h>

#define NOINLINE __attribute__((noinline))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t turn;

NOINLINE static void take(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	__asm__("");
}

NOINLINE static void parse(void)
{
	take();
	__asm__("");
}

NOINLINE static void load(void)
{
	take();
	__asm__("");
}

NOINLINE static void give_back(void)
{
	pthread_mutex_unlock(&mutex);
	__asm__("");
}

NOINLINE static void write_out(void)
{
	pthread_mutex_lock(&mutex);
	pthread_barrier_wait(&turn);
	until_asleep(getpid(), getpid());
	give_back();
	__asm__("");
}

static void *writer(void *arg)
{
	for (int i = 0; i < 4; i++) {
		write_out();
		pthread_barrier_wait(&turn);
	}
	return arg;
}

int main(void)
{
	pthread_t thread;

	pthread_barrier_init(&turn, NULL, 2);
	pthread_create(&thread, NULL, writer, NULL);
	for (int i = 0; i < 4; i++) {
		pthread_barrier_wait(&turn);
		if (i & 1)
			parse();
		else
			load();
		pthread_barrier_wait(&turn);
	}
	return pthread_join(thread, NULL);
}
