/* SPDX-License-Identifier: MIT */
/*
 * interrupted.c - two threads work in pieces, each for a while by CLOCK_MONOTONIC, until a file
 * named `enough` exists; prints the number of pieces, and how long main took, in ns.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define UNSEEN __attribute__((no_instrument_function))

static _Atomic long pieces;

UNSEEN static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static __attribute__((noinline)) void piece(void)
{
	for (volatile int i = 0; i < 20000; i++)
		;
}

static __attribute__((noinline)) void *work(void *arg)
{
	while (access("enough", F_OK))
		for (int i = 0; i < 10; i++) {
			piece();
			pieces++;
		}
	return arg;
}

static __attribute__((noinline)) void whole(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, NULL))
		return;
	work(NULL);
	pthread_join(thread, NULL);
}

int main(void)
{
	int64_t start = now_ns();

	whole();
	printf("%ld %lld\n", (long)pieces, (long long)(now_ns() - start));
	return 0;
}
