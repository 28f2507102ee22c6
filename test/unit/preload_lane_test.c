/* SPDX-License-Identifier: MIT */
/*
 * preload_lane_test.c - two threads that close the last two ends of a lane at the
 * same moment; and two that want one that was left.
 *
 * The programs of test/behave meet such a moment once in a hundred thousand
 * times, since there are system calls around it.  So this is the file itself,
 * with what it needs from the rest of the library made here.
 */
#include <pthread.h>
#include <sched.h>

#include "preload/channel.c"
#include "test/test.h"
#include "test/unit/fake_segment.h"

#define ROUNDS 200000
#define DEEP 3 /* what is left in the queue each time */

/* --- what the rest of the library would be --- */

static struct hp_lockset lockset;
static struct hp_self self = { .pid = 1 };

_Atomic uint32_t hp_confined = 1; /* no system call is needed */
struct hp_segment hp_segment;
struct hp_self *hp_self = &self;
uint32_t hp_channel_fds_most;

uint32_t hp_confine_tid(void)
{
	return 1;
}

void *hp_pages_wiped(void)
{
	return NULL;
}

bool hp_start(void)
{
	return true;
}

bool hp_self_open(void)
{
	return true;
}

struct hp_lockset *hp_lock_set(void)
{
	return &lockset;
}

void hp_lock_place(uint64_t at, uint64_t *module, uint64_t *address)
{
	*module = 0;
	*address = at;
}

uint64_t hp_text_new(const char *bytes, size_t length)
{
	(void)bytes, (void)length;
	return 0;
}

void hp_list_push(_Atomic uint64_t *head, uint64_t offset, uint64_t *next)
{
	*next = atomic_load(head);
	while (!atomic_compare_exchange_weak(head, next, offset))
		;
}

static struct hp_lane *made(void)
{
	const struct hp_channel_wish wish = { .kind = HP_CHANNEL_PIPE, .caller = 42 };

	return hp_lane_new(&wish);
}

static void library_init(void)
{
	struct fake fake;

	fake_init(&fake, 1 << 20);
	hp_segment = (struct hp_segment){ .header = fake_header(&fake), .size = fake.size };
	hp_channel_base = fake.base;
	is_wanted = true;
}

/* --- both ends --- */

static struct hp_lane *lane_now;
static _Atomic int round_now, done;

static void meet(_Atomic int *where, int number)
{
	for (int turns = 0; atomic_load(where) < number; turns++)
		if (turns % 1000 == 999)
			sched_yield();
}

static void *receiver(void *arg)
{
	for (int i = 1; i <= ROUNDS; i++) {
		meet(&round_now, i);
		hp_lane_drop(lane_now, false);
		atomic_store(&done, i);
	}
	return arg;
}

/* What this thread makes next may be the same one, while the other thread is still at it. */
TEST(lane, is_freed_by_one_of_two_that_close_it_at_once)
{
	struct hp_lane *lane, *again;
	pthread_t thread;

	library_init();
	pthread_create(&thread, NULL, receiver, NULL);
	lane = made();
	for (int i = 1; i <= ROUNDS; i++, lane = again) {
		hp_lane_hold(lane, true);
		hp_lane_hold(lane, false);
		lane->sends.units += DEEP;
		lane_now = lane;
		atomic_store(&round_now, i);
		for (volatile int turns = i % 64; turns > 0; turns--)
			;
		hp_lane_drop(lane, true);
		again = made();
		CHECK(again != NULL);
		/* What was in it before is gone, once. */
		CHECK_EQ(hp_lane_depth(again), 0);
		again->sends.units += DEEP;
		meet(&done, i);
		CHECK_EQ(hp_lane_depth(again), DEEP);
		CHECK(again == lane || atomic_load(&lane->state) == HP_LANE_FREE);
		CHECK(atomic_load(&again->state) != HP_LANE_FREE);
		hp_lane_empty(again);
	}
	pthread_join(thread, NULL);
	lane = at(((const struct hp_channel *)at(again->channel))->lanes);
	/* Two are enough: one that is being closed, and one in use. */
	CHECK(lane->next == 0 || ((const struct hp_lane *)at(lane->next))->next == 0);
	CHECK_EQ(((const struct hp_channel *)at(again->channel))->closed, ROUNDS);
}

/* --- of those that nobody seems to have --- */

static struct hp_lane *gots[2];

static void *taker(void *arg)
{
	atomic_fetch_add(&round_now, 1);
	meet(&round_now, 2);
	*(struct hp_lane **)arg = made();
	return NULL;
}

TEST(lane, that_was_left_is_taken_by_one_of_two)
{
	pthread_t threads[2];
	int used_again = 0;

	library_init();
	for (int round = 0; round < 2000; round++) {
		for (int i = 0; i < HP_LANES_SHARED && round == 0; i++) {
			struct hp_lane *lane = made();

			atomic_store(&lane->shared, 1);
			hp_lane_ready(lane);
		}
		atomic_store(&round_now, 0);
		for (int i = 0; i < 2; i++)
			pthread_create(&threads[i], NULL, taker, &gots[i]);
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		CHECK(gots[0] && gots[1] && gots[0] != gots[1]);
		used_again += gots[0]->next == 0 || gots[1]->next == 0;
		for (int i = 0; i < 2; i++)
			hp_lane_ready(gots[i]);
	}
	CHECK(used_again > 0);
}
