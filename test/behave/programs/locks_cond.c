/* SPDX-License-Identifier: MIT */
/*
 * locks_cond.c - condition variables: handovers, timeouts, cancellation, both versions.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int items;
static int is_waiting;

static void check(const char *what, int got, int wanted)
{
	if (got != wanted)
		printf("%s: %d, not %d\n", what, got, wanted);
}

/* --- each wait ends by one signal --- */

static void *consume(void *arg)
{
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&mutex);
		is_waiting = 1;
		while (!items)
			pthread_cond_wait(&ready, &mutex);
		items--;
		is_waiting = 0;
		pthread_mutex_unlock(&mutex);
	}
	return arg;
}

static void run_signals(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, consume, NULL);
	for (int i = 0; i < 100;) {
		pthread_mutex_lock(&mutex);
		if (is_waiting && !items) {
			items++;
			i++;
			pthread_cond_signal(&ready);
		}
		pthread_mutex_unlock(&mutex);
		usleep(1000);
	}
	pthread_join(thread, NULL);
	puts("done");
}

/* --- timeouts --- */

static void run_timeouts(void)
{
	struct timespec past = { 1, 0 };
	cnd_t c11;
	mtx_t lock;

	cnd_init(&c11);
	mtx_init(&lock, mtx_plain);
	pthread_mutex_lock(&mutex);
	mtx_lock(&lock);
	for (int i = 0; i < 10; i++) {
		check("timed", pthread_cond_timedwait(&never, &mutex, &past), ETIMEDOUT);
		check("clock", pthread_cond_clockwait(&never, &mutex, CLOCK_MONOTONIC, &past),
		      ETIMEDOUT);
		check("c11", cnd_timedwait(&c11, &lock, &past), thrd_timedout);
	}
	mtx_unlock(&lock);
	pthread_mutex_unlock(&mutex);
	cnd_destroy(&c11);
	puts("done");
}

/* --- cancellation --- */

static void let_go(void *arg)
{
	check("owner", pthread_mutex_trylock(arg), EBUSY);
	pthread_mutex_unlock(arg);
	puts("cleaned up");
}

static void *wait_for_ever(void *arg)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(let_go, &mutex);
	is_waiting = 1;
	for (;;)
		pthread_cond_wait(&never, &mutex);
	pthread_cleanup_pop(1);
	return arg;
}

static void run_cancel(void)
{
	pthread_t thread;
	void *result;

	for (int i = 0; i < 20; i++) {
		is_waiting = 0;
		pthread_create(&thread, NULL, wait_for_ever, NULL);
		for (int there = 0; !there;) {
			pthread_mutex_lock(&mutex);
			there = is_waiting;
			pthread_mutex_unlock(&mutex);
		}
		pthread_cancel(thread);
		pthread_join(thread, &result);
		check("cancelled", result == PTHREAD_CANCELED, 1);
		check("free", pthread_mutex_lock(&mutex), 0);
		pthread_mutex_unlock(&mutex);
	}
}

/* --- calls of a program of 2002: the struct then held a pointer to the real one --- */

static void run_old(void)
{
	union {
		void *pointer;
		pthread_cond_t cond;
	} old;
	int (*init)(void *, const void *), (*wait)(void *, pthread_mutex_t *, const void *);
	int (*signal)(void *), (*destroy)(void *);
	struct timespec past = { 1, 0 };

	memset(&old, 0x55, sizeof(old));
	*(void **)&init = dlvsym(RTLD_DEFAULT, "pthread_cond_init", "GLIBC_2.2.5");
	*(void **)&wait = dlvsym(RTLD_DEFAULT, "pthread_cond_timedwait", "GLIBC_2.2.5");
	*(void **)&signal = dlvsym(RTLD_DEFAULT, "pthread_cond_signal", "GLIBC_2.2.5");
	*(void **)&destroy = dlvsym(RTLD_DEFAULT, "pthread_cond_destroy", "GLIBC_2.2.5");
	if (!init) {
		puts("no such version here");
		return;
	}
	check("init", init(&old, NULL), 0);
	pthread_mutex_lock(&mutex);
	check("old", wait(&old, &mutex, &past), ETIMEDOUT);
	check("signal", signal(&old), 0);
	pthread_mutex_unlock(&mutex);
	check("beyond", ((unsigned char *)&old)[sizeof(void *)], 0x55);
	check("destroy", destroy(&old), 0);
	puts("done");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "signals") == 0)
		run_signals();
	else if (strcmp(what, "timeouts") == 0)
		run_timeouts();
	else if (strcmp(what, "cancel") == 0)
		run_cancel();
	else if (strcmp(what, "old") == 0)
		run_old();
	return 0;
}
