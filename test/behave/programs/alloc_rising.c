/* SPDX-License-Identifier: MIT */
/*
 * alloc_rising.c THREADS ROUNDS - in each round all threads hold one more page than in the last one, allocated at the
 * same time, and a small block each, until all have. Prints the bytes that the last round held: the peak.
 */
#include <sched.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST 16
#define FIRST (1 << 20)
#define STEP 16384
#define SMALL 24

static atomic_long arrived;
static long count, rounds;

/* A barrier whose threads go on at the same time. */
static void meet(long turn)
{
	atomic_fetch_add(&arrived, 1);
	while (atomic_load(&arrived) < turn * count)
		sched_yield();
}

__attribute__((noinline)) static void *hold(size_t size)
{
	void *volatile block = malloc(size);

	return block;
}

static void *work(void *unused)
{
	long turn = 0;

	(void)unused;
	for (long i = 1; i <= rounds; i++) {
		void *large, *small;

		meet(++turn);
		large = hold((size_t)(FIRST + i * STEP));
		small = hold(SMALL);
		meet(++turn);
		free(large);
		free(small);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[MOST];

	count = argc > 2 ? atol(argv[1]) : 0;
	rounds = argc > 2 ? atol(argv[2]) : 0;
	if (count < 1 || count > MOST || rounds < 1)
		return 1;
	for (long i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	for (long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("%ld\n", count * (FIRST + rounds * STEP + SMALL));
	return 0;
}
