/* SPDX-License-Identifier: MIT */
/*
 * edges_full.c - uses objects with counters of 32 bits, waits for its input, and uses them again:
 * in between, a test sets the counters to just below their maximum.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define LOCKS 32	/* further simultaneous ones have no holds */

static pthread_mutex_t locks[LOCKS], further = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t often = PTHREAD_MUTEX_INITIALIZER;
static sem_t never;
static volatile int turns;

static void pipes(int count)
{
	int ends[2];

	for (int i = 0; i < count; i++) {
		if (pipe(ends) < 0 || write(ends[1], "x", 1) != 1)
			_exit(1);
		close(ends[0]);
		close(ends[1]);
	}
}

static void timeouts(int count)
{
	struct timespec past = { .tv_sec = 1 };

	for (int i = 0; i < count; i++)
		if (sem_timedwait(&never, &past) == 0)
			_exit(2);
}

static void nested(int count)
{
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_lock(&locks[i]);
	for (int i = 0; i < count; i++) {
		pthread_mutex_lock(&further);
		pthread_mutex_unlock(&further);
	}
	for (int i = LOCKS; i-- > 0;)
		pthread_mutex_unlock(&locks[i]);
}

static void held(int count)
{
	for (int i = 0; i < count; i++) {
		pthread_mutex_lock(&often);
		pthread_mutex_unlock(&often);
	}
}

/* Short at first, then so long that each sampled call is far above the mean. */
__attribute__((noinline)) static void spin(void)
{
	for (int i = 0; i < turns; i++)
		__asm__ volatile("");
}

static void spins(int count, int each)
{
	turns = each;
	for (int i = 0; i < count; i++)
		spin();
}

int main(void)
{
	char byte;

	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_init(&locks[i], NULL);
	sem_init(&never, 0, 0);
	pipes(3);
	timeouts(3);
	nested(3);
	held(200000);
	spins(200000, 1);
	puts("up");
	fflush(stdout);
	if (read(0, &byte, 1) != 1)
		return 1;
	pipes(10);
	timeouts(10);
	nested(10);
	held(20000);
	spins(2000, 100000);
	return 3;
}
