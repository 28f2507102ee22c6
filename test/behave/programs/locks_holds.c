/* SPDX-License-Identifier: MIT */
/*
 * locks_holds.c SHAPE - holds, few of them long, and the program's own
 * measurements of them: a line
 *
 *   NAME COUNT LEAST_NS MOST_NS LONGEST_NS
 *
 * The time held is between LEAST and MOST: each long hold is measured inside and outside the calls,
 * and the short ones took between nothing and their loop's time.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000u

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static int ends[2], back[2];

/* Of one thread; added up at the end. */
struct truth {
	unsigned long count, least, most, longest;
};

static unsigned long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (unsigned long)time.tv_sec * 1000000000 + (unsigned long)time.tv_nsec;
}

static void spin(unsigned long ns)
{
	unsigned long end = now() + ns;

	while (now() < end)
		;
}

static void take(void *lock)
{
	if (lock == &rwlock)
		pthread_rwlock_wrlock(lock);
	else
		pthread_mutex_lock(lock);
}

static void give(void *lock)
{
	if (lock == &rwlock)
		pthread_rwlock_unlock(lock);
	else
		pthread_mutex_unlock(lock);
}

/* Waits for a byte, and lets the other thread send one a ms later. */
static void ask(unsigned long ns)
{
	char byte = 0;

	(void)ns;
	if (write(back[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1)
		abort();
}

static void again(unsigned long ns)
{
	for (int i = 0; i < 4; i++) {
		pthread_mutex_lock(&recursive);
		spin(ns / 4);
		pthread_mutex_unlock(&recursive);
	}
}

static void hold(void *lock, struct truth *truth, void (*work)(unsigned long ns), unsigned long ns)
{
	unsigned long before, got, end, after;

	before = now();
	take(lock);
	got = now();
	/* Waiting time is not hold time. */
	if (got - before > 1000)
		before = got;
	work(ns);
	end = now();
	give(lock);
	after = now();
	truth->count++;
	truth->least += end - got;
	truth->most += after - before;
	if (end - got > truth->longest)
		truth->longest = end - got;
}

static void shorts(void *lock, struct truth *truth, int count)
{
	unsigned long since = now();

	for (int i = 0; i < count; i++) {
		take(lock);
		give(lock);
	}
	truth->count += (unsigned long)count;
	truth->most += now() - since;
}

static void tell(const char *name, const struct truth *truths, int count)
{
	struct truth all = { 0 };

	for (int i = 0; i < count; i++) {
		all.count += truths[i].count;
		all.least += truths[i].least;
		all.most += truths[i].most;
		if (truths[i].longest > all.longest)
			all.longest = truths[i].longest;
	}
	printf("%s %lu %lu %lu %lu\n", name, all.count, all.least, all.most, all.longest);
}

/* --- 300,000 short holds and 21 of 1 ms --- */

static void rare(void)
{
	static struct truth truth;

	for (int i = 0; i < 21; i++) {
		shorts(&mutex, &truth, 14285);
		hold(&mutex, &truth, spin, MS);
	}
	shorts(&mutex, &truth, 15);
	tell("mutex", &truth, 1);
}

/* --- holds of four clock readings --- */

static void alike(void)
{
	static struct truth truth;

	for (int i = 0; i < 200000; i++)
		hold(&mutex, &truth, spin, 0);
	tell("mutex", &truth, 1);
}

/* --- 30 holds of 3 ms, most of them contended --- */

static struct truth truths[4];

static void *waits(void *truth)
{
	for (int i = 0; i < 10; i++) {
		shorts(&mutex, truth, 4000);
		hold(&mutex, truth, spin, 3 * MS);
		spin(100000);
	}
	return NULL;
}

/* --- a writer among readers --- */

static volatile int is_over;

static void *reads(void *arg)
{
	while (!is_over) {
		pthread_rwlock_rdlock(&rwlock);
		pthread_rwlock_unlock(&rwlock);
		for (volatile int i = 0; i < 200; i++)
			;
	}
	return arg;
}

static void *writes(void *truth)
{
	for (int i = 0; i < 15; i++) {
		shorts(&rwlock, truth, 3000);
		hold(&rwlock, truth, spin, 2 * MS);
	}
	is_over = 1;
	return NULL;
}

/* --- locked again inside --- */

static void nested(void)
{
	static struct truth truth;

	for (int i = 0; i < 25; i++) {
		shorts(&recursive, &truth, 8000);
		hold(&recursive, &truth, again, 2 * MS);
	}
	tell("recursive", &truth, 1);
}

/* --- held while it reads --- */

static void *answers(void *arg)
{
	struct timespec time = { 0, MS };
	char byte;

	while (read(back[0], &byte, 1) == 1) {
		nanosleep(&time, NULL);
		if (write(ends[1], &byte, 1) != 1)
			abort();
	}
	return arg;
}

static void reading(void)
{
	static struct truth truth;
	pthread_t thread;

	if (pipe(ends) < 0 || pipe(back) < 0 || pthread_create(&thread, NULL, answers, NULL))
		abort();
	for (int i = 0; i < 40; i++) {
		shorts(&mutex, &truth, 5000);
		hold(&mutex, &truth, ask, 0);
	}
	tell("mutex", &truth, 1);
	close(back[1]);
	pthread_join(thread, NULL);
}

/* --- held until the process ends: the first hold of a lock, or after many short ones --- */

static void kept(int count)
{
	static struct truth truth;
	unsigned long since;

	shorts(&mutex, &truth, count);
	take(&mutex);
	since = now();
	spin(40 * MS);
	truth.count++;
	truth.longest = now() - since;
	truth.least += truth.longest;
	truth.most += truth.longest;
	tell("mutex", &truth, 1);
	fflush(stdout);
	kill(getpid(), SIGKILL);
}

static void together(void *(*first)(void *), void *(*others)(void *), int count, const char *name)
{
	pthread_t threads[4];

	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, i ? others : first, &truths[i]);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	tell(name, truths, count);
}

int main(int argc, char **argv)
{
	const char *shape = argc > 1 ? argv[1] : "";

	if (strcmp(shape, "rare") == 0)
		rare();
	else if (strcmp(shape, "alike") == 0)
		alike();
	else if (strcmp(shape, "waited") == 0)
		together(waits, waits, 3, "mutex");
	else if (strcmp(shape, "writer") == 0)
		together(writes, reads, 3, "rwlock");
	else if (strcmp(shape, "recursive") == 0)
		nested();
	else if (strcmp(shape, "reading") == 0)
		reading();
	else if (strcmp(shape, "kept") == 0)
		kept(argc > 2 ? atoi(argv[2]) : 0);
	else
		return 2;
	return 0;
}
