/* SPDX-License-Identifier: MIT */
/*
 * choose.c - seven functions that are slow for seven reasons, and one that is only
 * called often: views of timing, samples, waits and allocations on each of them
 * (doc/internals/views.md).
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 10

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int request[2], answer[2], ready[2];
static volatile uint64_t sink;

/* Works. */
static __attribute__((noinline)) void compute(void)
{
	for (uint64_t i = 0; i < 4000000; i++)
		sink += i * i;
}

/* Is short, and called often. */
static __attribute__((noinline)) uint64_t next(uint64_t x)
{
	return x * 6364136223846793005u + 1442695040888963407u;
}

static __attribute__((noinline)) void shuffle(void)
{
	uint64_t x = sink;

	for (int i = 0; i < 200000; i++)
		x = next(x);
	sink = x;
}

/* Allocates memory, and frees it. */
static __attribute__((noinline)) void allocate(void)
{
	static void *blocks[2000];

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 2000; i++)
			blocks[i] = malloc(40 + (size_t)(i * 37 % 1500));
		for (int i = 0; i < 2000; i++)
			free(blocks[i * 7 % 2000]);
	}
}

/* Sleeps. */
static __attribute__((noinline)) void wait_a_bit(void)
{
	usleep(8000);
	sink++;	/* or the compiler jumps to usleep, and this function is on no stack */
}

/* Waits for a lock that another thread holds. */
static __attribute__((noinline)) void wait_for_lock(void)
{
	char byte;

	if (read(ready[0], &byte, 1) != 1)
		return;
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static void *hold(void *argument)
{
	for (int i = 0; i < ROUNDS; i++) {
		char byte = 'x';

		if (read(request[0], &byte, 1) != 1)
			break;
		pthread_mutex_lock(&lock);
		if (write(ready[1], &byte, 1) != 1)
			break;
		usleep(12000);
		pthread_mutex_unlock(&lock);
		/* And an answer later. */
		usleep(6000);
		if (write(answer[1], &byte, 1) != 1)
			break;
	}
	return argument;
}

/* Waits for an answer in a pipe. */
static __attribute__((noinline)) void wait_for_answer(void)
{
	char byte;

	if (read(answer[0], &byte, 1) != 1)
		sink++;
}

/* Waits for the disk, if /var/tmp is on one. */
static __attribute__((noinline)) void write_down(int file)
{
	char page[4096];

	memset(page, 'x', sizeof(page));
	if (write(file, page, sizeof(page)) == (ssize_t)sizeof(page))
		fsync(file);
}

static __attribute__((noinline)) void round_of(int file)
{
	char byte = 'x';

	compute();
	shuffle();
	allocate();
	wait_a_bit();
	if (write(request[1], &byte, 1) != 1)
		return;
	wait_for_lock();
	wait_for_answer();
	write_down(file);
}

int main(void)
{
	char path[] = "/var/tmp/hotpath-choose-XXXXXX";
	int file = mkstemp(path);
	pthread_t thread;

	if (file < 0 || pipe(request) || pipe(answer) || pipe(ready))
		return 1;
	unlink(path);
	pthread_create(&thread, NULL, hold, NULL);
	for (int i = 0; i < ROUNDS; i++)
		round_of(file);
	pthread_join(thread, NULL);
	puts("done");
	return 0;
}
