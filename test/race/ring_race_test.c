/* SPDX-License-Identifier: MIT */
/*
 * ring_race_test.c - threads write notes of their waits into rings, the sampler reads them
 * meanwhile, and rings change threads: each note that is read is complete, and is from
 * the thread that it names.
 *
 * The writer is preload/wait/offcpu_note.c itself, with stubs for the rest of the library; the
 * reader is sampler/sample/offcpu_note.c, whose notes are checked instead of being attributed.
 */
#include "preload/guest/ticks.c"
#include "preload/guest/tid.h"
#include "preload/wait/offcpu_note.c"

#include <pthread.h>

#define hp_place hp_code_place
#include "sampler/sample/offcpu_note.h"
#undef hp_place
#include "test/ends.h"
#include "test/test.h"

#define WRITERS 4
#define LIVES 25	/* of each, one after the other: threads that take over rings */
#define NOTES 120	/* of each life */
#define STACK_WORDS 24

static struct hp_self self = { .pid = 1 };
static struct hp_process process;
static struct hp_ticking *shared;
static _Atomic uint64_t written, read_count, wrong;
static _Atomic uint32_t next_tid = 100, left = WRITERS;
static __thread uint32_t own_tid;

/* --- stubs for the rest of the library --- */

struct hp_segment hp_segment;
struct hp_self *hp_self = &self;
_Atomic uint32_t hp_confined;

uint32_t hp_tid(void)
{
	return own_tid;
}

bool hp_self_open(void)
{
	return true;
}

bool hp_self_is_me(void)
{
	return true;
}

uintptr_t hp_readable_stack_end(uintptr_t sp)
{
	return sp + STACK_WORDS * sizeof(uint64_t);
}

bool hp_readable_few(uintptr_t address, uintptr_t size)
{
	(void)address;
	(void)size;
	return true;
}

void hp_list_push(_Atomic uint64_t *head, uint64_t offset, uint64_t *next)
{
	uint64_t first = atomic_load_explicit(head, memory_order_relaxed);

	do
		*next = first;
	while (!atomic_compare_exchange_weak_explicit(head, &first, offset, memory_order_release,
						      memory_order_relaxed));
}

/* --- the reader --- */

void hp_samples_place_waits(struct hp_samples *samples, uint32_t tid, uint64_t since_ns,
			    uint64_t until_ns, const struct hp_wait_stack *stack,
			    enum hp_wait_on on)
{
	const uint64_t *words = (const uint64_t *)stack->copy;
	bool is_whole = stack->size == STACK_WORDS * sizeof(uint64_t);

	(void)samples, (void)since_ns, (void)on;
	for (size_t i = 0; is_whole && i < STACK_WORDS; i++)
		is_whole = words[i] == stack->fp;
	/* The writer had this id, and the note is complete to its end. */
	if (!is_whole || tid != stack->fp >> 32 || until_ns != stack->fp)
		atomic_fetch_add(&wrong, 1);
	atomic_fetch_add(&read_count, 1);
}

static void *reader(void *samples)
{
	const struct hp_segments segments = { .at = { &hp_segment }, .count = 1 };
	struct hp_offcpu_notes notes = { .segments = &segments, .samples = samples };
	bool is_last;

	do {
		is_last = atomic_load(&left) == 0;
		notes.free_ns = 0;	/* and rings of ended threads are searched for each time */
		hp_offcpu_notes_read(&notes, UINT64_MAX);
	} while (!is_last);
	return NULL;
}

/* --- the writers --- */

static void *life(void *unused)
{
	uint64_t stack[STACK_WORDS];
	struct hp_offcpu_ring *me;

	own_tid = atomic_fetch_add(&next_tid, 1);
	/* Each one searches for a free ring, whenever others found none. */
	me = ring_of_thread(2 * WALK_NS * own_tid);
	for (uint64_t n = 0; me && n < NOTES; n++) {
		uint64_t sign = (uint64_t)own_tid << 32 | n;
		uint64_t lost = atomic_load(&me->lost);
		uint64_t words[HP_OFFCPU_HEAD] = { [HP_OFFCPU_SIZE] = (uint64_t)HP_ON_OTHER << 32,
						   [HP_OFFCPU_END] = sign,
						   [HP_OFFCPU_TICKS] = 1,
						   [HP_OFFCPU_PC] = 1,
						   [HP_OFFCPU_SP] = (uintptr_t)stack,
						   [HP_OFFCPU_FP] = sign };

		for (size_t i = 0; i < STACK_WORDS; i++)
			stack[i] = sign;
		note(me, words, (uintptr_t)stack);
		atomic_fetch_add(&written, atomic_load(&me->lost) == lost);
	}
	return unused;
}

static void *writer(void *unused)
{
	for (int i = 0; i < LIVES; i++) {
		pthread_t one;

		CHECK_EQ(pthread_create(&one, NULL, life, NULL), 0);
		pthread_join(one, NULL);
	}
	atomic_fetch_sub(&left, 1);
	return unused;
}

static uint32_t rings_count(uint32_t *free)
{
	uint32_t count = 0;

	*free = 0;
	for (uint64_t at = atomic_load(&shared->offcpu_rings); at; count++) {
		const struct hp_offcpu_ring *ring = hp_segment_at(&hp_segment, at, sizeof(*ring));

		*free += atomic_load(&ring->state) == HP_FREE;
		at = ring->next;
	}
	return count;
}

TEST(race, notes_of_waits_are_complete_and_from_their_writer)
{
	struct hp_segment_wish wish = { .size = 64 << 20, .path = NULL };
	pthread_t writers[WRITERS], looker;
	static char samples[sizeof(struct hp_samples)];

	CHECK_EQ(hp_segment_create(&hp_segment, &wish), 0);
	shared = ticking();
	process.start_ticks = 7;
	self.process = &process;
	self.pid = (uint32_t)getpid();
	shared->offcpu_least = 1;
	end_number = hp_end_new(thread_end);
	CHECK(end_number >= 0);
	CHECK_EQ(pthread_create(&looker, NULL, reader, samples), 0);
	for (int i = 0; i < WRITERS; i++)
		CHECK_EQ(pthread_create(&writers[i], NULL, writer, NULL), 0);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	pthread_join(looker, NULL);
	CHECK_EQ(wrong, 0);
	CHECK_EQ(read_count, written);
	CHECK(written > 0);
	/* All writers have ended. Later ones found the rings of earlier ones by their count. */
	uint32_t free, count = rings_count(&free);
	CHECK_EQ(free, count);
	CHECK_EQ(atomic_load(&hp_segment_vacant(&hp_segment)->offcpu_rings), free);
	CHECK(count < WRITERS * LIVES / 2);
}
