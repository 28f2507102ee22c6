/* SPDX-License-Identifier: MIT */
/*
 * segment_narrow_test.c - a process that unmaps a part of its mapping never gets room there,
 * nor does anybody else.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "segment/segment.h"
#include "test/test.h"

#define SIZE (UINT64_C(64) << 20)

static struct hp_segment segment;
static atomic_bool stop;

static void make(void)
{
	static const struct hp_segment_wish wish = { .size = SIZE,
						     .root_pid = 1,
						     .token = "0123456789abcdef" };

	CHECK_EQ(hp_segment_create(&segment, &wish), 0);
	CHECK_EQ(segment.size, SIZE);
}

/* Writes the given text: an unmapped page would end the test. */
static void *taker(void *count)
{
	uint64_t taken = 0;

	while (!atomic_load(&stop)) {
		uint64_t offset = hp_segment_take(&segment, 192, HP_LINE);

		if (!offset)
			continue;
		*(volatile uint64_t *)((char *)segment.header + offset) = offset;
		taken++;
	}
	*(uint64_t *)count = taken;
	return NULL;
}

static bool is_mapped(const char *page)
{
	unsigned char in;

	return mincore((void *)(uintptr_t)page, HP_PAGE, &in) == 0 || errno != ENOMEM;
}

TEST(narrow, unused_chunks_are_unmapped_and_not_handed_out)
{
	make();
	CHECK(hp_segment_narrow(&segment, 1 << 20, HP_HOLDER_UNSEEN));
	CHECK_EQ(segment.size, 1 << 20);
	CHECK(is_mapped((char *)segment.header + (1 << 20) - HP_PAGE));
	CHECK(!is_mapped((char *)segment.header + (1 << 20)));
	CHECK_EQ(hp_segment_take(&segment, 2 << 20, HP_LINE), 0);
	CHECK_EQ(atomic_load(&segment.header->refused), 1);
	CHECK(hp_segment_take(&segment, 4096, HP_LINE) != 0);
	/* Nothing is left to unmap, and no more can be regained. */
	CHECK(!hp_segment_narrow(&segment, 2 << 20, HP_HOLDER_UNSEEN));
	CHECK_EQ(segment.size, 1 << 20);
	CHECK_EQ(hp_segment_take(&segment, 1 << 20, HP_LINE), 0);
}

TEST(narrow, another_process_gets_no_room_behind_it)
{
	struct hp_segment other = HP_SEGMENT_NONE;

	make();
	CHECK_EQ(hp_segment_attach(&other, dup(segment.fd)), 0);
	CHECK(hp_segment_narrow(&segment, 1 << 20, HP_HOLDER_UNSEEN));
	CHECK_EQ(other.size, SIZE);
	CHECK_EQ(hp_segment_take(&other, 2 << 20, HP_LINE), 0);
	for (;;) {
		uint64_t offset = hp_segment_take(&other, 1000, HP_LINE);

		if (!offset)
			break;
		CHECK(offset + 1000 <= segment.size);
	}
	hp_segment_release(&other);
}

TEST(narrow, what_is_given_out_already_stays)
{
	uint64_t offset;

	make();
	offset = hp_segment_take(&segment, 3 << 20, HP_LINE);
	CHECK(hp_segment_narrow(&segment, 1 << 20, HP_HOLDER_UNSEEN));
	CHECK(segment.size >= offset + (3 << 20));
	memset((char *)segment.header + offset, 1, 3 << 20);
	CHECK_EQ(hp_segment_take(&segment, 1 << 20, HP_LINE), 0);
}

static bool is_gone(uint32_t pid)
{
	return pid == 111 || pid == 333;
}

static bool nobody_is_gone(uint32_t pid)
{
	return pid == 0;
}

TEST(narrow, all_is_available_again_when_the_narrow_process_has_ended)
{
	struct hp_segment other = HP_SEGMENT_NONE;

	make();
	CHECK_EQ(hp_segment_attach(&other, dup(segment.fd)), 0);
	CHECK(!hp_segment_widen(&other, is_gone));
	CHECK(hp_segment_narrow(&segment, 1 << 20, 111));
	CHECK(hp_segment_is_narrow(&segment));
	CHECK(!hp_segment_is_narrow(&other));
	CHECK_EQ(hp_segment_take(&other, 2 << 20, HP_LINE), 0);
	CHECK(hp_segment_widen(&other, nobody_is_gone));
	CHECK_EQ(hp_segment_take(&other, 2 << 20, HP_LINE), 0);
	CHECK(!hp_segment_widen(&other, is_gone));
	/* Now its forked child arrives, and must not check: room beyond its memory is allocated. */
	CHECK(hp_segment_take(&other, 2 << 20, HP_LINE) != 0);
	CHECK(!hp_segment_stay_narrow(&segment, 333, 111));
	CHECK(hp_segment_take(&other, 4 << 20, HP_LINE) != 0);
	hp_segment_release(&other);
}

TEST(narrow, a_forked_child_holds_as_its_parent_did)
{
	struct hp_segment other = HP_SEGMENT_NONE;

	make();
	CHECK_EQ(hp_segment_attach(&other, dup(segment.fd)), 0);
	CHECK(hp_segment_narrow(&segment, 1 << 20, 111));
	CHECK(!hp_segment_widen(&other, is_gone));
	CHECK(hp_segment_stay_narrow(&segment, 222, 111));
	CHECK_EQ(hp_segment_take(&other, 2 << 20, HP_LINE), 0);
	CHECK(hp_segment_widen(&other, is_gone));
	CHECK_EQ(hp_segment_take(&other, 2 << 20, HP_LINE), 0);
	hp_segment_release(&other);
}

TEST(narrow, an_unknown_process_keeps_the_bound)
{
	make();
	CHECK(hp_segment_narrow(&segment, 2 << 20, 111));
	CHECK(hp_segment_stay_narrow(&segment, HP_HOLDER_UNSEEN, HP_HOLDER_UNSEEN));
	CHECK(!hp_segment_widen(&segment, is_gone));
	CHECK_EQ(hp_segment_take(&segment, 2 << 20, HP_LINE), 0);
}

TEST(narrow, more_holders_than_places)
{
	make();
	for (uint32_t i = 0; i < HP_ROOM_HOLDERS + 3; i++)	/* numbers above all existing ones */
		CHECK(hp_segment_narrow(&segment, (2 << 20) - i * HP_PAGE, 0x7f000000 + i));
	CHECK_EQ(atomic_load(&hp_segment_room(&segment)->for_ever), 0);
	CHECK(hp_segment_widen(&segment, nobody_is_gone));
}

TEST(narrow, threads_that_take_room_at_the_same_time)
{
	pthread_t threads[4];
	uint64_t taken[4], all = 0;

	for (int round = 0; round < 20; round++) {
		make();
		atomic_store(&stop, false);
		for (int i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, taker, &taken[i]);
		while (atomic_load(&segment.header->used) < (1 << 20))
			;
		for (uint64_t most = 32 << 20; most >= 1 << 20; most /= 2)
			hp_segment_narrow(&segment, most, HP_HOLDER_UNSEEN);
		atomic_store(&stop, true);
		for (int i = 0; i < 4; i++) {
			pthread_join(threads[i], NULL);
			all += taken[i];
		}
		hp_segment_release(&segment);
	}
	CHECK(all > 20 * 5000);
}
