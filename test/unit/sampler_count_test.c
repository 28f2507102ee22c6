/* SPDX-License-Identifier: MIT */
/*
 * sampler_count_test.c - when a sample's time was spent waiting for memory.
 */
#include <string.h>

#include "sampler/perf/count.h"
#include "test/test.h"

static bool waits(uint64_t cycles, uint64_t instructions, uint64_t misses)
{
	struct hp_counts grown = { cycles, instructions, misses };

	return hp_counts_wait_for_memory(&grown);
}

TEST(sampler_count, few_instructions_and_many_misses_are_waiting)
{
	CHECK(waits(2400000, 600000, 6000));
	CHECK(waits(2400000, 2399999, 5001));
	CHECK(!waits(2400000, 2400000, 9000));	/* work overlaps the misses */
	CHECK(!waits(2400000, 600000, 4999));	/* slow, for another reason */
	CHECK(!waits(0, 0, 0));
	CHECK(waits(1, 0, 1));
	CHECK(waits(UINT64_MAX, 0, UINT64_MAX));
}

TEST(sampler_count, growth_is_of_one_thread_on_one_processor)
{
	static struct hp_count_slot slots[HP_COUNT_SLOTS];
	struct hp_counts a = { 100, 50, 5 }, b = { 300, 60, 9 }, grown;

	CHECK(!hp_counts_grow(slots, 7, 1, &a, &grown));	/* since when is not known */
	CHECK(!hp_counts_grow(slots, 7, 2, &b, &grown));
	CHECK(hp_counts_grow(slots, 7, 1, &b, &grown));
	CHECK_EQ(grown.cycles, 200);
	CHECK_EQ(grown.instructions, 10);
	CHECK_EQ(grown.misses, 4);
	CHECK(!hp_counts_grow(slots, 7, 1, &a, &grown));	/* less than before: another thread's */
	/* The same place in the table. */
	CHECK(!hp_counts_grow(slots, 7, 1 + HP_COUNT_SLOTS, &b, &grown));
	CHECK(!hp_counts_grow(slots, 7, 1, &b, &grown));
}
