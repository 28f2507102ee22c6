/* SPDX-License-Identifier: MIT */
/*
 * wide.c - 64 threads that each call the same 1000 functions: the largest
 * record for its calls.  Their work varies from call to call, so that
 * histograms have some octaves.
 *
 *     wide [ROUNDS [SECONDS]]   then all wait but one, which calls on for so long
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define THREADS 64

#define ONE(n) \
	__attribute__((noinline)) static void g##n(unsigned work) \
	{ \
		while (work--) \
			__asm__ volatile(""); \
	}
#define NAME(n) g##n,
#define TEN(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
#define HUNDRED(X, n) \
	TEN(X, n##0) \
	TEN(X, n##1) \
	TEN(X, n##2) \
	TEN(X, n##3) \
	TEN(X, n##4) \
	TEN(X, n##5) \
	TEN(X, n##6) \
	TEN(X, n##7) \
	TEN(X, n##8) \
	TEN(X, n##9)
#define THOUSAND(X, n) \
	HUNDRED(X, n##0) \
	HUNDRED(X, n##1) \
	HUNDRED(X, n##2) \
	HUNDRED(X, n##3) \
	HUNDRED(X, n##4) \
	HUNDRED(X, n##5) \
	HUNDRED(X, n##6) \
	HUNDRED(X, n##7) \
	HUNDRED(X, n##8) \
	HUNDRED(X, n##9)

THOUSAND(ONE, 1)

static void (*const functions[1000])(unsigned) = { THOUSAND(NAME, 1) };
static int rounds = 100;
static int seconds;
static pthread_barrier_t done;

static void call_each(uint32_t *random, unsigned least)
{
	for (int i = 0; i < 1000; i++) {
		*random = *random * 1664525 + 1013904223;
		functions[i](UINT32_C(1) << (*random >> least));
	}
}

static void *run(void *seed)
{
	uint32_t random = (uint32_t)(uintptr_t)seed;
	time_t end = time(NULL) + seconds;

	for (int round = 0; round < rounds; round++)
		call_each(&random, 29);
	while (seconds && seed == (void *)1 && time(NULL) < end)
		call_each(&random, 31);
	pthread_barrier_wait(&done);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	if (argc > 1)
		rounds = atoi(argv[1]);
	if (argc > 2)
		seconds = atoi(argv[2]);
	pthread_barrier_init(&done, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
