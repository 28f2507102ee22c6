/* SPDX-License-Identifier: MIT */
/*
 * alloc_threads.c - threads that free each other's blocks, and children that
 * free their parents'.
 *
 *   alloc_threads THREADS N   prints "allocs N bytes N left N left_bytes N"
 *   alloc_threads fork N      N children of 100 blocks of 100 bytes
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PLACES 64

static _Atomic(void *) places[PLACES];
static atomic_ulong allocs, bytes;
static int turns;

static __attribute__((noinline)) void *make(size_t size)
{
	void *block = malloc(size);

	if (!block)
		abort();
	memset(block, 1, size);
	allocs++;
	bytes += size;
	return block;
}

static pthread_key_t key;

static void last_free(void *block)
{
	free(block);
	free(make(33));
}

/* Puts a block into a place, and frees the one that another thread left there. */
static void *churn(void *data)
{
	unsigned random = (unsigned)(size_t)data * 2654435761u + 1;

	pthread_setspecific(key, make(50));
	for (int i = 0; i < turns; i++) {
		void *old;

		random = random * 1664525 + 1013904223;
		old = atomic_exchange(&places[random >> 16 & (PLACES - 1)],
				      make(16 + (random >> 24)));
		free(old);
		free(make(8));	/* a temporary one */
	}
	return NULL;
}

static int run_threads(int count)
{
	pthread_t threads[64];
	unsigned long left = 0;
	char text[128];
	int length;

	pthread_key_create(&key, last_free);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < count; i++)
			pthread_create(&threads[i], NULL, churn,
				       (void *)(size_t)(round * count + i + 1));
		for (int i = 0; i < count; i++)
			pthread_join(threads[i], NULL);
	}
	for (int i = 0; i < PLACES; i++)
		free(atomic_exchange(&places[i], NULL));
	for (int i = 0; i < 10; i++, left += 100)
		make(100);
	length = snprintf(text, sizeof(text), "allocs %lu bytes %lu left 10 left_bytes %lu\n",
			  allocs, bytes, left);
	return write(1, text, (size_t)length) != length;
}

static __attribute__((noinline)) void *in_child(size_t size)
{
	void *volatile block = malloc(size);

	return block;
}

static int run_forks(int count)
{
	void *mine[100];

	for (int i = 0; i < 100; i++)
		mine[i] = make(1000);
	for (int child = 0; child < count; child++) {
		if (fork() == 0) {
			for (int i = 0; i < 100; i++) {
				free(mine[i]);
				mine[i] = in_child(100);
			}
			for (int i = 0; i < 50; i++)
				free(mine[i]);
			_exit(0);
		}
		wait(NULL);
	}
	return 0;
}

int main(int argc, char **argv)
{
	turns = argc > 2 ? atoi(argv[2]) : 1000;
	if (argc > 1 && strcmp(argv[1], "fork") == 0)
		return run_forks(turns);
	return run_threads(argc > 1 ? atoi(argv[1]) : 4);
}
