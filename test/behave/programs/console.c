/* SPDX-License-Identifier: MIT */
/*
 * console.c - a program with something to see on each tab, for console.bats:
 * a small shop whose threads call, allocate, lock, wait and send, until they
 * are killed or the file named by the argument exists.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hotpath.h"

#define KEEP 64

static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t prices = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;
static int orders[2];
static __thread char *kept[KEEP];
static volatile long sink;

static __attribute__((noinline)) void price(long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++)
		sum += i * i;
	sink = sum;
}

static __attribute__((noinline)) void *basket(size_t size)
{
	char *bytes = malloc(size);

	HOTPATH_RESULT("a basket");
	return memset(bytes, 1, size);
}

static __attribute__((noinline)) void keep(unsigned i)
{
	free(kept[i % KEEP]);
	kept[i % KEEP] = basket(4096 + i % KEEP);
}

/* Holds the stock for long enough that others wait for it. */
static __attribute__((noinline)) void sell(unsigned i)
{
	pthread_mutex_lock(&stock);
	pthread_rwlock_rdlock(&prices);
	price(20000);
	usleep(200);
	pthread_rwlock_unlock(&prices);
	pthread_mutex_unlock(&stock);
	keep(i);
	if (write(orders[1], "order", 6) != 6)
		exit(1);
}

static void *seller(void *name)
{
	pthread_setname_np(pthread_self(), name);
	for (unsigned i = 0;; i++)
		sell(i);
	return NULL;
}

static __attribute__((noinline)) void pack(const char *order)
{
	pthread_mutex_lock(&door);
	pthread_cond_signal(&bell);
	pthread_mutex_unlock(&door);
	price(order[0]);
}

static void *packer(void *name)
{
	char order[6];

	pthread_setname_np(pthread_self(), name);
	while (read(orders[0], order, sizeof(order)) == sizeof(order))
		pack(order);
	return NULL;
}

static void *courier(void *name)
{
	pthread_setname_np(pthread_self(), name);
	pthread_mutex_lock(&door);
	for (;;)
		pthread_cond_wait(&bell, &door);
	return NULL;
}

int main(int argc, char **argv)
{
	static char names[][16] = { "seller-1", "seller-2", "packer", "courier" };
	void *(*const work[])(void *) = { seller, seller, packer, courier };
	pthread_t thread;

	if (pipe(orders) < 0)
		return 1;
	for (int i = 0; i < 4; i++)
		pthread_create(&thread, NULL, work[i], names[i]);
	puts("up");
	fflush(stdout);
	while (argc < 2 || access(argv[1], F_OK) < 0) {
		pthread_rwlock_wrlock(&prices);
		price(1000);
		pthread_rwlock_unlock(&prices);
		usleep(5000);
	}
	return 0;
}
