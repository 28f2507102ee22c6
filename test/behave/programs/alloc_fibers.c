/* SPDX-License-Identifier: MIT */
/*
 * alloc_fibers.c - a thread with a hundred stacks, and an allocation on each.
 *
 * They lie next to each other where the C library maps large blocks: below the
 * thread's stack, with its guard page in between.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#define FIBERS 100
#define STACK 131072
#define TURNS 50

static ucontext_t home, fibers[FIBERS];
static int now, turns[FIBERS];

static __attribute__((noinline)) void *deeper(int depth)
{
	void *block = depth ? deeper(depth - 1) : malloc(24);

	__asm__ volatile("" ::: "memory");
	return block;
}

static void body(void)
{
	for (;;) {
		free(deeper(turns[now]++ % 8));
		swapcontext(&fibers[now], &home);
	}
}

static void *thread(void *argument)
{
	char *stacks = mmap(NULL, (size_t)FIBERS * STACK, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	free(deeper(0));
	if (stacks == MAP_FAILED)
		exit(1);
	for (int i = 0; i < FIBERS; i++) {
		getcontext(&fibers[i]);
		fibers[i].uc_stack.ss_sp = stacks + (size_t)i * STACK;
		fibers[i].uc_stack.ss_size = STACK;
		fibers[i].uc_link = NULL;
		makecontext(&fibers[i], body, 0);
	}
	for (int i = 0; i < FIBERS * TURNS; i++) {
		now = i % FIBERS;
		swapcontext(&home, &fibers[now]);
	}
	munmap(stacks, (size_t)FIBERS * STACK);
	return argument;
}

int main(void)
{
	pthread_t id;
	int sum = 0;

	if (pthread_create(&id, NULL, thread, NULL))
		return 1;
	pthread_join(id, NULL);
	for (int i = 0; i < FIBERS; i++)
		sum += turns[i];
	printf("%d\n", sum);
	return 0;
}
