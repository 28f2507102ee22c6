/* SPDX-License-Identifier: MIT */
/*
 * ends.c - a program that calls `tick` 1000 times, prints something and ends in
 * the way its argument names; ends.bats expects all ticks in the report.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int ticks;

static __attribute__((noinline)) void tick(void)
{
	ticks++;
}

static __attribute__((noinline)) void tock(void)
{
	ticks++;
}

static void repeat(void (*what)(void), int times)
{
	for (int i = 0; i < times; i++)
		what();
}

/* Like a shell: a child that ticks and one that becomes `true`. */
static int end_fork(void)
{
	for (int i = 0; i < 2; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			repeat(tock, 10);
			if (i == 1)
				execlp("true", "true", NULL);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return 0;
}

/* It must not see any child of ours. */
static int end_wait(void)
{
	while (wait(NULL) > 0)
		repeat(tock, 1);
	return 0;
}

static int end_exec(void)
{
	execl("/proc/self/exe", "ends", "return", NULL);
	return 1;
}

static int end_exit(void)
{
	exit(7);
}

static int end_quick(void)
{
	quick_exit(8);
}

static void last_work(void)
{
	repeat(tock, 20);
	if (write(1, "worked\n", 7) < 0)
		perror("write");
}

static int end_quick_late(void)
{
	at_quick_exit(last_work);
	quick_exit(-3);
}

static int end_now(void)
{
	_exit(9);
}

static int end_abort(void)
{
	abort();
}

static int end_segv(void)
{
	*(volatile int *)8 = 1;
	return 0;
}

static int end_kill(void)
{
	raise(SIGKILL);
	return 0;
}

static int end_term(void)
{
	raise(SIGTERM);
	return 0;
}

static int end_return(void)
{
	return 3;
}

static int end_closed(void)
{
	for (int fd = 0; fd < 1024; fd++)
		close(fd);
	return 4;
}

static void *tick_in_thread(void *argument)
{
	repeat(tock, 10);
	return argument;
}

static int end_threads(void)
{
	for (int i = 0; i < 50; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, tick_in_thread, NULL);
		pthread_join(thread, NULL);
	}
	return 0;
}

static const struct {
	const char *name;
	int (*end)(void);
} ends[] = {
	{ "return", end_return },   { "exit", end_exit },
	{ "quick", end_quick },	    { "now", end_now },
	{ "abort", end_abort },	    { "segv", end_segv },
	{ "kill", end_kill },	    { "term", end_term },
	{ "fork", end_fork },	    { "wait", end_wait },
	{ "exec", end_exec },	    { "closed", end_closed },
	{ "threads", end_threads }, { "quick_late", end_quick_late },
};

int main(int argc, char **argv)
{
	repeat(tick, 1000);
	printf("said before the end\n");
	fflush(stdout);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (argc > 1 && !strcmp(argv[1], ends[i].name))
			return ends[i].end();
	return 2;
}
