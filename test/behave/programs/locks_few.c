/* SPDX-License-Identifier: MIT */
/*
 * locks_few.c - mutexes that one thread holds, and another waits for, once, twice and three times.
 *
 * Prints for each mutex its name, all times for which one of them held it, and the times of the
 * waits, in ns. The holds are of different lengths, and the waiter comes when the mutex is held.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER, twice = PTHREAD_MUTEX_INITIALIZER,
		thrice = PTHREAD_MUTEX_INITIALIZER;

static pthread_barrier_t both;
static pthread_mutex_t *current;
static long waits[3], held[3];
static int count;

static long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000 + now.tv_nsec;
}

static void *wait_for_it(void *nothing)
{
	for (int i = 0; i < count; i++) {
		pthread_barrier_wait(&both);
		long since = now_ns();
		pthread_mutex_lock(current);
		long got = now_ns();
		held[i] = now_ns() - got;
		pthread_mutex_unlock(current);
		waits[i] = got - since;
		pthread_barrier_wait(&both);
	}
	return nothing;
}

static void hold(const char *name, pthread_mutex_t *mutex, int times)
{
	static const int lengths_us[] = { 3000, 60000, 15000 };
	pthread_t other;

	count = times;
	current = mutex;
	printf("%s", name);
	pthread_create(&other, NULL, wait_for_it, NULL);
	for (int i = 0; i < times; i++) {
		pthread_mutex_lock(mutex);
		long since = now_ns();
		pthread_barrier_wait(&both);
		usleep((unsigned)lengths_us[i]);
		printf(" %ld", now_ns() - since);
		pthread_mutex_unlock(mutex);
		pthread_barrier_wait(&both);
	}
	pthread_join(other, NULL);
	for (int i = 0; i < times; i++)
		printf(" %ld", held[i]);
	for (int i = 0; i < times; i++)
		printf(" %ld", waits[i]);
	puts("");
}

int main(void)
{
	pthread_barrier_init(&both, NULL, 2);
	hold("once", &once, 1);
	hold("twice", &twice, 2);
	hold("thrice", &thrice, 3);
	return 0;
}
