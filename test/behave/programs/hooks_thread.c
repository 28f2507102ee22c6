/* SPDX-License-Identifier: MIT */
/*
 * hooks_thread.c - threads: ended in every way, many, short-lived, detached,
 * with destructors that run instrumented code.
 */
#include "hooks.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

static volatile long passes;

COUNTER(step);
SEEN static void step(void)
{
	CALLED(step);
	passes++;
}

static void *start(void *(*body)(void *), void *argument, size_t stack)
{
	pthread_attr_t attributes;
	pthread_t *thread = malloc(sizeof(*thread));

	pthread_attr_init(&attributes);
	if (stack)
		DIE_IF(pthread_attr_setstacksize(&attributes, stack));
	DIE_IF(pthread_create(thread, &attributes, body, argument));
	pthread_attr_destroy(&attributes);
	return thread;
}

static void finish(void *thread)
{
	pthread_join(*(pthread_t *)thread, NULL);
	free(thread);
}

COUNTER(body);
SEEN static void *body(void *count)
{
	CALLED(body);
	for (long i = 0; i < (long)count; i++)
		step();
	return NULL;
}

/* 200 at once, all running before the first ends. */
static pthread_barrier_t barrier;

COUNTER(crowd_body);
SEEN static void *crowd_body(void *count)
{
	CALLED(crowd_body);
	pthread_barrier_wait(&barrier);
	body(count);
	return NULL;
}

static void crowd(long count)
{
	void **threads = calloc((size_t)count, sizeof(*threads));

	pthread_barrier_init(&barrier, NULL, (unsigned)count);
	for (long i = 0; i < count; i++)
		threads[i] = start(crowd_body, (void *)100, 65536);
	for (long i = 0; i < count; i++)
		finish(threads[i]);
}

static void one_by_one(long count)
{
	for (long i = 0; i < count; i++)
		finish(start(body, (void *)10, 65536));
}

/* Not counted by itself: the counters would be the bottleneck. */
COUNTER(eight_body);
SEEN static void quick(void)
{
	__asm__ volatile("" ::: "memory");
}

SEEN static void *eight_body(void *count)
{
	CALLED(eight_body);
	for (long i = 0; i < (long)count; i++)
		quick();
	return NULL;
}

static void eight(long count)
{
	void *threads[8];

	for (int i = 0; i < 8; i++)
		threads[i] = start(eight_body, (void *)count, 0);
	for (int i = 0; i < 8; i++)
		finish(threads[i]);
	printf("calls quick %ld\n", 8 * count);
}

COUNTER(leaver);
SEEN static void leaver(long depth)
{
	CALLED(leaver);
	if (depth == 0)
		pthread_exit(NULL);
	leaver(depth - 1);
	passes++;
}

COUNTER(leaver_body);
SEEN static void *leaver_body(void *depth)
{
	CALLED(leaver_body);
	leaver((long)depth);
	return NULL;
}

static void exits(long count)
{
	for (long i = 0; i < count; i++)
		finish(start(leaver_body, (void *)(i % 9), 0));
}

COUNTER(waiter);
SEEN static void waiter(long depth)
{
	CALLED(waiter);
	if (depth)
		waiter(depth - 1);
	pthread_barrier_wait(&barrier);
	pause();
	passes++;
}

static void undo(void *unused)
{
	(void)unused;
	step();
}

COUNTER(waiter_body);
SEEN static void *waiter_body(void *depth)
{
	CALLED(waiter_body);
	pthread_cleanup_push(undo, NULL);
	waiter((long)depth);
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancels(long count)
{
	pthread_barrier_init(&barrier, NULL, 2);
	for (long i = 0; i < count; i++) {
		void *thread = start(waiter_body, (void *)(i % 9), 0);

		pthread_barrier_wait(&barrier);
		pthread_cancel(*(pthread_t *)thread);
		finish(thread);
	}
}

/* Asynchronously: anywhere, in our hooks too. */
static volatile long spun;

SEEN static void spun_step(void)
{
	spun++;
}

COUNTER(spinner_body);
SEEN static void *spinner_body(void *unused)
{
	CALLED(spinner_body);
	(void)unused;
	/* Must not be cancelled asynchronously itself. */
	pthread_barrier_wait(&barrier);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	for (;;)
		spun_step();
}

static void async_cancels(long count)
{
	pthread_barrier_init(&barrier, NULL, 2);
	for (long i = 0; i < count; i++) {
		void *thread = start(spinner_body, NULL, 0);

		pthread_barrier_wait(&barrier);
		usleep(200);
		pthread_cancel(*(pthread_t *)thread);
		finish(thread);
	}
	printf("about spun_step %ld %ld\n", spun, count);
}

/* Destructors of keys, in all rounds. */
static pthread_key_t keys[8];

COUNTER(key_ends);
SEEN static void key_ends(void *value)
{
	CALLED(key_ends);
	step();
	if ((long)value > 1)
		for (int i = 0; i < 8; i++)
			if (!pthread_getspecific(keys[i])) {
				pthread_setspecific(keys[i], (void *)((long)value - 1));
				return;
			}
}

COUNTER(key_body);
SEEN static void *key_body(void *unused)
{
	CALLED(key_body);
	(void)unused;
	for (int i = 0; i < 8; i++)
		pthread_setspecific(keys[i], (void *)3);
	return NULL;
}

/* Only destructors run instrumented code in these. */
UNSEEN static void *key_only_body(void *unused)
{
	(void)unused;
	for (int i = 0; i < 8; i++)
		pthread_setspecific(keys[i], (void *)2);
	return NULL;
}

static void key_destructors(long count)
{
	for (int i = 0; i < 8; i++)
		pthread_key_create(&keys[i], key_ends);
	for (long i = 0; i < count; i++) {
		finish(start(key_body, NULL, 0));
		finish(start(key_only_body, NULL, 0));
	}
}

COUNTER(detached_body);
SEEN static void *detached_body(void *unused)
{
	CALLED(detached_body);
	(void)unused;
	step();
	pthread_barrier_wait(&barrier);
	pause();
	return NULL;
}

/* They outlive main. */
static void detached(long count)
{
	pthread_barrier_init(&barrier, NULL, (unsigned)count + 1);
	for (long i = 0; i < count; i++)
		pthread_detach(*(pthread_t *)start(detached_body, NULL, 65536));
	pthread_barrier_wait(&barrier);
}

COUNTER(late_body);
SEEN static void *late_body(void *main_thread)
{
	CALLED(late_body);
	pthread_join(*(pthread_t *)main_thread, NULL);
	body((void *)100);
	counters_print();
	exit(0);
}

/* main ends by pthread_exit; the last thread ends the process. */
static void main_leaves(long count)
{
	static pthread_t self;

	(void)count;
	self = pthread_self();
	start(late_body, &self, 0);
	pthread_exit(NULL);
}

int main(int argc, char **argv)
{
	static const struct scene scenes[] = {
		{ "crowd", crowd },
		{ "one_by_one", one_by_one },
		{ "eight", eight },
		{ "exits", exits },
		{ "cancels", cancels },
		{ "async_cancels", async_cancels },
		{ "keys", key_destructors },
		{ "detached", detached },
		{ "main_leaves", main_leaves },
		{ NULL, NULL },
	};

	return scene_run(scenes, argc, argv);
}
