/* SPDX-License-Identifier: MIT */
/*
 * segment_searched_test.c - records that each process searches lie side by side, also those of
 * threads that take them at once.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "segment/segment.h"
#include "test/test.h"

#define SIZE (UINT64_C(4) << 20)
#define RECORDS 1000	/* of a thread */

static struct hp_segment segment;

static void make(void)
{
	static const struct hp_segment_wish wish = { .size = SIZE,
						     .root_pid = 1,
						     .token = "0123456789abcdef" };

	hp_segment_release(&segment);
	CHECK_EQ(hp_segment_create(&segment, &wish), 0);
}

TEST(searched, records_lie_side_by_side_whatever_is_taken_between)
{
	uint64_t first, offset, last = 0;

	make();
	first = hp_segment_take_searched(&segment, 192);
	CHECK(first != 0);
	for (int i = 1; i < 20; i++, last = offset) {
		CHECK(hp_segment_take(&segment, 65536, HP_LINE) != 0);
		offset = hp_segment_take_searched(&segment, i % 2 ? 192 : 100);
		CHECK_EQ(offset % HP_LINE, 0);
		CHECK(offset > first && offset > last && offset < first + HP_PAGE);
	}
	/* A large one would leave no room for others. */
	offset = hp_segment_take_searched(&segment, 3000);
	CHECK(offset > first + HP_PAGE);
	CHECK_EQ(hp_segment_take_searched(&segment, 64), last + 192);
}

TEST(searched, a_full_segment_has_room_until_its_last_line)
{
	uint64_t used;

	make();
	while (hp_segment_take(&segment, 4096, HP_LINE))
		;
	while (hp_segment_take(&segment, HP_LINE, HP_LINE))
		;
	CHECK_EQ(hp_segment_take_searched(&segment, 192), 0);
	make();
	used = atomic_load(&segment.header->used);
	CHECK(hp_segment_take(&segment, SIZE - used - 192, HP_LINE) != 0);
	CHECK(hp_segment_take_searched(&segment, 192) != 0);
	CHECK_EQ(hp_segment_take_searched(&segment, 64), 0);
}

static void *taker(void *offsets)
{
	for (int i = 0; i < RECORDS; i++)
		((uint64_t *)offsets)[i] = hp_segment_take_searched(&segment, 192);
	return NULL;
}

static int order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

TEST(searched, no_two_threads_get_the_same)
{
	static uint64_t offsets[2 * RECORDS];
	pthread_t other;

	make();
	CHECK_EQ(pthread_create(&other, NULL, taker, offsets), 0);
	taker(offsets + RECORDS);
	pthread_join(other, NULL);
	qsort(offsets, 2 * RECORDS, sizeof(*offsets), order);
	CHECK(offsets[0] != 0);
	for (int i = 1; i < 2 * RECORDS; i++)
		CHECK(offsets[i] - offsets[i - 1] >= 192);
}
