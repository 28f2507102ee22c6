/* SPDX-License-Identifier: MIT */
/*
 * alloc_paths.c - call paths that are hard to tell apart.
 *
 *   alloc_paths N      prints "COUNT BYTES function ... main" for each path
 *   alloc_paths peak   high and low are held at the peak, late comes after it
 *
 * through_one and through_two look alike from the allocation: the same return
 * addresses in the same places, except for the size of an alloca in between.
 */
#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HIDDEN __attribute__((noinline, noclone))

static volatile int one = 1;

static HIDDEN void leaf(size_t size)
{
	void *volatile block = malloc(size);

	free(block);
	one = 1;
}

/* Its frame has any size. */
static HIDDEN void stretched(size_t room, size_t size)
{
	char *volatile space = alloca(room);

	space[0] = 1;
	leaf(size);
	one = space[0];
}

static HIDDEN void narrow(size_t size)
{
	stretched(16, size);
	one = 1;
}

static HIDDEN void wide(size_t size)
{
	stretched(16 + 16 * 10, size);
	one = 1;
}

static void (*volatile through[2])(size_t) = { narrow, wide };

static HIDDEN void deep(int depth, size_t size)
{
	if (depth == 0)
		leaf(size);
	else
		deep(depth - 1, size);
	one = 1;
}

static HIDDEN void array(size_t room, size_t size)
{
	volatile char space[room];

	space[room - 1] = 1;
	leaf(size);
	one = space[0] * 0 + 1;
}

static int run_paths(int count)
{
	for (int i = 0; i < count; i++) {
		through[i * 7 / 3 & 1]((size_t)(i & 1) + 1);
		deep(i % 5, 3);
		array((size_t)(i % 37) * 8 + 8, 10);
	}
	return 0;
}

/* The expected result of run_paths, by arithmetic. */
static void print_paths(int count)
{
	unsigned long calls[2] = { 0 }, bytes[2] = { 0 };
	static const char *const names[2] = { "narrow", "wide" };

	for (int i = 0; i < count; i++) {
		calls[i * 7 / 3 & 1]++;
		bytes[i * 7 / 3 & 1] += (unsigned long)(i & 1) + 1;
	}
	for (int i = 0; i < 2; i++)
		printf("%lu %lu leaf stretched %s run_paths main\n", calls[i], bytes[i], names[i]);
	for (int depth = 0; depth < 5; depth++) {
		unsigned long times = (unsigned long)((count + 4 - depth) / 5);

		printf("%lu %lu leaf", times, 3 * times);
		for (int i = 0; i <= depth; i++)
			printf(" deep");
		printf(" run_paths main\n");
	}
	printf("%d %d leaf array run_paths main\n", count, 10 * count);
}

static HIDDEN void *high(void)
{
	void *volatile block = malloc(1000000);

	return block;
}

static HIDDEN void *low(void)
{
	void *volatile block = malloc(5000);

	return block;
}

static HIDDEN void *late(void)
{
	void *volatile block = malloc(300000);

	return block;
}

static int run_peak(void)
{
	void *first = low(), *second = high();

	free(second);
	second = late();
	free(first);
	free(low());
	return second == NULL;
}

int main(int argc, char **argv)
{
	static char buffer[1 << 16];
	int count = argc > 1 ? atoi(argv[1]) : 100;
	int status;

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	if (argc > 1 && strcmp(argv[1], "peak") == 0)
		return run_peak();
	status = run_paths(count);
	print_paths(count);
	fflush(stdout);
	return status;
}
