/* SPDX-License-Identifier: MIT */
/*
 * guest_clock.c HOW - a thread that may no longer read the clock locks, allocates, calls
 * functions, opens blocks, uses a pipe and reads a timerfd, in an event loop unless poll() is
 * forbidden.  `strict`: by seccomp's strict mode, in its own thread.
 * `tsc`: by PR_SET_TSC, also in a thread and a child that it creates; then it may again. `refused`:
 * strict mode by an argument that the kernel refuses.
 */
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hotpath.h"

#define ROUNDS 1000
#define BLOCKS 64
#define TURNS 20 /* of the loop: enough waits to be one */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static int ends[2];
static void *blocks[BLOCKS];
static int timer;
static _Thread_local int is_strict;

__attribute__((noinline)) void called(void)
{
	HOTPATH_BLOCK("block");
	__asm__ volatile("" : : : "memory");
}

static void timer_set(void)
{
	struct itimerspec each = { { 0, 1000000 }, { 0, 1000000 } };

	if (timerfd_settime(timer, 0, &each, NULL) != 0)
		abort();
}

static void timer_read(void)
{
	struct pollfd one = { .fd = timer, .events = POLLIN };
	uint64_t count;

	if (!is_strict && poll(&one, 1, -1) != 1)
		abort();
	if (read(timer, &count, sizeof(count)) != sizeof(count))
		abort();
}

/* Earlier blocks are freed, others allocated; no memory from the kernel is needed. */
static void work(void)
{
	char byte = 1;

	if (!is_strict)
		timer_set();
	for (int i = 0; i < TURNS; i++)
		timer_read();
	for (int i = 0; i < ROUNDS; i++) {
		void **block = &blocks[i % BLOCKS];

		pthread_mutex_lock(&mutex);
		called();
		pthread_mutex_unlock(&mutex);
		pthread_rwlock_rdlock(&rwlock);
		pthread_rwlock_unlock(&rwlock);
		free(*block);
		*block = malloc((size_t)(24 + i % 3));
		if (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1)
			abort();
	}
}

static _Atomic pid_t strict_tid;

static void *work_strictly(void *argument)
{
	work();
	strict_tid = (pid_t)syscall(SYS_gettid);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
		abort();
	is_strict = 1;
	work();
	syscall(SYS_exit, 0);
	return argument;
}

static void strict(void)
{
	pthread_t thread;

	/* It ends without the C library, so nobody can join it. */
	pthread_create(&thread, NULL, work_strictly, NULL);
	while (strict_tid == 0 || syscall(SYS_tgkill, getpid(), strict_tid, 0) == 0)
		usleep(1000);
}

static void *work_there(void *argument)
{
	work();
	return argument;
}

static void tsc(void)
{
	pthread_t thread;
	int status;

	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV) != 0)
		abort();
	work();
	pthread_create(&thread, NULL, work_there, NULL);
	pthread_join(thread, NULL);
	pid_t child = fork();
	if (child == 0) {
		work();
		_exit(7);
	}
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
		abort();
	if (prctl(PR_SET_TSC, PR_TSC_ENABLE) != 0)
		abort();
	work();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	timer = timerfd_create(CLOCK_MONOTONIC, 0);
	if (pipe(ends) != 0 || timer < 0)
		return 1;
	work();
	if (strcmp(how, "strict") == 0)
		strict();
	else if (strcmp(how, "tsc") == 0)
		tsc();
	else if (syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) == 0)
		return 2;
	work();
	puts("done");
	return 0;
}
