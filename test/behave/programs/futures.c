/* SPDX-License-Identifier: MIT */
/*
 * futures.c - futures by HOTPATH_FUTURE of include/hotpath.h.  Prints their counts: the same with the library and
 * without it.
 *
 *	futures few		some calls that stay in flight, results, a reused address
 *	futures threads N	N threads, 10,000 futures each: 1 of 4 is cancelled, polled by the next thread
 *	futures many N		N in flight at a time
 *	futures bench N WHAT	ns per poll, call, or thread that is created and joined
 */
#include <hotpath.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EACH 10000

struct job {
	int polls;
	char *kept;
};

static unsigned long polled, ready, cancelled;

static void poll_once(struct job *job, int size)
{
	HOTPATH_FUTURE_POLL(job);
	free(job->kept);
	job->kept = size ? malloc((size_t)size) : NULL;
	job->polls++;
	__atomic_fetch_add(&polled, 1, __ATOMIC_RELAXED);
}

static void job_end(struct job *job, int is_cancelled)
{
	char text[32];

	snprintf(text, sizeof(text), "%d polls", job->polls);
	free(job->kept);
	if (is_cancelled) {
		HOTPATH_FUTURE_CANCEL(job);
		__atomic_fetch_add(&cancelled, 1, __ATOMIC_RELAXED);
	} else {
		HOTPATH_FUTURE_READY(job, text);
		__atomic_fetch_add(&ready, 1, __ATOMIC_RELAXED);
	}
	job->polls = 0;
	job->kept = NULL;
}

static void job_run(struct job *job, int polls, int is_cancelled)
{
	HOTPATH_FUTURE(job, "job");
	for (int i = 0; i < polls; i++) {
		poll_once(job, 100);
		if (i + 1 < polls)
			HOTPATH_FUTURE_PENDING(job);
	}
	job_end(job, is_cancelled);
}

static void few(void)
{
	static struct job jobs[8];
	int other;

	for (int i = 0; i < 3; i++)
		job_run(&jobs[0], 3, 0);
	job_run(&jobs[0], 1, 1);
	HOTPATH_FUTURE(&jobs[1], "waits");
	HOTPATH_FUTURE(&jobs[2], "waits");
	poll_once(&jobs[2], 0);
	HOTPATH_FUTURE_PENDING(&jobs[2]);
	HOTPATH_FUTURE(&jobs[3], "waits");
	poll_once(&jobs[3], 0);
	HOTPATH_FUTURE(&jobs[4], "reused");
	HOTPATH_FUTURE(&jobs[4], "reused");
	HOTPATH_FUTURE_READY(&jobs[4], NULL);
	HOTPATH_FUTURE_READY(&jobs[4], "nobody");
	HOTPATH_FUTURE_POLL(&other);
	HOTPATH_FUTURE_CANCEL(&other);
	HOTPATH_FUTURE(&jobs[5], "");
	HOTPATH_FUTURE_READY(&jobs[5], "");
}

/* One thread begins them, the next one ends them. */
static struct job *_Atomic shelves[64];

static void *work(void *number)
{
	long n = (long)number;
	struct job *jobs = calloc(EACH, sizeof(*jobs)), *taken;

	for (int i = 0; i < EACH; i++) {
		struct job *job = &jobs[i];

		HOTPATH_FUTURE(job, "passed on");
		poll_once(job, 64);
		HOTPATH_FUTURE_PENDING(job);
		taken = __atomic_exchange_n(&shelves[(n + i) % 64], job, __ATOMIC_ACQ_REL);
		if (!taken)
			continue;
		poll_once(taken, 32);
		job_end(taken, (i & 3) == 0);
	}
	return jobs;
}

static void threads(long count)
{
	pthread_t ids[64];
	void *jobs[64];

	for (long i = 0; i < count; i++)
		pthread_create(&ids[i], NULL, work, (void *)i);
	for (long i = 0; i < count; i++)
		pthread_join(ids[i], &jobs[i]);
	for (int i = 0; i < 64; i++)
		if (shelves[i])
			job_end(shelves[i], 1);
	for (long i = 0; i < count; i++)
		free(jobs[i]);
}

static void many(long count)
{
	struct job *jobs = calloc((size_t)count, sizeof(*jobs));

	for (long i = 0; i < count; i++)
		HOTPATH_FUTURE(&jobs[i], "many");
	for (long i = 0; i < count; i++)
		job_end(&jobs[i], 0);
	free(jobs);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *nothing(void *unused)
{
	return unused;
}

static void bench_one(const char *what)
{
	static int object;
	pthread_t thread;

	if (strcmp(what, "call") == 0) {
		HOTPATH_FUTURE(&object, "call");
		HOTPATH_FUTURE_READY(&object, NULL);
	} else if (pthread_create(&thread, NULL, nothing, NULL) == 0) {
		pthread_join(thread, NULL);
	}
}

static void bench_polls(long count)
{
	static int object;

	for (long i = 0; i < count; i++) {
		HOTPATH_FUTURE_POLL(&object);
		HOTPATH_FUTURE_PENDING(&object);
	}
}

static void bench(const char *what, long count)
{
	static int object;
	bool is_poll = strcmp(what, "poll") == 0;
	double start;

	HOTPATH_FUTURE(&object, "bench");
	bench_polls(1000);
	start = now_ns();
	if (is_poll)
		bench_polls(count);
	for (long i = 0; !is_poll && i < count; i++)
		bench_one(what);
	printf("%.1f\n", (now_ns() - start) / (double)count);
	HOTPATH_FUTURE_READY(&object, NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "few";
	long count = argc > 2 ? atol(argv[2]) : 0;

	if (strcmp(what, "few") == 0)
		few();
	else if (strcmp(what, "threads") == 0)
		threads(count);
	else if (strcmp(what, "many") == 0)
		many(count);
	else if (strcmp(what, "bench") == 0 && argc > 3)
		bench(argv[3], count);
	if (strcmp(what, "bench") == 0)
		return 0;
	printf("%lu polls, %lu ready, %lu cancelled\n", polled, ready, cancelled);
	return 0;
}
