/* SPDX-License-Identifier: MIT */
/*
 * credit.c - which messages are timed.
 *
 * Timing may take 1 % of the time, for all lanes of the segment and all its processes together.
 * A lane that sends less than its equal part of that has all messages timed. Busier lanes share
 * what others leave, and are sampled without it.
 */
#include "preload/channel/channel.h"
#include "preload/guest/self.h"
#include "util/random.h"

/*
 * A timed message costs some 80 ns if its lane's memory is in the caches, and up to 800 if many
 * lanes take turns.
 */
#define TIMED_COST 200	/* ticks */
#define COLD_LANES 8	/* this many lanes that take turns cost this many times as much */
#define TIMED_SHARE 100	/* one part in this many */
#define TIMED_AHEAD 1024	/* messages of a burst */
#define TIMED_LEAST 8	/* of each lane's burst */
#define TIMED_GAP 32	/* without credit: one in this many, at random */
#define SPAN_SHIFT 27	/* ticks in which lanes are counted: some 50 ms */

/* How many lanes have messages timed now, with this one, whose last one was timed at `last`. */
static uint32_t lanes_timed(struct hp_credit *shared, uint64_t last, uint64_t now)
{
	uint64_t word = atomic_load_explicit(&shared->lanes, memory_order_relaxed);
	uint32_t span = (uint32_t)(now >> SPAN_SHIFT), passed = span - (uint32_t)(word >> 32);
	uint32_t count = word >> 16 & UINT16_MAX, before = word & UINT16_MAX;
	bool is_new = last >> SPAN_SHIFT != now >> SPAN_SHIFT;

	if (passed) {
		before = passed == 1 ? count : 0;
		count = 0;
	}
	if (is_new && count < UINT16_MAX)
		count++;
	now = (uint64_t)span << 32 | (uint64_t)count << 16 | before;
	/* If another thread was faster, this lane is not counted: the count is a guide. */
	if (is_new || passed)
		atomic_compare_exchange_strong_explicit(&shared->lanes, &word, now,
							memory_order_relaxed, memory_order_relaxed);
	return count > before ? count : before ? before : 1;
}

/* Everybody's credit, as the moment until which it is used up: charges `cost`; is any left? */
static bool is_left(struct hp_credit *shared, uint64_t cost, uint64_t now)
{
	const uint64_t burst = (uint64_t)TIMED_AHEAD * TIMED_COST * TIMED_SHARE;
	uint64_t was = atomic_load_explicit(&shared->paid_until, memory_order_relaxed);
	uint64_t until = (int64_t)(now - was) > (int64_t)burst ? now - burst : was;
	bool has_some;

	until += cost * TIMED_SHARE;
	has_some = (int64_t)(until - now) < 0;
	if (!has_some)
		until = now;
	atomic_compare_exchange_strong_explicit(&shared->paid_until, &was, until,
						memory_order_relaxed, memory_order_relaxed);
	return has_some;
}

/*
 * The lane's own part, `passed` ticks after its last timed message: the same. Other senders may
 * change it meanwhile; then one charge is lost.
 */
static bool is_left_of_lane(struct hp_lane_side *side, int64_t cost, uint32_t lanes,
			    uint64_t passed)
{
	int64_t ahead = (int64_t)TIMED_AHEAD * TIMED_COST / lanes;
	int64_t credit = __atomic_load_n(&side->credit, __ATOMIC_RELAXED);

	if (ahead < TIMED_LEAST * cost)
		ahead = TIMED_LEAST * cost;
	if (credit < ahead)
		credit += (int64_t)(passed / TIMED_SHARE / lanes);
	credit = (credit > ahead ? ahead : credit) - cost;
	__atomic_store_n(&side->credit, credit < 0 ? 0 : credit, __ATOMIC_RELAXED);
	return credit > 0;
}

uint32_t hp_channel_gap(struct hp_lane_side *side, uint64_t *random, uint64_t now)
{
	struct hp_credit *shared = hp_segment_credit(&hp_segment);
	uint64_t last = __atomic_load_n(&side->last_ticks, __ATOMIC_RELAXED);
	uint32_t lanes = lanes_timed(shared, last, now);
	uint64_t cost = (uint64_t)TIMED_COST * (lanes < COLD_LANES ? lanes : COLD_LANES);
	bool has_credit = is_left_of_lane(side, (int64_t)cost, lanes, now > last ? now - last : 0);

	has_credit |= is_left(shared, cost, now);
	__atomic_store_n(&side->last_ticks, now, __ATOMIC_RELAXED);
	return has_credit || hp_channel_is_exact ? 0 : hp_random_gap(random, TIMED_GAP);
}
