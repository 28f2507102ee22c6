/* SPDX-License-Identifier: MIT */
/*
 * pool.c MODE - threads that wait on one condition, and prints their own figures as "NAME NUMBER"
 * lines.
 *
 * workers: 4 workers, 40 jobs in 10 rounds. A round begins once all of them wait, and after some
 * time of that.
 * killed: the same, then prints "up" while all wait, and waits until it is killed.
 * gate: 4 threads wait once for a start.
 * paths: 4 threads wait on one condition from three functions alternately.
 * turns: like workers, but in each round other threads, one after the other in 2 pairs.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 4
#define ROUNDS 10
#define JOBS 40
#define SPIN_NS 1000000
#define NAP_NS 5000000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
static int jobs, waiting, done, is_over;
static uint64_t waits, signals, busy_ns, around_ns, born_ns, life_least_ns, idle_least_ns;

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void spin(void)
{
	uint64_t end = now_ns() + SPIN_NS;

	while (now_ns() < end)
		;
}

/* One wait; its time as the program sees it, from outside. */
__attribute__((noinline)) static void wait_for_work(void)
{
	uint64_t begin = now_ns();

	waiting++;
	pthread_cond_signal(&idle);
	pthread_cond_wait(&work, &mutex);
	waits++;
	around_ns += now_ns() - begin;
}

static void *worker(void *unused)
{
	uint64_t begin = now_ns();

	pthread_mutex_lock(&mutex);
	while (!is_over) {
		uint64_t since;

		if (!jobs) {
			wait_for_work();
			continue;
		}
		jobs--;
		pthread_mutex_unlock(&mutex);
		since = now_ns();
		spin();
		since = now_ns() - since;
		pthread_mutex_lock(&mutex);
		busy_ns += since;
		done++;
	}
	life_least_ns += now_ns() - begin;
	pthread_mutex_unlock(&mutex);
	return unused;
}

/* With the mutex. */
static void until_all_wait(int count)
{
	while (waiting < count || jobs)
		pthread_cond_wait(&idle, &mutex);
}

static void nap(void)
{
	struct timespec time = { .tv_nsec = NAP_NS };

	nanosleep(&time, NULL);
}

/* All wait during the nap, and nobody can end that before the broadcast. */
static void round_run(int count, int more)
{
	uint64_t begin;

	pthread_mutex_lock(&mutex);
	until_all_wait(count);
	begin = now_ns();
	pthread_mutex_unlock(&mutex);
	nap();
	pthread_mutex_lock(&mutex);
	idle_least_ns += (uint64_t)count * (now_ns() - begin);
	jobs += more;
	is_over = !more;
	waiting = 0;	/* one that wakes late must not count for the next round */
	pthread_cond_broadcast(&work);
	signals++;
	pthread_mutex_unlock(&mutex);
}

static void run_workers(int is_killed)
{
	pthread_t threads[WORKERS];

	for (int i = 0; i < WORKERS; i++) {
		born_ns -= now_ns();
		pthread_create(&threads[i], NULL, worker, NULL);
	}
	for (int i = 0; i < ROUNDS; i++)
		round_run(WORKERS, JOBS / ROUNDS);
	if (is_killed) {
		pthread_mutex_lock(&mutex);
		until_all_wait(WORKERS);
		printf("waits %llu\nup\n", (unsigned long long)waits);
		fflush(stdout);
		for (;;)
			pause();
	}
	round_run(WORKERS, 0);
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(threads[i], NULL);
		born_ns += now_ns();
	}
}

static void run_turns(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t threads[2];

		is_over = 0;
		for (int j = 0; j < 2; j++)
			pthread_create(&threads[j], NULL, worker, NULL);
		round_run(2, 4);
		round_run(2, 0);
		for (int j = 0; j < 2; j++)
			pthread_join(threads[j], NULL);
	}
}

static void *gated(void *unused)
{
	pthread_mutex_lock(&mutex);
	waiting++;
	pthread_cond_signal(&idle);
	while (!is_over)
		pthread_cond_wait(&work, &mutex);
	pthread_mutex_unlock(&mutex);
	spin();
	return unused;
}

#define FROM(name) \
	__attribute__((noinline)) static void name(void) \
	{ \
		wait_for_work(); \
		__asm__ volatile(""); \
	}

FROM(first)
FROM(second)
FROM(third)

static void *wanderer(void *unused)
{
	pthread_mutex_lock(&mutex);
	for (int i = 0; !is_over; i++) {
		if (i % 3 == 0)
			first();
		else if (i % 3 == 1)
			second();
		else
			third();
	}
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void run(void *(*routine)(void *), int rounds)
{
	pthread_t threads[WORKERS];

	for (int i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, routine, NULL);
	for (int i = 0; i <= rounds; i++) {
		pthread_mutex_lock(&mutex);
		until_all_wait(WORKERS);
		is_over = i == rounds;
		waiting = 0;
		pthread_cond_broadcast(&work);
		pthread_mutex_unlock(&mutex);
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "workers";

	if (strcmp(mode, "workers") == 0 || strcmp(mode, "killed") == 0)
		run_workers(strcmp(mode, "killed") == 0);
	else if (strcmp(mode, "gate") == 0)
		run(gated, 0);
	else if (strcmp(mode, "paths") == 0)
		run(wanderer, 15);
	else if (strcmp(mode, "turns") == 0)
		run_turns();
	printf("waits %llu\nsignals %llu\nbusy_ns %llu\naround_ns %llu\nidle_least_ns %llu\n"
	       "life_ns %llu\nlife_least_ns %llu\ndone %d\n",
	       (unsigned long long)waits, (unsigned long long)signals, (unsigned long long)busy_ns,
	       (unsigned long long)around_ns, (unsigned long long)idle_least_ns,
	       (unsigned long long)born_ns, (unsigned long long)life_least_ns, done);
	return 0;
}
