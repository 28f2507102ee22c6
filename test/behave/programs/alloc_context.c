/* SPDX-License-Identifier: MIT */
/*
 * alloc_context.c - allocates in contexts of makecontext, on stacks that are unmapped and mapped
 * again smaller, and in handlers on a signal stack. Prints how many blocks each function requested.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#define TASKS 4

static ucontext_t home, task[TASKS];
static int rounds, alive;
static long in_shallow, in_deep, in_handler;
static void *volatile kept;

__attribute__((noinline)) static void take(size_t size)
{
	kept = malloc(size);
	free(kept);
}

__attribute__((noinline)) static void shallow(void)
{
	take(10);
	in_shallow++;
	__asm__ volatile("");
}

__attribute__((noinline)) static void deep(int depth)
{
	char room[128];

	room[depth] = (char)depth;
	kept = room;
	if (depth)
		deep(depth - 1);
	else
		take(20);
	in_deep += depth == 0;
	__asm__ volatile("");
}

/* Switches back and forth in the middle, so that stacks are entered at different depths. */
static void body(int number)
{
	for (int i = 0; i < rounds; i++) {
		shallow();
		swapcontext(&task[number], &home);
		deep(number * 5 + 3);
		swapcontext(&task[number], &home);
	}
	alive--;
}

static void handler(int number)
{
	(void)number;
	take(30);
	in_handler++;
}

static void run(size_t size)
{
	char *stacks[TASKS];

	alive = TASKS;
	for (int i = 0; i < TASKS; i++) {
		stacks[i] = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);
		getcontext(&task[i]);
		task[i].uc_stack.ss_sp = stacks[i];
		task[i].uc_stack.ss_size = size;
		task[i].uc_link = &home;
		makecontext(&task[i], (void (*)(void))body, 1, i);
	}
	/* All of them end in the same turn. */
	while (alive)
		for (int i = 0; i < TASKS; i++)
			swapcontext(&home, &task[i]);
	for (int i = 0; i < TASKS; i++)
		munmap(stacks[i], size);
}

int main(int argc, char **argv)
{
	stack_t stack = { .ss_size = 64 << 10 };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	rounds = argc > 1 ? atoi(argv[1]) : 10;
	stack.ss_sp = malloc(stack.ss_size);
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (size_t size = 256 << 10; size >= 32 << 10; size /= 2) {
		run(size);
		raise(SIGUSR1);
	}
	printf("%ld shallow %ld deep %ld handler\n", in_shallow, in_deep, in_handler);
	return 0;
}
