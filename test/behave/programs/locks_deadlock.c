/* SPDX-License-Identifier: MIT */
/*
 * locks_deadlock.c - two threads take two locks in both orders, and hang.
 *
 * Prints "stuck" when both hold their first lock; "self": a thread takes a lock that it holds.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *forwards(void *arg)
{
	pthread_mutex_lock(&first);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&second);
	return arg;
}

static void *backwards(void *arg)
{
	pthread_mutex_lock(&second);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&first);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	if (argc > 1 && strcmp(argv[1], "self") == 0) {
		pthread_mutex_lock(&first);
		puts("stuck");
		fflush(stdout);
		return pthread_mutex_lock(&first);
	}
	pthread_barrier_init(&both, NULL, 3);
	pthread_create(&threads[0], NULL, forwards, NULL);
	pthread_create(&threads[1], NULL, backwards, NULL);
	pthread_barrier_wait(&both);
	puts("stuck");
	fflush(stdout);
	return pthread_join(threads[0], NULL);
}
