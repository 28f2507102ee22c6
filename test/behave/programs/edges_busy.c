/* SPDX-License-Identifier: MIT */
/* edges_busy.c - threads, locks, recursion, blocks, messages: a bit of everything that takes
 * time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long sum;

__attribute__((noinline)) static void inner(int i)
{
	sum += i;
}

__attribute__((noinline)) static long deep(int n)
{
	inner(n);
	return n ? deep(n - 1) + 1 : 0;
}

__attribute__((noinline)) static void outer(int i)
{
	void *volatile p = malloc((size_t)i % 100 + 1);

	inner(i);
	free(p);
	pthread_mutex_lock(&lock);
	inner(i);
	pthread_mutex_unlock(&lock);
}

static void *work(void *argument)
{
	for (int i = 0; i < 20000; i++)
		outer(i);
	deep(50);
	return argument;
}

int main(void)
{
	pthread_t threads[3];
	int ends[2];
	char byte;

	if (pipe(ends) < 0)
		return 1;
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 1000; i++)
		if (write(ends[1], "x", 1) != 1 || read(ends[0], &byte, 1) != 1)
			return 2;
	puts("done");
	return 3;
}
