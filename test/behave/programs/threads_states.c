/* SPDX-License-Identifier: MIT */
/*
 * threads_states.c - threads that do one thing each, created on a call path.
 *
 * Prints the running thread's CPU time in ns.
 */
#include "asleep.h"

#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>

static pthread_mutex_t jobs = PTHREAD_MUTEX_INITIALIZER;
static sem_t tokens, begun;
static int tids[3];

static void *locker(void *arg)
{
	pthread_setname_np(pthread_self(), "locker");
	tids[0] = gettid();
	sem_post(&begun);
	pthread_mutex_lock(&jobs);
	pthread_mutex_unlock(&jobs);
	return arg;
}

static void *waiter(void *arg)
{
	pthread_setname_np(pthread_self(), "waiter");
	tids[1] = gettid();
	sem_post(&begun);
	sem_wait(&tokens);
	return arg;
}

static int runner(void *arg)
{
	volatile long work = 0;
	struct timespec cpu;

	pthread_setname_np(pthread_self(), "runner");
	tids[2] = gettid();
	sem_post(&begun);
	for (long i = 0; i < 300000000; i++)
		work += i;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	printf("%lld\n", (long long)cpu.tv_sec * 1000000000 + cpu.tv_nsec);
	return arg != NULL;
}

__attribute__((noinline)) static void start_pool(pthread_t *threads, thrd_t *other)
{
	pthread_create(&threads[0], NULL, locker, NULL);
	pthread_create(&threads[1], NULL, waiter, NULL);
	thrd_create(other, runner, NULL);
	__asm__("");
}

int main(void)
{
	pthread_t threads[2];
	thrd_t other;

	sem_init(&tokens, 0, 0);
	sem_init(&begun, 0, 0);
	pthread_mutex_lock(&jobs);
	start_pool(threads, &other);
	for (int i = 0; i < 3; i++)
		sem_wait(&begun);
	until_asleep(getpid(), tids[0]);
	until_asleep(getpid(), tids[1]);
	thrd_join(other, NULL);
	pthread_mutex_unlock(&jobs);
	sem_post(&tokens);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
