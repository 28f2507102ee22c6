/* SPDX-License-Identifier: MIT */
/*
 * contexts.c - coroutines by makecontext, and prints how many were made, resumed, returned,
 * abandoned and replaced on their stack, and the sum of their arguments.
 *
 * 20 return to where they were resumed; 3 in a chain, each by the end of the one before; 5 are
 * abandoned, 2 of them replaced on their stacks; 4 continue on another thread, two of them begin
 * there.  In all of them 8 arguments are passed.
 *
 * contexts.c bench COUNT - ns of a switch.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#define STACK 65536

struct coroutine {
	ucontext_t context;
	ucontext_t back;
	char *stack;
	int rounds;
	int is_over;
};

static long sum;
static int made, resumed, linked, returned, abandoned, replaced, wrong_errno;

/* Not inlined: a coroutine that continues on another thread has another errno there. */
__attribute__((noinline)) static void errno_set(int value)
{
	errno = value;
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void errno_check(int value)
{
	__asm__ volatile("" ::: "memory");
	wrong_errno += errno != value;
}

static void run(int a, int b, int c, int d, int e, int f, int high, int low)
{
	struct coroutine *me =
		(struct coroutine *)(uintptr_t)((uint64_t)(unsigned)high << 32 | (unsigned)low);

	sum += a + b + c + d + e + f;
	for (int i = 0; i < me->rounds; i++) {
		errno_set(77);
		swapcontext(&me->context, &me->back);
		errno_check(78);
	}
	returned++;
	me->is_over = 1;
}

static void make(struct coroutine *it, int rounds, ucontext_t *next)
{
	uint64_t address = (uintptr_t)it;

	if (!it->stack)
		it->stack = malloc(STACK);
	it->rounds = rounds;
	it->is_over = 0;
	getcontext(&it->context);
	it->context.uc_stack.ss_sp = it->stack;
	it->context.uc_stack.ss_size = STACK;
	it->context.uc_link = next;
	errno_set(5);
	makecontext(&it->context, (void (*)(void))run, 8, 1, 2, 3, 4, 5, 6, (int)(address >> 32),
		    (int)address);
	errno_check(5);
	made++;
}

static void resume(struct coroutine *it)
{
	resumed++;
	errno_set(78);
	swapcontext(&it->back, &it->context);
	if (!it->is_over)
		errno_check(77);
}

static void returning(void)
{
	static struct coroutine all[20];

	for (int i = 0; i < 20; i++)
		make(&all[i], i, &all[i].back);
	for (int i = 0; i < 20; i++)
		for (int j = 0; j < 20; j++)
			if (!all[j].is_over)
				resume(&all[j]);
}

/* The first one is resumed; each of the others begins when its predecessor returns. */
static void chained(void)
{
	static struct coroutine all[6];

	make(&all[2], 0, &all[0].back);
	make(&all[1], 0, &all[2].context);
	make(&all[0], 0, &all[1].context);
	resume(&all[0]);
	/* The last one is suspended in the middle, and continued by the end of the one before. */
	make(&all[5], 1, &all[4].back);
	make(&all[4], 0, &all[5].context);
	resume(&all[5]);
	resume(&all[4]);
	linked = 3;
}

static void abandoning(void)
{
	static struct coroutine all[5];

	for (int i = 0; i < 5; i++) {
		make(&all[i], 100, &all[i].back);
		for (int j = 0; j < i; j++)
			resume(&all[i]);
	}
	abandoned = 3;
	for (int i = 0; i < 2; i++) {
		make(&all[i], 1, &all[i].back);
		replaced++;
		while (!all[i].is_over)
			resume(&all[i]);
	}
}

static struct coroutine moved[4];

static void *elsewhere(void *unused)
{
	for (int i = 0; i < 4; i++)
		while (!moved[i].is_over)
			resume(&moved[i]);
	return unused;
}

static void moving(void)
{
	pthread_t thread;

	for (int i = 0; i < 4; i++)
		make(&moved[i], 3, &moved[i].back);
	resume(&moved[0]);
	resume(&moved[1]);
	pthread_create(&thread, NULL, elsewhere, NULL);
	pthread_join(thread, NULL);
}

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void bench(int count)
{
	static struct coroutine it;
	uint64_t begin;

	make(&it, count, &it.back);
	begin = now_ns();
	for (int i = 0; i < count; i++)
		swapcontext(&it.back, &it.context);
	printf("%.1f\n", (double)(now_ns() - begin) / count / 2);
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "bench") == 0) {
		bench(atoi(argv[2]));
		return 0;
	}
	returning();
	chained();
	abandoning();
	moving();
	printf("made %d\nresumed %d\nlinked %d\nreturned %d\nabandoned %d\nreplaced %d\nsum %ld\nerrno %d\n",
	       made, resumed, linked, returned, abandoned, replaced, sum, wrong_errno);
	return 0;
}
