/* SPDX-License-Identifier: MIT */
/*
 * end.c - see end.h.
 *
 * The key's value is a small per-thread record with each recorder's argument.
 * Records of ended threads are reused.
 *
 * The key may be released while other threads use it. The program may get its
 * number next, and its destructor would be called with our record. So users are
 * counted, and the releasing thread waits for them; if that takes long, a
 * thread is stopped there, and the program gets no key.
 */
#include "preload/thread/end.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "preload/guest/guest.h"
#include "preload/guest/pages.h"
#include "preload/guest/real.h"
#include "preload/guest/free_list.h"
#include "segment/layout/header.h"
#include "util/assert.h"

#define PATIENCE 1000	/* turns */
#define KEYS_FREE 32u	/* glibc allocates memory for the values of higher ones */

struct watch {
	void *data[HP_ENDS_MAX];	/* of each recorder; NULL = none */
	struct hp_free_node ended;
};

static void (*ends[HP_ENDS_MAX])(void *);
static int count;
static pthread_key_t key;
static _Atomic uint32_t has_key;
static _Atomic uint32_t storing;	/* threads that may be using the key */
static struct hp_free_list ended_watches;

/* In rounds, see end.h: a recorder that wants another round watches again. */
static void thread_end(void *value)
{
	struct watch *watch = value;

	for (int i = 0; i < count; i++)
		if (watch->data[i])
			ends[i](watch->data[i]);
	hp_free_list_push(&ended_watches, &watch->ended);
}

/*
 * The last key that needs no memory, since the lowest unused number comes next: the program's keys
 * have the numbers that they have without us.
 */
static bool key_make(void)
{
	pthread_key_t lower[KEYS_FREE];
	uint32_t made = 0;

	while (made < KEYS_FREE && (!made || lower[made - 1] < KEYS_FREE - 1) &&
	       hp_real()->pthread_key_create(&lower[made], thread_end) == 0)
		made++;
	if (!made)
		return false;
	key = lower[made - 1];
	for (uint32_t i = 0; i + 1 < made; i++)
		pthread_key_delete(lower[i]);
	return true;
}

int hp_end_new(void (*end)(void *data))
{
	if (count == HP_ENDS_MAX)
		return -1;
	if (!atomic_load(&has_key)) {
		if (!key_make())
			return -1;
		atomic_store(&has_key, 1);
	}
	HP_ASSERT(count < HP_ENDS_MAX);
	ends[count] = end;
	return count++;
}

/* The calling thread's record; NULL = no memory. */
static struct watch *watch_of_thread(void)
{
	struct watch *watch = pthread_getspecific(key);

	if (watch)
		return watch;
	watch = hp_pages_record(&ended_watches, sizeof(*watch), offsetof(struct watch, ended));
	if (!watch)
		return NULL;
	memset(watch->data, 0, sizeof(watch->data));
	if (pthread_setspecific(key, watch) == 0)
		return watch;
	hp_free_list_push(&ended_watches, &watch->ended);
	return NULL;
}

bool hp_end_watch(int number, void *data)
{
	struct watch *watch = NULL;

	/* In this order; hp_end_give_up uses the opposite one. Both are sequentially consistent. */
	atomic_fetch_add(&storing, 1);
	if (number >= 0 && atomic_load(&has_key))
		watch = watch_of_thread();
	if (watch)
		watch->data[number] = data;
	atomic_fetch_sub(&storing, 1);
	return watch != NULL;
}

bool hp_end_give_up(void)
{
	if (!atomic_exchange(&has_key, 0))
		return false;
	for (int i = 0; i < PATIENCE && atomic_load(&storing); i++)
		sched_yield();
	return atomic_load(&storing) == 0 && pthread_key_delete(key) == 0;
}
