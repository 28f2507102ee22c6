/* SPDX-License-Identifier: MIT */
/*
 * alloc_turns.c THREADS - one thread after the other holds 1,000 blocks for a time. Then all do, each with 900 blocks,
 * first those that were first, and free them: 900 blocks of each are the peak of several. Prints its bytes.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST 16
#define BLOCKS 1000
#define SIZE 1000

static pthread_barrier_t turn;
static int count;

static void fill(void **blocks, int number)
{
	for (int i = 0; i < number; i++)
		blocks[i] = malloc(SIZE);
}

static void drain(void **blocks, int number)
{
	for (int i = 0; i < number; i++)
		free(blocks[i]);
}

static void *work(void *data)
{
	int own = (int)(size_t)data;
	void *blocks[BLOCKS];

	for (int i = 0; i < count; i++) {
		if (i == own) {
			fill(blocks, BLOCKS);
			drain(blocks, BLOCKS);
		}
		pthread_barrier_wait(&turn);
	}
	for (int i = 0; i < count; i++) {
		if (i == own)
			fill(blocks, BLOCKS - 100);
		pthread_barrier_wait(&turn);
	}
	/* The last first: nobody else notices it. */
	for (int i = count; i-- > 0;) {
		if (i == own)
			drain(blocks, BLOCKS - 100);
		pthread_barrier_wait(&turn);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[MOST];

	count = argc > 1 ? atoi(argv[1]) : 0;
	if (count < 1 || count > MOST || pthread_barrier_init(&turn, NULL, (unsigned)count))
		return 1;
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(size_t)i))
			return 1;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("%d\n", (count > 1 ? count * (BLOCKS - 100) : BLOCKS) * SIZE);
	return 0;
}
