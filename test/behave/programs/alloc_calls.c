/* SPDX-License-Identifier: MIT */
/*
 * alloc_calls.c - instrumented functions that allocate known amounts.
 *
 *   alloc_calls          for functions-alloc
 *   alloc_calls jump     calls that longjmp and threads leave without an exit
 *   alloc_calls kill     killed in the middle of calls
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HIDDEN __attribute__((noinline, noclone))

static void *volatile kept;
static volatile int sum;

static HIDDEN void leaf(size_t size)
{
	void *volatile block = malloc(size);

	free(block);
}

/* 300 bytes itself; holds 300 at most before leaf's. */
static HIDDEN void middle(size_t size)
{
	void *volatile first = malloc(100), *volatile second = malloc(200);

	leaf(size);
	free(first);
	free(second);
	leaf(size * 2);
}

static HIDDEN int nothing(int x)
{
	return x * 3;
}

/* 10 bytes at each of `depth` + 1 levels, all held at the bottom. */
static HIDDEN int nested(int depth)
{
	void *volatile block = malloc(10);
	int result = depth ? nested(depth - 1) + 1 : 0;

	free(block);
	return result;
}

/* Frees blocks that it did not allocate, then allocates half as much: its net is never above 0. */
static HIDDEN void shrinks(void)
{
	free(kept);
	kept = malloc(500);
}

/* realloc is a free and an allocation. */
static HIDDEN void grows(void)
{
	void *volatile block = malloc(1000);

	block = realloc(block, 3000);
	free(block);
}

static jmp_buf back;

static HIDDEN void jumps(void)
{
	leaf(40);
	longjmp(back, 1);
}

static HIDDEN void after(void)
{
	void *volatile block = malloc(7);

	free(block);
}

static void *ends(void *data)
{
	leaf(60);
	pthread_exit(data);
	return NULL;
}

static int run_jumps(void)
{
	pthread_t thread;

	for (volatile int i = 0; i < 10; i++) {
		if (setjmp(back) == 0)
			jumps();
		after();
		/* No call of a hook in between: this is main's. */
		void *volatile block = malloc(3);
		free(block);
	}
	pthread_create(&thread, NULL, ends, NULL);
	pthread_join(thread, NULL);
	return 0;
}

static HIDDEN void dies(int depth)
{
	void *volatile block = malloc(50);

	if (depth)
		dies(depth - 1);
	leaf(9);
	kill(getpid(), SIGKILL);
	free(block);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "jump") == 0)
		return run_jumps();
	if (argc > 1)
		dies(2);
	kept = malloc(1000);
	for (int i = 1; i <= 1000; i++) {
		middle((size_t)i);
		sum += nothing(i);
	}
	sum += nested(9);
	shrinks();
	grows();
	return sum == 0;
}
