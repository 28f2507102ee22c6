/* SPDX-License-Identifier: MIT */
/*
 * waits_channel.c HOW - threads that wait for messages, and for room.
 *
 * times: prints how long it waited for them, by its own clock: NAME COUNT NS.
 * hang: one thread waits for a message from a pipe while it holds a mutex
 * that the sender waits for; prints "hangs" and keeps waiting.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "asleep.h"

#define ROUNDS 40

static int slow[2], full[2], pair[2];
static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
static long long waited_empty, waited_full, waited_pair;

static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void rest(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&time, NULL);
}

/* Main waits in a call, and continues waiting for 5 ms: so each of its calls is a wait. */
static void let_main_wait(void)
{
	while (!is_asleep(getpid(), getpid()))
		usleep(200);
	rest(5);
}

static void *feed(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		let_main_wait();
		if (write(slow[1], "x", 1) != 1 || send(pair[1], "yy", 2, 0) != 2)
			return NULL;
	}
	return unused;
}

static __attribute__((noinline)) void take_slowly(void)
{
	long long since = now();
	char byte;

	if (read(slow[0], &byte, 1) == 1)
		waited_empty += now() - since;
}

static __attribute__((noinline)) void take_pair(void)
{
	long long since = now();
	char bytes[2];

	if (recv(pair[0], bytes, 2, 0) == 2)
		waited_pair += now() - since;
}

static void *drain(void *unused)
{
	static char bytes[65536];

	for (int i = 0; i < ROUNDS; i++) {
		let_main_wait();
		for (ssize_t got = 0, n; got < (ssize_t)sizeof(bytes); got += n)
			if ((n = read(full[0], bytes, sizeof(bytes) - (size_t)got)) <= 0)
				return NULL;
	}
	return unused;
}

static __attribute__((noinline)) void put_much(void)
{
	static char bytes[65536];
	long long since = now();

	if (write(full[1], bytes, sizeof(bytes)) == sizeof(bytes))
		waited_full += now() - since;
}

static void times(void)
{
	static char bytes[65536];
	pthread_t feeder, drainer;

	if (write(full[1], bytes, sizeof(bytes)) != sizeof(bytes))
		return;
	pthread_create(&feeder, NULL, feed, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		take_slowly();
		take_pair();
	}
	pthread_join(feeder, NULL);
	pthread_create(&drainer, NULL, drain, NULL);
	for (int i = 0; i < ROUNDS; i++)
		put_much();
	pthread_join(drainer, NULL);
	printf("take_slowly %d %lld\nput_much %d %lld\n", ROUNDS, waited_empty, ROUNDS,
	       waited_full);
}

static void *ask(void *unused)
{
	if (write(slow[1], "x", 1) != 1)
		return NULL;
	pthread_mutex_lock(&door);
	if (write(slow[1], "x", 1) != 1)
		return NULL;
	pthread_mutex_unlock(&door);
	return unused;
}

static void hang(void)
{
	pthread_t thread;

	pthread_mutex_lock(&door);
	pthread_create(&thread, NULL, ask, NULL);
	take_slowly();
	puts("hangs");
	fflush(stdout);
	take_slowly();
}

int main(int argc, char **argv)
{
	if (pipe(slow) != 0 || pipe(full) != 0 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0)
		return 1;
	if (argc > 1 && strcmp(argv[1], "hang") == 0)
		hang();
	else
		times();
	return 0;
}
