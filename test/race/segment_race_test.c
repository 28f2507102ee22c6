/* SPDX-License-Identifier: MIT */
/*
 * segment_race_test.c - room in the segment, allocated by many threads while another one
 * releases the rest, has a single owner; and a moment that is rewritten again and again is
 * read consistently.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "segment/clock.h"
#include "segment/segment.h"
#include "test/test.h"

#define TAKERS 4
#define TAKES 2000
#define MOMENTS 1000	/* different ones that are seen */

static struct hp_segment segment;
static _Atomic uint32_t left = TAKERS, refused, overlaps;

/* Each word of the taken room is the taker's, from the first check to the last. */
static void *taker(void *number)
{
	uint64_t mine = (uint64_t)(uintptr_t)number;

	for (uint64_t i = 0; i < TAKES; i++) {
		uint64_t size = HP_LINE * (1 + i % 5), offset, *words;

		offset = hp_segment_take(&segment, size, i % 7 ? HP_LINE : HP_PAGE);
		if (!offset) {
			atomic_fetch_add(&refused, 1);
			continue;
		}
		words = hp_segment_at(&segment, offset, size);
		if (!words)
			atomic_fetch_add(&overlaps, 1);
		for (uint64_t k = 0; words && k < size / sizeof(*words); k++) {
			if (words[k] != 0)
				atomic_fetch_add(&overlaps, 1);
			words[k] = mine << 32 | i;
		}
		for (uint64_t k = 0; words && k < size / sizeof(*words); k++)
			if (words[k] != (mine << 32 | i))
				atomic_fetch_add(&overlaps, 1);
	}
	atomic_fetch_sub(&left, 1);
	return NULL;
}

TEST(race, room_has_one_owner_while_the_segment_is_narrowed)
{
	struct hp_segment_wish wish = { .size = 64 << 20, .path = NULL };
	pthread_t takers[TAKERS];

	CHECK_EQ(hp_segment_create(&segment, &wish), 0);
	for (uintptr_t i = 0; i < TAKERS; i++)
		CHECK_EQ(pthread_create(&takers[i], NULL, taker, (void *)(i + 1)), 0);
	for (uint64_t most = 32 << 20; atomic_load(&left); most -= most / 8) {
		hp_segment_narrow(&segment, most, HP_HOLDER_UNSEEN);
		usleep(1000);
	}
	for (int i = 0; i < TAKERS; i++)
		pthread_join(takers[i], NULL);
	CHECK_EQ(overlaps, 0);
	CHECK_EQ(segment.header->refused, refused);
	hp_segment_release(&segment);
}

static void *noter(void *unused)
{
	while (atomic_load(&left))
		hp_clock_note(segment.header);
	return unused;
}

TEST(race, a_moment_is_read_whole)
{
	struct hp_segment_wish wish = { .size = 1 << 20, .path = NULL };
	struct hp_moment moment, last = { 0, 0 };
	uint64_t changes = 0, back = 0, apart = 0;
	pthread_t one;

	CHECK_EQ(hp_segment_create(&segment, &wish), 0);
	segment.header->clock_kind = HP_CLOCK_MONOTONIC_RAW;	/* so that both words must agree */
	hp_clock_note(segment.header);
	CHECK_EQ(pthread_create(&one, NULL, noter, NULL), 0);
	while (changes < MOMENTS) {
		if (!hp_clock_last(segment.header, &moment))
			continue;
		changes += moment.ns != last.ns;
		back += moment.ns < last.ns || moment.ticks < last.ticks;
		apart += moment.ns < moment.ticks ? moment.ticks - moment.ns > 1000000000
						  : moment.ns - moment.ticks > 1000000000;
		last = moment;
	}
	atomic_store(&left, 0);
	pthread_join(one, NULL);
	CHECK_EQ(back, 0);
	CHECK_EQ(apart, 0);
	hp_segment_release(&segment);
}
