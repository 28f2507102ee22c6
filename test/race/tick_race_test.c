/* SPDX-License-Identifier: MIT */
/*
 * tick_race_test.c - threads put samples of their timers into rings, the sampler reads them
 * meanwhile, and rings and their owners change threads: each sample that is read is
 * complete and from the thread that it names, and samples without room are counted.
 *
 * The writer is preload/wait/cpu_timer.c itself, called as from its handler, with stubs for the
 * rest of the library; the reader is sampler/session/cpu_timer.c, whose samples are checked instead
 * of being added up.
 */
#include "util/hash.h"

#include "preload/guest/ticks.c"
#include "preload/guest/thread_list.c"
#include "preload/wait/cpu_timer.c"

#define hp_place hp_code_place
#include "sampler/session/cpu_timer.h"
#undef hp_place
#include "test/ends.h"
#include "test/test.h"

#include <stdlib.h>

#define WRITERS 4
#define LIVES 25	/* of each, one after the other: threads that take over rings */
#define SAMPLES 300	/* of each life */
#define DEEPEST 90

static struct hp_self self;
static struct hp_process process;
static struct hp_space space;
static _Atomic uint64_t written, read_count, wrong;
static _Atomic uint32_t next_tid = 100, left = WRITERS;

/* --- stubs for the rest of the library --- */

struct hp_segment hp_segment;
struct hp_self *hp_self = &self;
_Atomic uint32_t hp_confined;

bool hp_self_open(void)
{
	return true;
}

bool hp_self_is_me(void)
{
	return true;
}

void *hp_pages(size_t size)
{
	return calloc(1, size);
}

void *hp_part_wiped(uint64_t size)
{
	return calloc(1, size);
}

void hp_pages_release(void *pages, size_t size)
{
	(void)size;
	free(pages);
}

uintptr_t hp_readable_stack_end(uintptr_t sp)
{
	return sp;
}

void hp_readable_home(struct hp_walker *walker, uintptr_t sp)
{
	(void)walker, (void)sp;
}

bool hp_readable_few(uintptr_t address, uintptr_t size)
{
	(void)address, (void)size;
	return false;
}

/* Nobody drops privileges here. */
uint32_t hp_drops;

void hp_drop_check(void)
{
}

/* Nobody creates threads with it here. */
struct hp_real hp_real_table;
_Atomic int hp_real_is_filled = 1;

const struct hp_real *hp_real_fill(void)
{
	return &hp_real_table;
}

void hp_say(const char *text, ...)
{
	(void)text;
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

bool hp_samples_init(struct hp_samples *samples, const struct hp_segment *segment,
		     struct hp_sampling *record)
{
	(void)samples, (void)segment, (void)record;
	return true;
}

struct hp_space *hp_space_known(const struct hp_spaces *spaces, uint32_t pid)
{
	(void)spaces, (void)pid;
	return &space;
}

const struct hp_map_entry *hp_space_find(struct hp_spaces *spaces, struct hp_space *of,
					 uint64_t address)
{
	(void)spaces, (void)of, (void)address;
	return NULL;
}

void hp_space_fork(struct hp_spaces *spaces, uint32_t pid, uint32_t parent)
{
	(void)spaces, (void)pid, (void)parent;
}

void hp_space_exec(struct hp_spaces *spaces, uint32_t pid)
{
	(void)spaces, (void)pid;
}

struct hp_space *hp_space_of(struct hp_spaces *spaces, uint32_t pid)
{
	(void)spaces, (void)pid;
	return &space;
}

void hp_samples_add_tick(struct hp_samples *samples, struct hp_space *of,
			 const struct hp_tick *tick)
{
	uint64_t sign = tick->cpu_ns;
	bool is_whole = tick->count == 1 + sign % DEEPEST;

	(void)samples, (void)of;
	for (uint32_t i = 0; is_whole && i < tick->count; i++)
		is_whole = tick->frames[i] == sign + i;
	/* The sampled thread had this id. */
	if (!is_whole || tick->tid != sign >> 32 || tick->pid != self.pid)
		atomic_fetch_add(&wrong, 1);
	atomic_fetch_add(&read_count, 1);
}

static void *reader(void *ticks)
{
	bool is_last;

	do {
		is_last = atomic_load(&left) == 0;
		((struct hp_ticks *)ticks)->free_ns =
			0;	/* and rings of ended threads are searched for */
		hp_ticks_read(ticks);
	} while (!is_last);
	return NULL;
}

/* --- the writers --- */

static void sample(struct hp_timer_local *me, uint64_t sign)
{
	me->walker.count = (uint32_t)(1 + sign % DEEPEST);
	for (uint32_t i = 0; i < me->walker.count; i++)
		me->walker.trail[me->walker.count - 1 - i].pc = sign + i;
	sample_put(me, sign);
	atomic_fetch_add(&written, 1);
}

/* Like begin() and end(), without the kernel's timer. */
static void *life(void *unused)
{
	struct hp_timer_local *me = local_take();
	uint32_t tid = atomic_fetch_add(&next_tid, 1);

	if (!me)
		return unused;
	me->pid = self.pid;
	me->ticker = ticker_take(tid);
	for (uint64_t n = 0; me->ticker && n < SAMPLES; n++)
		sample(me, (uint64_t)tid << 32 | n);
	if (me->ticker)
		ticker_give(me->ticker);
	me->ticker = NULL;
	local_give(me);
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

TEST(race, samples_of_timers_are_complete_and_from_their_thread)
{
	struct hp_segment_wish wish = { .size = 64 << 20, .path = NULL };
	static struct hp_members members;
	static struct hp_sampling record;
	static struct hp_perf perf;
	static struct hp_ticks ticks;
	pthread_t writers[WRITERS], looker;

	CHECK_EQ(hp_segment_create(&hp_segment, &wish), 0);
	self.process = &process;
	self.pid = (uint32_t)getpid();
	locals_know();
	members.segments = (struct hp_segments){ .at = { &hp_segment }, .count = 1 };
	perf = (struct hp_perf){ .segment = &hp_segment, .members = &members, .record = &record };
	hp_ticks_init(&ticks, &perf);
	ticks.is_on = true;
	CHECK_EQ(pthread_create(&looker, NULL, reader, &ticks), 0);
	for (int i = 0; i < WRITERS; i++)
		CHECK_EQ(pthread_create(&writers[i], NULL, writer, NULL), 0);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	pthread_join(looker, NULL);
	CHECK_EQ(wrong, 0);
	CHECK_EQ(read_count + record.lost, written);
	CHECK_EQ(written, WRITERS * LIVES * SAMPLES);
	CHECK(read_count > 0);
}
