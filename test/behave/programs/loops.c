/* SPDX-License-Identifier: MIT */
/*
 * loops.c MODE - waits for descriptors, and prints its actions as "NAME NUMBER" lines.
 *
 * epoll: two pipes, 500 waits, one of them followed by a busy span of 20 ms.
 * timers: poll() on one descriptor with timeouts of several lengths, which expire. ticks:
 * epoll_wait() on one descriptor, alternately without waiting and with one timeout, which expires.
 * client: poll() for one answer, 200 times.
 * handler: like epoll, while a signal handler polls, too. named: like
 * client, with a name for the waiting place.
 * lag: waits for timers, and one stall of 20 ms in between.
 * threads: two threads, each like epoll; a third one like client.
 * timerfd: a timer of 2 ms, set as a span, then as a time; in the middle of each a stall of 7 ms.
 * remote: an eventfd and a pipe, 301 waits: the thread itself ends one in three, another
 * thread the others.
 * lua: like epoll, with a stall of 300 ms that calls three other functions alternately; nap:
 * like lua, but it sleeps instead.
 * last: like epoll, with another stall of 20 ms before the last wait, in which it is killed.
 * wait: like epoll, then prints "up" and waits until it is killed.
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <hotpath.h>

#define ROUNDS 500
#define STALL_AT 250
#define STALL_NS 20000000

struct told {
	uint64_t waits;
	uint64_t events;
	uint64_t stall_ns;	/* as the program measured it, inside the busy span, */
	uint64_t around_ns;	/* and with the waits before and after it */
	uint64_t all_ns;	/* from before the first wait to after the last */
};

__attribute__((no_instrument_function)) static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

__attribute__((noinline)) static uint64_t stall(void)
{
	uint64_t begin = now_ns(), end;

	do
		end = now_ns();
	while (end - begin < STALL_NS);
	return end - begin;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void add(int epoll_fd, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
		fail("epoll_ctl");
}

__attribute__((noinline)) static int turn(int epoll_fd, int timeout)
{
	struct epoll_event events[4];
	int count = epoll_wait(epoll_fd, events, 4, timeout);

	for (int i = 0; i < count; i++) {
		char byte;

		if (read(events[i].data.fd, &byte, 1) != 1)
			fail("read");
	}
	return count;
}

static pthread_barrier_t together;
static int is_together;

/* The last wait of the loop, if it has one that does not end. */
static int is_last;

static void *loop(void *data)
{
	struct told *told = data;
	int epoll_fd = epoll_create1(0), often[2], seldom[2];
	uint64_t before = 0, begin = now_ns();

	if (epoll_fd < 0 || pipe(often) != 0 || pipe(seldom) != 0)
		fail("pipe");
	add(epoll_fd, often[0]);
	add(epoll_fd, seldom[0]);
	for (int i = 0; i < ROUNDS; i++) {
		int count;

		if (write(often[1], "", 1) != 1 || (i % 5 == 0 && write(seldom[1], "", 1) != 1))
			fail("write");
		if (i == STALL_AT)
			before = now_ns();
		count = turn(epoll_fd, -1);
		if (i == STALL_AT + 1)
			told->around_ns = now_ns() - before;
		if (i == STALL_AT)
			told->stall_ns = stall();
		told->waits++;
		told->events += count > 0 ? (uint64_t)count : 0;
	}
	if (is_last) {
		printf("last_ns %llu\nup\n", (unsigned long long)stall());
		fflush(stdout);
		turn(epoll_fd, -1);
	}
	told->all_ns = now_ns() - begin;
	close(seldom[0]);
	/* A thread that starts after another's end would continue its record. */
	if (is_together)
		pthread_barrier_wait(&together);
	return NULL;
}

/* Polls one pipe at a time, `kinds` of them in turn. */
static void ask(struct told *told, int kinds)
{
	int answers[2][2];

	for (int i = 0; i < kinds; i++)
		if (pipe(answers[i]) != 0)
			fail("pipe");
	for (int i = 0; i < 200; i++) {
		const int *answer = answers[i % kinds];
		struct pollfd fd = { .fd = answer[0], .events = POLLIN };
		char byte;

		if (write(answer[1], "", 1) != 1 || poll(&fd, 1, -1) != 1 ||
		    read(answer[0], &byte, 1) != 1)
			fail("poll");
		told->waits++;
	}
}

static void *client(void *data)
{
	ask(data, 1);
	return NULL;
}

/* Waits of at least `least_ms`: the stall is in the middle. */
static void timers(struct told *told, int least_ms, int stall_at)
{
	int idle[2];

	if (pipe(idle) != 0)
		fail("pipe");
	for (int i = 0; i < 40; i++) {
		struct pollfd fd = { .fd = idle[0], .events = POLLIN };

		if (poll(&fd, 1, least_ms + i % 3) != 0)
			fail("poll");
		if (i == stall_at)
			told->stall_ns = stall();
		told->waits++;
	}
}

static volatile uint64_t handled;

static void handler(int number)
{
	struct pollfd fd = { .fd = 0, .events = 0 };

	(void)number;
	poll(&fd, 0, 0);
	handled++;
}

static void ticks(struct told *told)
{
	int epoll_fd = epoll_create1(0), idle[2];

	if (epoll_fd < 0 || pipe(idle) != 0)
		fail("pipe");
	add(epoll_fd, idle[0]);
	for (int i = 0; i < 80; i++, told->waits++)
		if (turn(epoll_fd, i % 2 ? 2 : 0) != 0)
			fail("epoll_wait");
}

/* --- timers --- */

#define EVERY_NS 2000000
#define TIMER_STALL_NS 7000000
#define TIMER_READS 40

static uint64_t timer_reads, timer_missed, timer_least_ns, timer_most_ns;

static void timer_read(int fd, uint64_t least_due_ns, uint64_t most_due_ns, uint64_t *expired)
{
	uint64_t before = now_ns(), count, after, passed = *expired * EVERY_NS;

	if (read(fd, &count, sizeof(count)) != sizeof(count))
		fail("read");
	after = now_ns();
	timer_reads++;
	timer_missed += count - 1;
	timer_least_ns += before > most_due_ns + passed ? before - most_due_ns - passed : 0;
	timer_most_ns += after - least_due_ns - passed;
	*expired += count;
}

static void timer_run(int epoll_fd, int flags)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	uint64_t before = now_ns(), first = before + EVERY_NS, expired = 0, stalled;
	struct itimerspec value = { .it_interval.tv_nsec = EVERY_NS, .it_value.tv_nsec = EVERY_NS };
	struct epoll_event event;

	if (flags & TFD_TIMER_ABSTIME) {
		value.it_value.tv_sec = (time_t)(first / 1000000000);
		value.it_value.tv_nsec = (long)(first % 1000000000);
	}
	if (fd < 0 || timerfd_settime(fd, flags, &value, NULL) != 0)
		fail("timerfd");
	/* Until when a span may have begun. */
	before = flags & TFD_TIMER_ABSTIME ? before : now_ns();
	add(epoll_fd, fd);
	for (int i = 0; i < TIMER_READS; i++) {
		if (epoll_wait(epoll_fd, &event, 1, -1) != 1)
			fail("epoll_wait");
		timer_read(fd, first, before + EVERY_NS, &expired);
		for (stalled = now_ns();
		     i == TIMER_READS / 2 && now_ns() - stalled < TIMER_STALL_NS;)
			;
	}
	close(fd);
}

static void timerfds(void)
{
	int epoll_fd = epoll_create1(0), idle[2];

	if (epoll_fd < 0 || pipe(idle) != 0)
		fail("pipe");
	add(epoll_fd, idle[0]);
	timer_run(epoll_fd, 0);
	timer_run(epoll_fd, TFD_TIMER_ABSTIME);
	printf("timer_reads %llu\ntimer_missed %llu\ntimer_least_ns %llu\ntimer_most_ns %llu\n",
	       (unsigned long long)timer_reads, (unsigned long long)timer_missed,
	       (unsigned long long)timer_least_ns, (unsigned long long)timer_most_ns);
}

/* --- wake-ups by another thread --- */

static int remote_event, remote_pipe[2];
static sem_t remote_turn;

static void *caller(void *data)
{
	uint64_t one = 1;

	(void)data;
	for (int i = 0; i < 200; i++) {
		while (sem_wait(&remote_turn) != 0)
			;
		if (i % 2 ? write(remote_pipe[1], "", 1) != 1
			  : write(remote_event, &one, sizeof(one)) != sizeof(one))
			fail("write");
	}
	return NULL;
}

static void remote(struct told *told)
{
	int epoll_fd = epoll_create1(0);
	pthread_t thread;

	remote_event = eventfd(0, 0);
	if (epoll_fd < 0 || remote_event < 0 || pipe(remote_pipe) != 0 ||
	    sem_init(&remote_turn, 0, 0) != 0)
		fail("remote");
	add(epoll_fd, remote_event);
	add(epoll_fd, remote_pipe[0]);
	pthread_create(&thread, NULL, caller, NULL);
	for (int i = 0; i < 301; i++) {
		struct epoll_event event;
		uint64_t value;

		if (i % 3)
			sem_post(&remote_turn);
		else if (write(remote_pipe[1], "", 1) != 1)
			fail("write");
		if (epoll_wait(epoll_fd, &event, 1, -1) != 1 ||
		    read(event.data.fd, &value, event.data.fd == remote_event ? sizeof(value) : 1) <
			    1)
			fail("epoll_wait");
		told->waits++;
	}
	pthread_join(thread, NULL);
}

/* --- a stall that only samples can name --- */

static volatile uint64_t spun;

__attribute__((noinline, noclone)) static void opcode(void)
{
	for (int i = 0; i < 2000; i++)
		spun += (uint64_t)i;
}

__attribute__((noinline, noclone)) static void other_opcode(void)
{
	for (int i = 0; i < 2000; i++)
		spun ^= (uint64_t)i;
}

__attribute__((noinline, noclone)) static void third_opcode(void)
{
	for (int i = 0; i < 2000; i++)
		spun -= (uint64_t)i;
}

__attribute__((noinline, noclone)) static void script(void)
{
	uint64_t begin = now_ns();

	/* Each takes less than half of it. */
	while (now_ns() - begin < 15 * (uint64_t)STALL_NS) {
		opcode();
		other_opcode();
		third_opcode();
	}
	__asm__ volatile("");
}

/* Only passes the request on: its caller is to be named. */
__attribute__((noinline, noclone)) static void g_usleep(long us)
{
	struct timespec time = { .tv_nsec = us * 1000 };

	nanosleep(&time, NULL);
	__asm__ volatile("");
}

__attribute__((noinline, noclone)) static void napping(void)
{
	g_usleep(15 * STALL_NS / 1000);
	__asm__ volatile("");
}

static void lua(int sleeps)
{
	int epoll_fd = epoll_create1(0), fds[2][2];

	if (epoll_fd < 0 || pipe(fds[0]) != 0 || pipe(fds[1]) != 0)
		fail("pipe");
	add(epoll_fd, fds[0][0]);
	add(epoll_fd, fds[1][0]);
	for (int i = 0; i < 100; i++) {
		if (write(fds[i % 2][1], "", 1) != 1 || turn(epoll_fd, -1) != 1)
			fail("turn");
		if (i != 50)
			continue;
		if (sleeps) {
			napping();
		} else {
			clock_t before = clock();

			script();
			printf("cpu_ms %ld\n", (long)(clock() - before) / (CLOCKS_PER_SEC / 1000));
		}
	}
}

static void tell(const struct told *told)
{
	printf("waits %llu\nevents %llu\nstall_ns %llu\naround_ns %llu\nall_ns %llu\n",
	       (unsigned long long)told->waits, (unsigned long long)told->events,
	       (unsigned long long)told->stall_ns, (unsigned long long)told->around_ns,
	       (unsigned long long)told->all_ns);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	struct told told[3] = { { 0 } };
	pthread_t threads[3];

	is_last = strcmp(mode, "last") == 0;
	if (strcmp(mode, "epoll") == 0 || strcmp(mode, "wait") == 0 || is_last)
		loop(&told[0]);
	if (strcmp(mode, "client") == 0)
		client(&told[0]);
	if (strcmp(mode, "clients") == 0)
		ask(&told[0], 2);
	if (strcmp(mode, "timers") == 0)
		timers(&told[0], 1, -1);
	if (strcmp(mode, "ticks") == 0)
		ticks(&told[0]);
	if (strcmp(mode, "timerfd") == 0)
		timerfds();
	if (strcmp(mode, "remote") == 0)
		remote(&told[0]);
	if (strcmp(mode, "lua") == 0)
		lua(0);
	if (strcmp(mode, "nap") == 0)
		lua(1);
	if (strcmp(mode, "lag") == 0)
		timers(&told[0], 10, 20);
	if (strcmp(mode, "named") == 0) {
		HOTPATH_LOOP("answers");
		client(&told[0]);
	}
	if (strcmp(mode, "handler") == 0) {
		struct itimerval every = { .it_interval.tv_usec = 200, .it_value.tv_usec = 200 };

		signal(SIGALRM, handler);
		setitimer(ITIMER_REAL, &every, NULL);
		loop(&told[0]);
	}
	if (strcmp(mode, "threads") == 0) {
		is_together = pthread_barrier_init(&together, NULL, 2) == 0;
		for (int i = 0; i < 3; i++)
			pthread_create(&threads[i], NULL, i < 2 ? loop : client, &told[i]);
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
	}
	if (strcmp(mode, "wait") == 0) {
		puts("up");
		fflush(stdout);
		for (;;)
			pause();
	}
	tell(&told[0]);
	return 0;
}
