/* SPDX-License-Identifier: MIT */
/*
 * scale.c - scale KIND N: N call paths that allocate, threads, or processes.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile held;

/* Each number has a path of its own: one of two call sites for each bit. */
static __attribute__((noinline, noclone)) void descend(unsigned number, int bits)
{
	if (bits == 0)
		held = malloc(16);
	else if (number & 1)
		descend(number >> 1, bits - 1);
	else
		descend(number >> 1, bits - 1);
	__asm__ volatile("");
}

static void paths(unsigned count)
{
	int bits = 0;

	while (count > 1U << bits)
		bits++;
	for (unsigned i = 0; i < count; i++)
		descend(i, bits);
}

static void *nothing(void *argument)
{
	return argument;
}

static void threads(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, nothing, NULL) == 0)
			pthread_join(thread, NULL);
	}
}

static void processes(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	unsigned count = argc > 2 ? (unsigned)atoi(argv[2]) : 0;

	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "paths") == 0)
		paths(count);
	if (strcmp(argv[1], "threads") == 0)
		threads(count);
	if (strcmp(argv[1], "processes") == 0)
		processes(count);
	return 0;
}
