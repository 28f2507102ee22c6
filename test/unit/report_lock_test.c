/* SPDX-License-Identifier: MIT */
/*
 * report_lock_test.c - reading locks of a segment: sums, percentiles, waiters and holders; and
 * no byte of it may crash or hang the report.
 */
#include "test/test.h"

#include <stdio.h>

#include "report/section/wait/lock_section.h"
#include "report/view/view.h"
#include "test/unit/fake_segment.h"
#include "report/section/sections.h"

#define SIZE 65536
#define BASE UINT64_C(0x7f0000000000)	/* of the segment in the process */

static struct hp_waiter *waiter_of(struct fake *fake, struct hp_lockset *set, uint32_t tid)
{
	struct hp_waiter *waiter = fake_take(fake, sizeof(*waiter));

	waiter->state = HP_TAKEN;
	waiter->tid = tid;
	waiter->pid = FAKE_PID;
	waiter->base = BASE;
	waiter->next = set->waiters;
	set->waiters = fake_at(fake, waiter);
	return waiter;
}

static struct hp_use *use_of(struct fake *fake, struct hp_waiter *waiter,
			     const struct hp_lock *lock)
{
	struct hp_use *use = fake_take(fake, sizeof(*use));

	use->lock = fake_at(fake, lock);
	use->next = waiter->uses;
	waiter->uses = fake_at(fake, use);
	return use;
}

static struct hp_lock *lock_of(struct fake *fake, struct hp_lockset *set,
			       const struct hp_module *module, uint64_t address)
{
	struct hp_lock *lock = fake_take(fake, sizeof(*lock));

	lock->kind = HP_LOCK_MUTEX;
	lock->number = HP_LOCK_STATIC;
	lock->module = fake_at(fake, module);
	lock->address = address;
	lock->next = set->locks;
	set->locks = fake_at(fake, lock);
	return lock;
}

static void hold(const struct fake *fake, struct hp_waiter *waiter, const struct hp_use *use,
		 uint64_t address)
{
	waiter->held[0] = (struct hp_held){ .address = address,
					    .use = BASE + fake_at(fake, use),
					    .at = 0x10 };
}

/* A newest chunk with one long hold, which stands for `every`. */
static void span_add(struct fake *fake, struct hp_waiter *waiter, const struct hp_use *use,
		     uint32_t every)
{
	struct hp_span_chunk *chunk = fake_take(fake, sizeof(*chunk));

	chunk->next = waiter->spans;
	chunk->number = waiter->spans ? 2 : 1;
	chunk->every = every;
	chunk->count = 1;
	chunk->spans[0] = (struct hp_span){ .start = FAKE_START + 10,
					    .end = FAKE_START + 20000,
					    .at = 0x10,
					    .use = (uint32_t)(fake_at(fake, use) / HP_LINE),
					    .tid = waiter->tid };
	waiter->spans = fake_at(fake, chunk);
}

/* Two threads, two locks: each holds one and waits for the other. */
static void build(struct fake *fake)
{
	fake_init(fake, SIZE);
	struct hp_object *object = fake_object(fake, "/nowhere/fake");
	struct hp_process *process = fake_process(fake, FAKE_PID, object);
	struct hp_module *module = fake_module(fake, process, object);
	struct hp_lockset *set = fake_take(fake, sizeof(*set));
	struct hp_lock *a = lock_of(fake, set, module, 0x100);
	struct hp_lock *b = lock_of(fake, set, module, 0x200);
	struct hp_waiter *one = waiter_of(fake, set, 1), *two = waiter_of(fake, set, 2);
	struct hp_use *one_a = use_of(fake, one, a), *two_b = use_of(fake, two, b);
	struct hp_use *two_a = use_of(fake, two, a);
	struct hp_contest *contest = fake_take(fake, sizeof(*contest));
	struct hp_order *order = fake_take(fake, sizeof(*order));

	process->lockset = fake_at(fake, set);
	one_a->count = 1000;
	one_a->timed = 200;
	one_a->timed_ticks = 20000;
	one_a->sampled = 50;
	one_a->sampled_ticks = 500;
	one_a->hold_most = 100;
	one_a->holds = fake_times(fake, 10, 800);
	two_a->count = 100;
	two_a->contended = 10;
	two_a->wait_ticks = 5000;
	two_a->wait_most = 500;
	two_a->waits = fake_times(fake, 500, 10);
	two_b->count = 1;
	contest->use = fake_at(fake, two_a);
	contest->holder = (uint32_t)(fake_at(fake, one) / HP_LINE);
	contest->count = 10;
	contest->ticks = 5000;
	contest->most = 500;
	two->contests = fake_at(fake, contest);
	order->held = fake_at(fake, two_b);
	order->taken = fake_at(fake, two_a);
	two->orders = fake_at(fake, order);
	span_add(fake, one, one_a, 4);
	span_add(fake, one, one_a, 1);
	hold(fake, one, one_a, 0xa0);
	hold(fake, two, two_b, 0xb0);
	one->lock = fake_at(fake, b);
	one->address = 0xb0;
	one->holder = 2;
	one->since = FAKE_START + 7;
	two->lock = fake_at(fake, a);
	two->address = 0xa0;
	two->holder = 1;
	two->since = FAKE_START + 9;
}

static char *table_of(const struct fake *fake, char *sections)
{
	char *const environment[] = { sections, NULL };
	struct hp_look look = { .width = 120 };
	struct hp_settings settings;
	struct hp_segment segment = HP_SEGMENT_NONE;
	struct hp_report report;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	char *copy = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(copy, fake->base, SIZE);
	segment.header = (struct hp_header *)copy;
	segment.size = SIZE;
	hp_settings_read(&settings, environment, NULL, NULL);
	hp_report_init(&report, &segment, &settings, NULL, NULL);
	hp_table_write(&report, &look, out);
	hp_json_write(&report, false, out);
	hp_report_release(&report);
	fclose(out);
	return text;
}

TEST(locks, sums_of_threads_and_of_samples)
{
	struct hp_model model;
	struct hp_locks locks;
	struct fake fake;
	struct hp_segment segment;

	build(&fake);
	segment = fake_segment(&fake);
	hp_model_init(&model, &segment);
	hp_locks_init(&locks, &model);
	CHECK_EQ(locks.count, 2);
	for (size_t i = 0; i < locks.count; i++) {
		const struct hp_lock_sum *sum = &locks.rows[i].sums[HP_SIDE_ONLY];

		if (locks.rows[i].at.address != 0x100)
			continue;
		CHECK_EQ(sum->count, 1100);
		CHECK_EQ(sum->contended, 10);
		/* 200 timed, and 800 like the 50 that were sampled, 10 ticks each. */
		CHECK_NEAR(sum->hold_ticks, 20000 + 800 * 10, 0.1);
		CHECK(sum->is_estimated);
		/* 10 of 1100 waited. */
		CHECK_NEAR(hp_lock_wait_percentile(sum, 99), 0, 0);
		CHECK_NEAR(hp_lock_wait_percentile(sum, 99.5), 500, 5);
		CHECK_NEAR(hp_lock_wait_percentile(sum, 100), 500, 0);
	}
	hp_locks_release(&locks);
	hp_model_release(&model);
}

static struct hp_waiter *waiter_with_spans(const struct fake *fake)
{
	const struct hp_header *header = (const struct hp_header *)fake->base;
	const struct hp_process *process =
		(const struct hp_process *)(fake->base + header->processes);
	const struct hp_lockset *set = (const struct hp_lockset *)(fake->base + process->lockset);
	struct hp_waiter *waiter = (struct hp_waiter *)(fake->base + set->waiters);

	while (!waiter->spans)
		waiter = (struct hp_waiter *)(fake->base + waiter->next);
	return waiter;
}

/* With this number and count in the newest chunk; the sum of `every` is in *holds. */
static size_t spans_read(uint32_t number, uint32_t in_use, uint64_t *holds)
{
	struct hp_span_chunk *chunk;
	struct hp_segment segment;
	struct hp_model model;
	struct hp_locks locks;
	struct fake fake;
	size_t count;

	build(&fake);
	chunk = (struct hp_span_chunk *)(fake.base + waiter_with_spans(&fake)->spans);
	chunk->number = number;
	chunk->count = in_use;
	segment = fake_segment(&fake);
	hp_model_init(&model, &segment);
	hp_locks_init(&locks, &model);
	count = locks.span_count;
	*holds = 0;
	for (size_t i = 0; i < count; i++) {
		CHECK_EQ(locks.rows[locks.spans[i].lock].at.address, 0x100);
		CHECK_EQ(locks.spans[i].tid, 1);
		CHECK_EQ(locks.spans[i].end - locks.spans[i].start, 19990);
		*holds += locks.spans[i].every;
	}
	hp_locks_release(&locks);
	hp_model_release(&model);
	return count;
}

/* Segments of earlier versions have other records at that place. */
TEST(locks, long_holds_are_read_if_all_their_chunks_look_like_chunks)
{
	uint64_t holds;

	CHECK_EQ(spans_read(2, 1, &holds), 2);
	CHECK_EQ(holds, 5);
	CHECK_EQ(spans_read(3, 1, &holds), 0);
	CHECK_EQ(spans_read(2, HP_SPANS + 1, &holds), 0);
}

/* A use without histograms, as a thread has for its first two waits and holds. */
static void check_few(uint64_t values, uint64_t sampled)
{
	struct fake fake;
	struct hp_model model;
	struct hp_locks locks;
	struct hp_segment segment;
	const struct hp_lock_sum *sum;

	fake_init(&fake, SIZE);
	struct hp_object *object = fake_object(&fake, "/nowhere/fake");
	struct hp_process *process = fake_process(&fake, FAKE_PID, object);
	struct hp_module *module = fake_module(&fake, process, object);
	struct hp_lockset *set = fake_take(&fake, sizeof(*set));
	struct hp_use *use =
		use_of(&fake, waiter_of(&fake, set, 1), lock_of(&fake, set, module, 0x100));

	process->lockset = fake_at(&fake, set);
	use->count = use->contended = use->timed = values;
	use->wait_ticks = values == 1 ? 500 : 510;
	use->wait_most = 500;
	use->timed_ticks = values == 1 ? 60 : 90;
	use->hold_most = 60;
	use->sampled = sampled;
	segment = fake_segment(&fake);
	hp_model_init(&model, &segment);
	hp_locks_init(&locks, &model);
	CHECK_EQ(locks.count, 1);
	sum = &locks.rows[0].sums[HP_SIDE_ONLY];
	CHECK_EQ(sum->waits.total, values <= 2 ? values : 0);
	CHECK_EQ(sum->holds.total, values <= 2 && !sampled ? values : 0);
	CHECK_NEAR(hp_lock_wait_percentile(sum, 40), values == 2 ? 10 : values == 1 ? 500 : 0, 4);
	CHECK_NEAR(hp_lock_hold_percentile(sum, 40),
		   values > 2 || sampled ? -1
		   : values == 2	 ? 30
					 : 60,
		   1);
	hp_locks_release(&locks);
	hp_model_release(&model);
}

TEST(locks, one_or_two_values_need_no_histogram)
{
	check_few(1, 0);
	check_few(2, 0);
	/* No room for it, or the longest may be a sampled one. */
	check_few(3, 0);
	check_few(2, 16);
}

TEST(locks, a_circle_of_waits_is_a_deadlock)
{
	char sections[] = "HOTPATH_REPORT=waiting,lock_order,waits,mutexes";
	struct fake fake;
	char *text;

	build(&fake);
	text = table_of(&fake, sections);
	CHECK(strstr(text, "note      deadlock: thread 2 waits for fake+0x100") ||
	      strstr(text, "note      deadlock: thread 1 waits for fake+0x200"));
	CHECK(strstr(text, "which thread 2 got at"));
	CHECK(strstr(text, "which thread 1 got at"));
	free(text);
}

TEST(locks, a_wait_on_a_side_that_no_lock_has_is_dropped)
{
	struct hp_waiter *waiter = NULL;
	struct hp_segment segment;
	struct hp_model model;
	struct hp_locks locks;
	struct fake fake;

	build(&fake);
	for (uint64_t at = 0; at + sizeof(*waiter) <= fake_header(&fake)->used; at += HP_LINE) {
		waiter = (struct hp_waiter *)(fake.base + at);
		if (waiter->since == FAKE_START + 9)
			break;
	}
	CHECK_EQ(waiter->since, FAKE_START + 9);
	waiter->side = HP_SIDES;
	segment = fake_segment(&fake);
	hp_model_init(&model, &segment);
	hp_locks_init(&locks, &model);
	CHECK_EQ(locks.wait_count, 1);
	hp_locks_release(&locks);
	hp_model_release(&model);
}

TEST(locks, no_byte_crashes_or_hangs_the_report)
{
	char sections[] = "HOTPATH_REPORT=waiting,lock_order,waits,mutexes,rw_locks,conds";
	uint64_t random = 1, first, end;
	struct fake fake;

	build(&fake);
	first = fake_at(&fake, fake.base + HP_PAGE);
	end = fake_header(&fake)->used;
	for (int i = 0; i < 6000; i++) {
		uint64_t at, value;

		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		at = first + (random >> 33) % (end - first);
		value = (uint64_t)(unsigned char)fake.base[at];
		fake.base[at] = (char)(random >> 20);
		free(table_of(&fake, sections));
		/* One in four stays. */
		if (i & 3)
			fake.base[at] = (char)value;
		if (i % 40 == 39)
			build(&fake);
	}
	CHECK(end > first);
}
