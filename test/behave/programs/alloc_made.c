/* SPDX-License-Identifier: MIT */
/*
 * alloc_made.c - paths through code without call frame information, as code made at run time has
 * none.
 *
 *   alloc_made N   N blocks in the first thread, and in each of 6 that follow each other on stacks
 *                  of two sizes
 *
 * Two files of one source: with MADE it is that code, which needs its frame pointer. Its frames
 * have two sizes, and what it calls calls it again or not, below equal return addresses.
 */
void made(void (*next)(int), int n);

#ifdef MADE
#include <alloca.h>

static volatile char *volatile room;

void made(void (*next)(int), int n)
{
	room = alloca(n % 2 ? 16 : 160);
	next(n);
	room = 0;
}
#else
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int blocks;

static __attribute__((noinline)) void leaf(int n)
{
	void *volatile block = malloc((size_t)n + 1);

	free(block);
}

static __attribute__((noinline)) void again(int n)
{
	made(leaf, n / 2);
	__asm__ volatile("");
}

static void *all(void *data)
{
	for (int i = 0; i < blocks; i++)
		made(i % 3 ? leaf : again, i % 4);
	return data;
}

int main(int argc, char **argv)
{
	pthread_attr_t attr;
	pthread_t thread;

	blocks = argc > 1 ? atoi(argv[1]) : 1000;
	all(NULL);
	pthread_attr_init(&attr);
	for (int i = 0; i < 6; i++) {
		pthread_attr_setstacksize(&attr, (size_t)(i % 2 ? 128 : 1024) << 10);
		pthread_create(&thread, &attr, all, NULL);
		pthread_join(thread, NULL);
	}
	puts("done");
	return 0;
}
#endif
