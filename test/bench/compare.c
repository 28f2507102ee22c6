/* SPDX-License-Identifier: MIT */
/*
 * compare.c - the program of test/bench/compare.py: half of the time is spent in `score`, the rest
 * in three other functions.  -DSLOWER=N makes score N percent slower, -DMORE makes one of its
 * callees allocate once more per call, -DTHREADS=N works in N threads that share a lock.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#ifndef SLOWER
#define SLOWER 0
#endif
#ifndef THREADS
#define THREADS 0
#endif
#define ROUNDS 600

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile uint64_t sum;

/* Registers only, to exclude cache effects. */
#define WORK(amount) \
	for (uint64_t i = 0, x = 88172645463325252u; i < (amount); i++) { \
		x ^= x << 13, x ^= x >> 7, x ^= x << 17; \
		if (x == 0) \
			sum++; \
	}

__attribute__((noinline)) static void score(void)
{
	WORK(50000 * (100 + SLOWER) / 100);
}

__attribute__((noinline)) static void parse(void)
{
	WORK(25000);
}

__attribute__((noinline)) static void copy(void)
{
	for (int i = 0; i < 20; i++) {
		char *volatile block = malloc(64 + (size_t)i);

		block[0] = 1;
		free(block);
	}
#ifdef MORE
	char *volatile more = malloc(100);
	free(more);
#endif
	WORK(12500);
}

__attribute__((noinline)) static void order(void)
{
	WORK(12500);
	if (THREADS) {
		pthread_mutex_lock(&lock);
		sum++;
		pthread_mutex_unlock(&lock);
	}
}

static void *work(void *unused)
{
	for (int i = 0; i < ROUNDS / (THREADS ? THREADS : 1); i++) {
		score();
		parse();
		copy();
		order();
	}
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS + 1];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	if (!THREADS)
		work(NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return sum == 1;
}
