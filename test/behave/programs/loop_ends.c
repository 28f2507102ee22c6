/* SPDX-License-Identifier: MIT */
/*
 * loop_ends.c MODE - a loop, 20 ms of work after its last wait, and its end. Prints how long the
 * loop lived at least and at most, ns: "least N", "most N".
 *
 * thread: its thread ends. cancel: its thread is cancelled in a wait. close: it closes the epoll
 * instance, works for another 20 ms, and the program exits. exit, kill: the program ends with it.
 * children: three processes, one after the other, that end with it.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *mode;
static unsigned long long before, after, least, most;
static atomic_int is_done;

static unsigned long long now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (unsigned long long)time.tv_sec * 1000000000 + (unsigned long long)time.tv_nsec;
}

static void work(void)
{
	for (unsigned long long begin = now_ns(); now_ns() - begin < 20000000;)
		;
}

static int turn(int epoll_fd)
{
	struct epoll_event event;
	char byte;

	return epoll_wait(epoll_fd, &event, 1, -1) == 1 && read(event.data.fd, &byte, 1) == 1;
}

static void *loop(void *none)
{
	int epoll_fd = epoll_create1(0), pipes[2][2];

	for (int i = 0; i < 2; i++) {
		struct epoll_event event = { .events = EPOLLIN };

		if (pipe(pipes[i]) != 0)
			exit(1);
		event.data.fd = pipes[i][0];
		epoll_ctl(epoll_fd, EPOLL_CTL_ADD, pipes[i][0], &event);
	}
	before = now_ns();
	for (int i = 0; i < 40; i++) {
		if (write(pipes[i % 2][1], "", 1) != 1 || !turn(epoll_fd))
			exit(1);
		after = after ? after : now_ns();
	}
	work();
	least = now_ns() - after;
	atomic_store(&is_done, 1);
	if (strcmp(mode, "cancel") == 0)
		turn(epoll_fd);
	if (strcmp(mode, "close") == 0) {
		close(epoll_fd);
		most = now_ns() - before;
		work();
	}
	return none;
}

static void thread(int is_cancelled)
{
	pthread_t thread;

	pthread_create(&thread, NULL, loop, NULL);
	while (!atomic_load(&is_done))
		sched_yield();
	if (is_cancelled)
		pthread_cancel(thread);
	pthread_join(thread, NULL);
	most = now_ns() - before;
}

/* Each adds its own to the sum, which is all that its parent needs. */
static void children(void)
{
	unsigned long long sum[2] = { 0 }, own, begin;
	int ends[2];

	if (pipe(ends) != 0)
		exit(1);
	for (int i = 0; i < 3; i++) {
		begin = now_ns();
		if (fork() == 0) {
			loop(NULL);
			_exit(write(ends[1], &least, sizeof(least)) != sizeof(least));
		}
		wait(NULL);
		sum[1] += now_ns() - begin;
		if (read(ends[0], &own, sizeof(own)) != sizeof(own))
			exit(1);
		sum[0] += own;
	}
	least = sum[0];
	most = sum[1];
}

int main(int argc, char **argv)
{
	mode = argc > 1 ? argv[1] : "";
	if (strcmp(mode, "children") == 0)
		children();
	else if (strcmp(mode, "thread") == 0 || strcmp(mode, "cancel") == 0)
		thread(*mode == 'c');
	else
		loop(NULL);
	printf("least %llu\nmost %llu\n", least, most);
	fflush(stdout);
	if (strcmp(mode, "kill") == 0)
		kill(getpid(), SIGKILL);
	return 0;
}
