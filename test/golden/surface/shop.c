/* SPDX-License-Identifier: MIT */
/*
 * shop.c - the program of the recorded run of surface.bats, with data for every
 * section. Recorded once, by scripts/refresh-golden.sh --record-kept; its figures
 * do not matter, but each kind of row must exist. It ends while one thread waits
 * for another's lock.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hotpath.h"

#define NOINLINE __attribute__((noinline))

#define ROUNDS 200

static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t till = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t closed = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t prices = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t opening;
static sem_t carts;
static int orders[2];
static int rung;
static volatile long sink;

/* Computes, for samples. */
static NOINLINE void price(long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++)
		sum += i * i % 7;
	sink = sum;
}

static NOINLINE char *basket(size_t size)
{
	char *bytes = malloc(size);

	HOTPATH_RESULT("a basket");
	return memset(bytes, 1, size);
}

/* Blocks of many sizes that live for a while, and some that are never freed. */
static NOINLINE void shelve(void)
{
	static char *shelf[64];

	for (unsigned i = 0; i < 20000; i++) {
		free(shelf[i * 7 % 64]);
		shelf[i * 7 % 64] = basket(16 + i * 37 % 3000);
	}
	for (int i = 0; i < 10; i++)
		sink += basket(100000)[0];
}

/* Memory that it maps itself; a part of it is unmapped. */
static NOINLINE void extend(void)
{
	char *room =
		mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(room, 1, 1 << 20);
	munmap(room, 1 << 18);
}

/* Holds the stock for long enough that others wait for it. */
static NOINLINE void sell(void)
{
	pthread_mutex_lock(&stock);
	pthread_rwlock_rdlock(&prices);
	price(100000);
	usleep(500);
	pthread_rwlock_unlock(&prices);
	pthread_mutex_unlock(&stock);
	free(basket(4096));
	HOTPATH_CHANNEL_SEND(&orders);
	if (write(orders[1], "order", 6) != 6)
		exit(1);
}

static void *seller(void *name)
{
	pthread_setname_np(pthread_self(), name);
	pthread_barrier_wait(&opening);
	for (int i = 0; i < ROUNDS; i++)
		sell();
	sem_post(&carts);
	return NULL;
}

static NOINLINE void pack(void)
{
	HOTPATH_CHANNEL_RECEIVE(&orders);
	pthread_mutex_lock(&till);
	rung++;
	pthread_cond_signal(&bell);
	pthread_mutex_unlock(&till);
}

static void *packer(void *name)
{
	char order[6];

	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < 2 * ROUNDS && read(orders[0], order, 6) == 6; i++)
		pack();
	return NULL;
}

static void *courier(void *name)
{
	pthread_setname_np(pthread_self(), name);
	pthread_mutex_lock(&till);
	while (rung < 2 * ROUNDS)
		pthread_cond_wait(&bell, &till);
	pthread_mutex_unlock(&till);
	return NULL;
}

/* In both orders, one after the other: no deadlock, but a potential one. */
static NOINLINE void count_money(void)
{
	pthread_mutex_lock(&stock);
	pthread_mutex_lock(&till);
	pthread_mutex_unlock(&till);
	pthread_mutex_unlock(&stock);
	pthread_mutex_lock(&till);
	pthread_mutex_lock(&stock);
	pthread_mutex_unlock(&stock);
	pthread_mutex_unlock(&till);
}

/* A child holds the lock of the books for a while when this returns. */
static NOINLINE pid_t books_taken(const char *path)
{
	int ready[2];
	pid_t child;
	char byte;

	if (pipe(ready) < 0 || (child = fork()) < 0)
		exit(1);
	if (child == 0) {
		int fd = open(path, O_RDWR);

		if (flock(fd, LOCK_EX) < 0 || write(ready[1], "x", 1) != 1)
			_exit(1);
		usleep(20000);
		_exit(0);
	}
	if (read(ready[0], &byte, 1) != 1)
		exit(1);
	close(ready[0]);
	close(ready[1]);
	return child;
}

static NOINLINE void keep_books(void)
{
	char path[] = "/tmp/hotpath-books.XXXXXX";
	struct flock part = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10 };
	int fd = mkstemp(path);
	pid_t child = books_taken(path);

	flock(fd, LOCK_EX);
	fcntl(fd, F_SETLKW, &part);
	flock(fd, LOCK_UN);
	waitpid(child, NULL, 0);
	unlink(path);
	close(fd);
}

static void *late(void *name)
{
	pthread_setname_np(pthread_self(), name);
	pthread_mutex_lock(&closed);
	return NULL;
}

int main(void)
{
	static char names[][16] = { "seller-1", "seller-2", "packer", "courier" };
	void *(*const work[])(void *) = { seller, seller, packer, courier };
	pthread_t threads[4], last;

	if (pipe(orders) < 0)
		return 1;
	HOTPATH_LOCK(&stock, "stock");
	HOTPATH_LABEL_FD(orders[0], "orders");
	HOTPATH_CHANNEL(&orders, "parcels", 16);
	pthread_barrier_init(&opening, NULL, 3);
	sem_init(&carts, 0, 0);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work[i], names[i]);
	usleep(100000);
	pthread_barrier_wait(&opening);
	for (int i = 0; i < 10; i++) {
		pthread_rwlock_wrlock(&prices);
		price(1000000);
		pthread_rwlock_unlock(&prices);
		usleep(2000);
	}
	sem_wait(&carts);
	sem_wait(&carts);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	shelve();
	extend();
	count_money();
	keep_books();
	/* Longer than the interval between two scans. */
	price(100000000);
	pthread_mutex_lock(&closed);
	pthread_create(&last, NULL, late, "late");
	usleep(300000);
	return 0;
}
