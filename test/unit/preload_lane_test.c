/* SPDX-License-Identifier: MIT */
/*
 * preload_lane_test.c - two threads that close the last two ends of a lane at the
 * same moment; two that want an abandoned lane; and two processes that first use the same inherited
 * pipe.
 *
 * The programs of test/behave hit such a moment once in a hundred thousand
 * times, since there are system calls around it. So this tests the file
 * itself, with stubs for the rest of the library.
 */
#include <pthread.h>
#include <sched.h>

#include "preload/channel/channel.c"
#include "preload/guest/tid.h"
#include "test/ends.h"
#include "test/test.h"
#include "test/unit/fake_segment.h"

#define ROUNDS 200000
#define DEEP 3	/* the rest of the queue each time */

/* --- stubs for the rest of the library --- */

static struct hp_lockset lockset;
static __thread struct hp_lockset *own;	/* of a thread that must be its own process */
static void (*meanwhile)(void);	/* another process's work before the next lane is made; once */
static struct hp_self self = { .pid = 1 };

_Atomic uint32_t hp_confined = 1;	/* no system call is needed */
struct hp_segment hp_segment;
struct hp_self *hp_self = &self;
uint32_t hp_channel_fds_most;

uint32_t hp_tid(void)
{
	return 1;
}

void *hp_part_wiped(uint64_t size)
{
	(void)size;
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
	void (*what)(void) = meanwhile;

	if (what) {
		meanwhile = NULL;
		what();
	}
	return own ? own : &lockset;
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

static struct fake fake;

static void library_init(void)
{
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

/* This thread's next lane may be the same, while the other thread still uses it. */
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
		/* Its earlier contents are gone, once. */
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

/* --- lanes that nobody seems to have --- */

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

/* --- an inherited pipe --- */

static struct hp_lockset *sets[2];
static struct hp_lane *theirs;

static void session_init(void)
{
	struct hp_object *object;

	library_init();
	object = fake_object(&fake, "/nowhere/fake");
	for (int i = 0; i < 2; i++) {
		sets[i] = fake_take(&fake, sizeof(*sets[i]));
		fake_process(&fake, FAKE_PID + (uint32_t)i, object)->lockset =
			fake_at(&fake, sets[i]);
	}
	own = sets[0];
}

/* As the process with this set. */
static struct hp_lane *met(struct hp_lockset *set, uint64_t inode)
{
	const struct hp_channel_wish wish = { .kind = HP_CHANNEL_PIPE,
					      .is_found = true,
					      .device = 7,
					      .out_inode = inode,
					      .in_inode = inode };
	struct hp_lockset *before = own;
	struct hp_lane *lane;

	own = set;
	lane = hp_lane_meet(&wish);
	own = before;
	return lane;
}

static void other_meets(void)
{
	theirs = met(sets[1], 42);
}

/* The other process arrives after the search, before there is a lane. */
TEST(lane, of_a_pipe_that_two_processes_meet_at_once_is_one)
{
	const struct hp_channel *channel;
	struct hp_lane *lane;

	session_init();
	meanwhile = other_meets;
	lane = met(sets[0], 42);
	CHECK(lane != NULL && lane == theirs);
	CHECK_EQ(atomic_load(&lane->state), HP_LANE_TAKEN);
	/* A lane created needlessly is free, and does not count. */
	channel = at(sets[0]->channels);
	CHECK_EQ(channel->instances, 0);
	CHECK_EQ(((const struct hp_lane *)at(channel->lanes))->state, HP_LANE_FREE);
	CHECK_EQ(((const struct hp_channel *)at(lane->channel))->instances, 1);
	CHECK(met(sets[0], 42) == lane && met(sets[0], 43) != lane);
}

static void other_meets_another(void)
{
	theirs = met(sets[1], 41);
}

TEST(lane, a_pipe_found_meanwhile_gets_its_own)
{
	struct hp_lane *lane;

	session_init();
	meanwhile = other_meets_another;
	lane = met(sets[0], 42);
	CHECK(lane && theirs && lane != theirs);
	CHECK_EQ(lane->out_inode, 42);
	CHECK_EQ(((const struct hp_channel *)at(lane->channel))->instances, 1);
}

TEST(lane, that_a_killed_process_was_making_is_found)
{
	struct hp_lane *lane;

	session_init();
	lane = met(sets[0], 42);
	/* As it was in between. */
	atomic_store(&lane->state, HP_LANE_MADE);
	atomic_store(meeting(), UINT64_C(1) << 32 | hp_lane_id(lane));
	CHECK(met(sets[1], 42) == lane);
	CHECK_EQ(atomic_load(&lane->state), HP_LANE_TAKEN);
}

#define MEETINGS 20000

static struct hp_lane *mets[2];

static void *process(void *arg)
{
	int me = (int)(intptr_t)arg;

	for (int i = 1; i <= MEETINGS; i++) {
		meet(&round_now, i);
		mets[me] = met(sets[me], (uint64_t)i);
		atomic_fetch_add(&done, 1);
	}
	return NULL;
}

TEST(lane, of_a_pipe_is_one_whoever_is_first)
{
	pthread_t threads[2];

	session_init();
	atomic_store(&round_now, 0);
	atomic_store(&done, 0);
	for (intptr_t i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, process, (void *)i);
	for (int i = 1; i <= MEETINGS; i++) {
		atomic_store(&round_now, i);
		meet(&done, 2 * i);
		CHECK(mets[0] && mets[0] == mets[1]);
		atomic_store(&mets[0]->state, HP_LANE_FREE);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}
