/* SPDX-License-Identifier: MIT */
/* locks_circle.c - three locks in a circle, two locks in both orders, and one outside any
 * circle. */
#include <pthread.h>

static pthread_mutex_t red = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t green = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t blue = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t black = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t white = PTHREAD_MUTEX_INITIALIZER;

struct pair {
	pthread_mutex_t *outer;
	pthread_mutex_t *inner;
};

static void *both(void *arg)
{
	const struct pair *pair = arg;

	pthread_mutex_lock(pair->outer);
	pthread_mutex_lock(pair->inner);
	pthread_mutex_unlock(pair->inner);
	pthread_mutex_unlock(pair->outer);
	return arg;
}

/* One after the other, each in its own thread: nothing ever waits. */
int main(void)
{
	struct pair pairs[] = { { &red, &green },   { &green, &blue },	{ &blue, &red },
				{ &black, &white }, { &white, &black }, { &red, &white },
				{ &green, &white } };
	pthread_t thread;

	for (unsigned i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		pthread_create(&thread, NULL, both, &pairs[i]);
		pthread_join(thread, NULL);
	}
	return 0;
}
