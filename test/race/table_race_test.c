/* SPDX-License-Identifier: MIT */
/*
 * table_race_test.c - threads look up the lock at an address while others create and destroy
 * locks at the same addresses: a lasting lock has one record, whoever looked it up first, and
 * there are no more records than locks.
 *
 * preload/lock/table.c itself, with stubs for the rest of the library.
 */
#include "preload/lock/table.c"

#include <pthread.h>
#include <stdlib.h>

#include "test/test.h"

#define ASKERS 4
#define STEADY 64	/* locks that exist all the time */
#define CHANGING 16	/* and those that come and go */
#define ROUNDS 300
#define SITE 0x500000	/* where they are used first */

static struct hp_self self = { .pid = 1 };
static struct hp_process process;
static _Atomic uint64_t first_of[STEADY];
static _Atomic uint32_t differ, left = ASKERS;

_Atomic uint32_t hp_lock_generations[HP_LOCK_GENERATIONS];
struct hp_segment hp_segment;
struct hp_self *hp_self = &self;
bool hp_lock_is_wanted = true;

void *hp_pages(uint64_t size)
{
	return calloc(1, size);
}

void hp_pages_release(void *pages, uint64_t size)
{
	(void)size;
	free(pages);
}

void hp_lock_place(uint64_t at, uint64_t *module, uint64_t *address)
{
	*module = 0;
	*address = at;
}

uint64_t hp_text_new(const char *bytes, size_t length)
{
	struct hp_text *text;
	uint64_t offset = hp_segment_take(&hp_segment, sizeof(*text) + length + 1, HP_LINE);

	text = hp_segment_at(&hp_segment, offset, sizeof(*text) + length + 1);
	if (!text)
		return 0;
	text->length = (uint32_t)length;
	memcpy(text->bytes, bytes, length);
	return offset;
}

void hp_lock_file_name(int fd, char *name, size_t room)
{
	(void)fd, (void)room;
	*name = 0;
}

uintptr_t hp_lock_allocated_at(uintptr_t address, uintptr_t user, uintptr_t most,
			       struct hp_lock_block *block)
{
	(void)user, (void)most;
	*block = (struct hp_lock_block){ .inside = 0 };
	return SITE + (address >> 6);
}

void hp_list_push(_Atomic uint64_t *head, uint64_t offset, uint64_t *next)
{
	uint64_t first = atomic_load_explicit(head, memory_order_relaxed);

	do
		*next = first;
	while (!atomic_compare_exchange_weak_explicit(head, &first, offset, memory_order_release,
						      memory_order_relaxed));
}

static uint64_t asked(uintptr_t address)
{
	const struct hp_lock_call call = { .address = address,
					   .caller = SITE,
					   .kind = HP_LOCK_MUTEX };

	return hp_lock_record(&call);
}

static void *asker(void *unused)
{
	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned i = 0; i < STEADY; i++) {
			uint64_t none = 0, offset = asked(0x7000000 + i * 64);

			if (!offset ||
			    (!atomic_compare_exchange_strong(&first_of[i], &none, offset) &&
			     none != offset))
				atomic_store(&differ, 1);
			asked(0x9000000 + (round + i) % CHANGING * 64);
		}
	atomic_fetch_sub(&left, 1);
	return unused;
}

static void *maker(void *unused)
{
	for (unsigned i = 0; atomic_load(&left); i++) {
		const struct hp_lock_call call = { .address = 0x9000000 + i % CHANGING * 64,
						   .caller = SITE + 16,
						   .kind = HP_LOCK_MUTEX };

		hp_lock_made(&call);
		if (i % 3 == 0)
			hp_lock_label(call.address, i % 2 ? "one" : "other");
		hp_lock_gone(call.address);
	}
	return unused;
}

static uint64_t records(void)
{
	uint64_t count = 0, at = hp_lock_set()->locks;
	const struct hp_lock *lock;

	for (; (lock = hp_segment_at(&hp_segment, at, sizeof(*lock))); at = lock->next)
		count++;
	return count;
}

TEST(race, a_lock_has_one_record_whoever_asks_first)
{
	struct hp_segment_wish wish = { .size = 32 << 20, .path = NULL };
	pthread_t askers[ASKERS], one;

	CHECK_EQ(hp_segment_create(&hp_segment, &wish), 0);
	self.process = &process;
	CHECK_EQ(pthread_create(&one, NULL, maker, NULL), 0);
	for (int i = 0; i < ASKERS; i++)
		CHECK_EQ(pthread_create(&askers[i], NULL, asker, NULL), 0);
	for (int i = 0; i < ASKERS; i++)
		pthread_join(askers[i], NULL);
	pthread_join(one, NULL);
	CHECK_EQ(differ, 0);
	for (int i = 0; i < STEADY; i++)
		CHECK_EQ(first_of[i], asked(0x7000000 + (unsigned)i * 64));
	CHECK(records() >= STEADY);
	/* This many per site, at most one per thread, and one for all further ones. */
	CHECK(records() <= STEADY * ASKERS + (CHANGING + 2) * (HP_LOCKS_OF_SITE + 1) * ASKERS);
}
