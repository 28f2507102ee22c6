/* SPDX-License-Identifier: MIT */
/*
 * guest_end.c - ends in the way of its first argument, with the code of the second.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile unsigned worked;

static __attribute__((noinline)) void work(void)
{
	worked++;
}

static _Atomic int main_has_left, thread_runs;
static int main_tid;

static __attribute__((destructor, no_instrument_function)) void leave(void)
{
	main_has_left = 1;
}

/* After the last of the program's own code, only our library makes it sleep. */
static __attribute__((no_instrument_function)) int main_sleeps(void)
{
	char path[64], text[256] = "";
	const char *state;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", main_tid);
	file = fopen(path, "r");
	if (file) {
		if (!fgets(text, sizeof(text), file))
			text[0] = 0;
		fclose(file);
	}
	state = strrchr(text, ')');
	return state && state[2] == 'S';
}

/* Without the library, the process has ended by then; with it, exit still waits for the report. */
static void *exit_late(void *argument)
{
	thread_runs = 1;
	while (!main_has_left || !main_sleeps())
		usleep(100);
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
		main_tid = (int)syscall(SYS_gettid);
		pthread_create(&thread, NULL, exit_late, NULL);
		while (!thread_runs)
			usleep(100);
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
