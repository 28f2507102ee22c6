/* SPDX-License-Identifier: MIT */
/*
 * locks.c - ns of a pair of lock and release that finds the lock free; and,
 * for threads on one mutex, the cost of an acquisition with the work around
 * it:
 *
 *   threads N [cpu]      CPU time, ns
 *   threads N elapsed    time, ns: 1e9 / it are acquisitions a second
 *   threads N switches   how often a thread slept for the lock, per thousand
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 2000
#define PAIRS 10000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t sem;
static int ends[2];

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

#define PAIR(name, code) \
	static void name(void) \
	{ \
		for (int i = 0; i < PAIRS; i++) { \
			code; \
		} \
	}

PAIR(pair_mutex, pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex))
PAIR(pair_read, pthread_rwlock_rdlock(&rwlock); pthread_rwlock_unlock(&rwlock))
PAIR(pair_write, pthread_rwlock_wrlock(&rwlock); pthread_rwlock_unlock(&rwlock))
PAIR(pair_spin, pthread_spin_lock(&spin); pthread_spin_unlock(&spin))
PAIR(pair_sem, sem_post(&sem); sem_wait(&sem))
PAIR(pair_signal, pthread_cond_signal(&cond))

static void pair_nested(void)
{
	pthread_mutex_lock(&outer);
	pair_mutex();
	pthread_mutex_unlock(&outer);
}

static void pair_pipe(void)
{
	char byte = 0;

	for (int i = 0; i < PAIRS / 10; i++)
		if (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1)
			exit(1);
}

struct kind {
	const char *name;
	void (*run)(void);
	int pairs;
};

static const struct kind kinds[] = {
	{ "mutex", pair_mutex, PAIRS },	  { "nested", pair_nested, PAIRS },
	{ "read", pair_read, PAIRS },	  { "write", pair_write, PAIRS },
	{ "spin", pair_spin, PAIRS },	  { "sem", pair_sem, PAIRS },
	{ "signal", pair_signal, PAIRS }, { "pipe", pair_pipe, PAIRS / 10 },
};

static void *idle(void *arg)
{
	pause();
	return arg;
}

/* --- threads on one mutex --- */

static volatile int is_over;
static unsigned long work;

static void *contend(void *arg)
{
	unsigned long *count = arg, here = 0;

	while (!is_over) {
		pthread_mutex_lock(&mutex);
		for (int i = 0; i < 100; i++)
			work = work * 3 + (unsigned)i;
		pthread_mutex_unlock(&mutex);
		for (int i = 0; i < 300; i++)
			here = here * 5 + (unsigned)i;
		++*count;
	}
	return (void *)here;
}

static double cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double slept(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_nvcsw;
}

/* The present request. */
static double amount(const char *what)
{
	if (strcmp(what, "elapsed") == 0)
		return now();
	return strcmp(what, "switches") == 0 ? 1000 * slept() : cpu_ns();
}

static void threads_on_one(int count, const char *what)
{
	pthread_t threads[64];
	static unsigned long counts[64][8];
	unsigned long sum = 0;
	double before = amount(what);

	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, contend, counts[i]);
	usleep(300000);
	is_over = 1;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < count; i++)
		sum += counts[i][0];
	printf("%.3f\n", (amount(what) - before) / (double)sum);
}

int main(int argc, char **argv)
{
	double least = 1e300;
	pthread_t thread;

	if (argc > 2 && strcmp(argv[1], "threads") == 0) {
		threads_on_one(atoi(argv[2]), argc > 3 ? argv[3] : "cpu");
		return 0;
	}
	pthread_spin_init(&spin, 0);
	sem_init(&sem, 0, 0);
	if (pipe(ends) != 0)
		return 1;
	if (argc > 2 && strcmp(argv[2], "alone") != 0)
		pthread_create(&thread, NULL, idle, NULL);
	for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, argv[1]) != 0)
			continue;
		for (int round = 0; round < ROUNDS; round++) {
			double start = now(), ns;

			kinds[i].run();
			ns = (now() - start) / kinds[i].pairs;
			least = ns < least ? ns : least;
		}
	}
	printf("%.3f\n", least);
	_exit(fflush(stdout));
}
