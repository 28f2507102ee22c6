/* SPDX-License-Identifier: MIT */
/* locks_order.c - two locks in both orders, one after the other; and harmless pairs. */
#include <pthread.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t third = PTHREAD_MUTEX_INITIALIZER;

static void __attribute__((noinline)) forwards(void)
{
	pthread_mutex_lock(&first);
	pthread_mutex_lock(&second);
	pthread_mutex_unlock(&second);
	pthread_mutex_unlock(&first);
}

static void *backwards(void *arg)
{
	pthread_mutex_lock(&second);
	pthread_mutex_lock(&first);
	pthread_mutex_unlock(&first);
	pthread_mutex_unlock(&second);
	return arg;
}

int main(void)
{
	pthread_t thread;

	for (int i = 0; i < 1000; i++)
		forwards();
	pthread_create(&thread, NULL, backwards, NULL);
	pthread_join(thread, NULL);
	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&first);
		pthread_mutex_lock(&third);
		pthread_mutex_unlock(&third);
		pthread_mutex_unlock(&first);
		pthread_mutex_lock(&third);
		if (pthread_mutex_trylock(&first) == 0)
			pthread_mutex_unlock(&first);
		pthread_mutex_unlock(&third);
	}
	return 0;
}
