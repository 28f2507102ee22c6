/* SPDX-License-Identifier: MIT */
/*
 * alloc_sampled.c - 300 000 blocks: a third of 24 bytes, freed at once; a third of 50, freed after the
 * next but one; a third of 1000, kept for 30 ms at least.
 */
#include <stdlib.h>
#include <unistd.h>

#define BLOCKS 20000
#define ROUNDS 5

static char *kept[BLOCKS];

static __attribute__((noinline)) char *make(size_t size)
{
	char *volatile block = malloc(size);
	return block;
}

static __attribute__((noinline)) void pair(size_t size)
{
	free(make(size));
}

static void mixed(void)
{
	char *before = NULL;

	for (int i = 0; i < BLOCKS; i++) {
		char *block;

		kept[i] = make(1000);
		block = make(50);
		free(before);
		before = block;
	}
	free(before);
	usleep(30000);
	for (int i = 0; i < BLOCKS; i++)
		free(kept[i]);
}

int main(void)
{
	for (int i = 0; i < BLOCKS * ROUNDS; i++)
		pair(24);
	for (int i = 0; i < ROUNDS; i++)
		mixed();
	return 0;
}
