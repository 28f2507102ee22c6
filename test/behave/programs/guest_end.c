/* SPDX-License-Identifier: MIT */
/*
 * guest_end.c - ends in the way of its first argument, with the code of the second.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile unsigned worked;

static __attribute__((noinline)) void work(void)
{
	worked++;
}

/* Alone, the process is gone before; with us, exit may still wait for the report. */
static void *exit_late(void *argument)
{
	usleep(10000);
	_exit(77);
	return argument;
}

static void jump(void)
{
	jmp_buf home;

	if (setjmp(home) == 0)
		longjmp(home, 1);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int code = argc > 2 ? atoi(argv[2]) : 0;

	for (int i = 0; i < 10; i++)
		work();
	if (argc > 1 && strcmp(argv[1], "race") == 0) {
		pthread_create(&thread, NULL, exit_late, NULL);
		usleep(5000);
	}
	if (argc > 1 && strcmp(argv[1], "jump") == 0)
		jump();
	if (argc > 1 && strcmp(argv[1], "_exit") == 0)
		_exit(code);
	if (argc > 1 && strcmp(argv[1], "_Exit") == 0)
		_Exit(code);
	if (argc > 1 && strcmp(argv[1], "quick_exit") == 0)
		quick_exit(code);
	return code;
}
