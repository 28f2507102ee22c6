/* SPDX-License-Identifier: MIT */
/*
 * free_list_race_test.c - records that threads release and take: each has one owner at a time, and
 * none is lost.
 */
#include "preload/guest/free_list.h"

#include <pthread.h>

#include "segment/layout/process.h"
#include "test/test.h"

#define RECORDS 8
#define THREADS 4
#define TURNS 20000

struct user {
	struct hp_free_node ended;
	_Atomic uint32_t state;
	uint64_t turns;	/* of its holder, never two at once */
};

static struct hp_free_list list;
static struct user users[RECORDS];
static _Atomic uint32_t had_none;

static bool claim(struct user *user)
{
	uint32_t state = HP_FREE;

	return atomic_compare_exchange_strong_explicit(&user->state, &state, HP_TAKEN,
						       memory_order_acq_rel, memory_order_relaxed);
}

static void give(struct user *user)
{
	atomic_store_explicit(&user->state, HP_FREE, memory_order_release);
	hp_free_list_push(&list, &user->ended);
}

static struct user *take(void)
{
	struct hp_free_node *node;

	while ((node = hp_free_list_pop(&list)))
		if (claim(HP_FREE_LIST_OF(struct user, node)))
			return HP_FREE_LIST_OF(struct user, node);
	return NULL;
}

static void *work(void *argument)
{
	uint64_t number = (uint64_t)(uintptr_t)argument;

	for (uint64_t i = 0; i < TURNS; i++) {
		struct user *user = take();

		/* Without the stack, like a walk through the list. */
		if (i % 7 == number && claim(&users[i % RECORDS])) {
			users[i % RECORDS].turns++;
			give(&users[i % RECORDS]);
		}
		if (!user) {
			atomic_fetch_add(&had_none, 1);
			continue;
		}
		user->turns++;
		give(user);
	}
	return NULL;
}

TEST(free_list, each_has_one_owner_and_none_is_lost)
{
	pthread_t threads[THREADS];
	uint64_t turns = 0;
	int left = 0;

	for (int i = 0; i < RECORDS; i++)
		give(&users[i]);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < RECORDS; i++)
		turns += users[i].turns;
	CHECK(turns + had_none >= (uint64_t)THREADS * TURNS);
	while (take())
		left++;
	CHECK_EQ(left, RECORDS);
	CHECK_EQ(turns > TURNS, true);
}
