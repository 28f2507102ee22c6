/* SPDX-License-Identifier: MIT */
/*
 * sampler_open_test.c - ongoing waits are counted once, whatever records arrive or are
 * missing.
 */
/* The test runner has the same name. */
#define hp_place hp_code_place
#include "sampler/sample/open.h"
#undef hp_place

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/test.h"

#define TID 7
#define MS UINT64_C(1000000)

static struct hp_segment segment;
static struct hp_samples samples;

static void begin(void)
{
	struct hp_segment_wish wish = { .size = 16 << 20, .path = NULL };
	uint64_t offset;

	CHECK_EQ(hp_segment_create(&segment, &wish), 0);
	offset = hp_segment_take(&segment, sizeof(struct hp_sampling), HP_LINE);
	CHECK(hp_samples_init(&samples, &segment,
			      hp_segment_at(&segment, offset, sizeof(struct hp_sampling))));
	samples.period_ns = MS;
}

static void end(void)
{
	hp_samples_release(&samples);
	hp_segment_release(&segment);
}

static uint64_t who(uint32_t tid)
{
	return (uint64_t)tid << 32 | (uint32_t)getpid();
}

static void record(uint32_t type, uint16_t misc, const uint64_t body[4])
{
	uint64_t words[5] = { 0, body[0], body[1], body[2], body[3] };
	struct perf_event_header header = { type, misc, sizeof(words) };

	memcpy(words, &header, sizeof(header));
	hp_samples_handle(&samples, (const void *)words);
}

/* The last words: thread, time, the event. */
static void out(uint32_t tid, uint64_t ns)
{
	record(PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, (uint64_t[]){ 0, who(tid), ns, 1 });
}

static void in(uint32_t tid, uint64_t ns)
{
	record(PERF_RECORD_SWITCH, 0, (uint64_t[]){ 0, who(tid), ns, 1 });
}

/* Event, pc, thread, time. */
static void sampled(uint32_t tid, uint64_t ns)
{
	record(PERF_RECORD_SAMPLE, 0, (uint64_t[]){ 1, 0x1000, who(tid), ns });
}

/* Process and parent, thread and parent, when. */
static void ended(uint32_t tid, uint64_t ns)
{
	record(PERF_RECORD_EXIT, 0, (uint64_t[]){ (uint32_t)getpid(), tid, ns, 1 });
}

static void sums_are(uint64_t waits, uint64_t blocked_ns)
{
	const struct hp_stack_node *none = hp_sample_tree_node(&samples.tree, 0);

	CHECK_EQ(none->waits, waits);
	CHECK_EQ(none->blocked_ns, blocked_ns);
	CHECK_EQ(samples.record->blocked_ns, blocked_ns);
}

TEST(open, a_wait_grows_with_each_round_and_its_end_adds_the_rest)
{
	begin();
	out(TID, 1000 * MS);
	sums_are(0, 0);
	hp_open_round(&samples, 1400 * MS);
	sums_are(1, 400 * MS);
	hp_open_round(&samples, 1401 * MS);	/* too soon */
	sums_are(1, 400 * MS);
	hp_open_round(&samples, 31000 * MS);
	sums_are(1, 30000 * MS);
	in(TID, 31500 * MS);
	sums_are(1, 30500 * MS);
	hp_open_round(&samples, 40000 * MS);
	sums_are(1, 30500 * MS);
	out(TID, 41000 * MS);
	in(TID, 41001 * MS);
	sums_are(2, 30501 * MS);
	end();
}

TEST(open, an_early_end_subtracts_the_excess)
{
	begin();
	out(TID, 1000 * MS);
	hp_open_round(&samples, 2000 * MS);
	in(TID, 1999 * MS);
	sums_are(1, 999 * MS);
	end();
}

TEST(open, a_wait_whose_end_was_lost_is_taken_back)
{
	begin();
	out(TID, 1000 * MS);
	hp_open_round(&samples, 2000 * MS);
	out(TID, 2500 * MS);
	sums_are(0, 0);
	hp_open_round(&samples, 3000 * MS);
	sums_are(1, 500 * MS);
	sampled(TID, 2500 * MS + 1000);	/* an interrupt on the way out */
	sums_are(1, 500 * MS);
	sampled(TID, 3001 * MS);
	sums_are(0, 0);
	hp_open_round(&samples, 4000 * MS);
	sums_are(0, 0);
	out(TID, 5000 * MS);
	hp_open_round(&samples, 6000 * MS);
	sums_are(1, 1000 * MS);
	ended(TID, 6001 * MS);
	sums_are(0, 0);
	end();
}

TEST(open, ended_threads_do_not_wait)
{
	uint32_t pid = (uint32_t)getpid();

	begin();
	out(pid, 1000 * MS);
	out(INT32_MAX, 1000 * MS);	/* no thread has this number */
	hp_open_round(&samples, 2000 * MS);
	sums_are(2, 2000 * MS);
	samples.lost++;
	hp_open_round(&samples, 3000 * MS);
	sums_are(1, 2000 * MS);
	/* Another image: only the main thread may keep waiting. */
	out(TID, 3000 * MS);
	hp_open_round(&samples, 4000 * MS);
	sums_are(2, 4000 * MS);
	hp_open_exec(&samples, pid);
	sums_are(1, 3000 * MS);
	end();
}

TEST(open, the_last_switch_of_an_ended_thread_is_no_wait)
{
	uint32_t pid = (uint32_t)getpid();

	begin();
	ended(TID, 1000 * MS);
	out(TID, 1000 * MS + 1);
	hp_open_round(&samples, 2000 * MS);
	sums_are(0, 0);
	/* The kernel has already removed it, so it has no number. */
	ended(TID + 1, 2000 * MS);
	out(UINT32_MAX, 2000 * MS + 1);
	hp_open_finish(&samples, 3000 * MS);
	sums_are(0, 0);
	/* Another thread has its number. */
	in(TID, 3000 * MS);
	out(TID, 4000 * MS);
	hp_open_round(&samples, 5000 * MS);
	sums_are(1, 1000 * MS);
	in(TID, 5000 * MS);
	/* A thread that calls exec takes over the number of the first one. */
	ended(pid, 5000 * MS);
	hp_open_exec(&samples, pid);
	out(pid, 6000 * MS);
	hp_open_round(&samples, 8000 * MS);
	sums_are(2, 3000 * MS);
	end();
}

TEST(open, a_place_found_later_gets_all_of_it)
{
	struct hp_code_place place = { 0x1234, 0 };
	struct hp_wait_thread *thread;
	bool is_folded;

	begin();
	uint32_t number = hp_sample_tree_at(&samples.tree, &place, 1, &is_folded);
	const struct hp_stack_node *node = hp_sample_tree_node(&samples.tree, number);

	CHECK(number != 0);
	out(TID, 1000 * MS);
	hp_open_round(&samples, 2000 * MS);
	thread = hp_wait_thread_of(&samples.waits, TID);
	thread->wait_node = number;
	thread->look_ns = 2100 * MS;
	hp_open_round(&samples, 3000 * MS);
	CHECK_EQ(node->waits, 1);
	CHECK_EQ(node->blocked_ns, 2000 * MS);
	CHECK_EQ(hp_sample_tree_node(&samples.tree, 0)->waits, 0);
	CHECK_EQ(hp_sample_tree_node(&samples.tree, 0)->blocked_ns, 0);
	/* It returned before it was scanned. */
	in(TID, 2050 * MS);
	CHECK_EQ(node->waits, 0);
	CHECK_EQ(node->blocked_ns, 0);
	sums_are(1, 1050 * MS);
	end();
}

TEST(open, the_last_round_before_the_report_has_events_and_the_rest_has_its_own)
{
	begin();
	out((uint32_t)getpid(), 1000 * MS);
	hp_open_finish(&samples, 2000 * MS);
	sums_are(1, 1000 * MS);
	const struct hp_event *events = samples.events.newest->events;

	CHECK_EQ(samples.record->event_count, 1);
	CHECK_EQ(events[0].ns, 2000 * MS);
	CHECK_EQ(events[0].span_ns, 1000 * MS);
	in((uint32_t)getpid(), 2600 * MS);
	sums_are(1, 1600 * MS);
	CHECK_EQ(samples.record->event_count, 2);
	CHECK_EQ(events[1].ns, 2600 * MS);
	CHECK_EQ(events[1].span_ns, 600 * MS);
	end();
}

/* Process and parent, thread and parent, when; and after it thread, time, the event. */
static void forked(uint32_t tid, uint64_t ns, uint64_t event)
{
	uint64_t words[] = { 0,
			     (uint64_t)getpid() << 32 | (uint32_t)getpid(),
			     (uint64_t)TID << 32 | tid,
			     ns,
			     who(TID),
			     ns,
			     event };
	struct perf_event_header header = { PERF_RECORD_FORK, 0, sizeof(words) };

	memcpy(words, &header, sizeof(header));
	hp_samples_handle(&samples, (const void *)words);
}

TEST(open, threads_that_inherit_an_event_are_distinguished_from_older_ones)
{
	struct hp_tids born = { 0 };

	begin();
	forked(100, MS, 41);
	samples.born = &born;
	samples.born_from = 42;
	forked(101, 2 * MS, 41);
	for (uint32_t i = 0; i < 1000; i++)
		forked(1000 + i, 3 * MS + i, 42 + i);
	samples.born = NULL;
	forked(102, 4 * MS, 42);
	CHECK_EQ(born.count, 1000);
	for (uint32_t i = 0; i < 1000; i++)
		CHECK(hp_tids_has(&born, 1000 + i));
	CHECK(!hp_tids_has(&born, 100));
	CHECK(!hp_tids_has(&born, 101));
	CHECK(!hp_tids_has(&born, 102));
	CHECK(!hp_tids_has(&born, 0));
	CHECK(!hp_tids_add(&born, 1000));
	hp_tids_release(&born);
	CHECK(!hp_tids_has(&born, 1000));
	end();
}

/* Process and parent, thread and parent, when, the event. */
static void process_forked(uint32_t pid, uint32_t parent)
{
	uint64_t both = (uint64_t)parent << 32 | pid;

	record(PERF_RECORD_FORK, 0, (uint64_t[]){ both, both, MS, 1 });
}

/* A sample of each, and a wait. */
static void process_works(uint32_t pid)
{
	uint64_t thread = (uint64_t)pid << 32 | pid;

	record(PERF_RECORD_SAMPLE, 0, (uint64_t[]){ 1, 0x1000, thread, 2 * MS });
	record(PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT,
	       (uint64_t[]){ 0, thread, 3 * MS, 1 });
	record(PERF_RECORD_SWITCH, 0, (uint64_t[]){ 0, thread, 5 * MS, 1 });
}

TEST(open, our_server_and_its_children_are_not_in_the_session)
{
	uint32_t self = (uint32_t)getpid(), server = self + 1, report = self + 2, other = self + 3;

	begin();
	process_forked(server, self);
	process_forked(report, server);
	process_works(server);
	process_works(report);
	CHECK_EQ(samples.record->samples, 0);
	sums_are(0, 0);
	/* Its number is used again. */
	process_forked(report, other);
	process_works(report);
	CHECK_EQ(samples.record->samples, 1);
	sums_are(1, 2 * MS);
	end();
}

/* As a sample, with its period. */
static void stack_of(uint64_t id, uint64_t ns, uint64_t period)
{
	samples.sample_type = PERF_SAMPLE_PERIOD;
	uint64_t words[6] = { 0, id, 0x1000, who(TID), ns, period };
	struct perf_event_header header = { PERF_RECORD_SAMPLE, 0, sizeof(words) };

	memcpy(words, &header, sizeof(header));
	hp_samples_handle(&samples, (const void *)words);
}

/* A wait of one ms, of which a stack with this identifier is recorded. */
static void wait_with(uint64_t id, uint64_t ns, uint64_t period)
{
	stack_of(id, ns - 1000, period);
	out(TID, ns);
	in(TID, ns + MS);
}

TEST(open, a_stack_at_a_switch_is_none_of_the_cpu_whatever_its_identifier)
{
	bool is_of_waits = true;

	begin();
	samples.is_of_waits = &is_of_waits;
	hp_samples_note_wait_id(&samples, 8);
	wait_with(8, 1000 * MS, 1);
	/* The identifier is that of another program's event. */
	wait_with(5000, 2000 * MS, 1);
	CHECK_EQ(hp_sample_tree_node(&samples.tree, 0)->waits, 0);
	/* Without rings for waits, a clock's period shows it. */
	is_of_waits = false;
	samples.period_ns = 0;
	wait_with(5000, 3000 * MS, 1);
	wait_with(5000, 3500 * MS, 0);
	CHECK_EQ(samples.record->samples, 0);
	CHECK_EQ(hp_sample_tree_node(&samples.tree, 0)->waits, 0);
	CHECK_EQ(samples.record->blocked_ns, 4 * MS);
	CHECK_EQ(samples.wait_samples, 4);
	stack_of(9, 4000 * MS, MS);
	CHECK_EQ(samples.record->samples, 1);
	end();
}

TEST(open, while_events_are_replaced_a_stack_at_a_switch_may_have_any_identifier)
{
	begin();
	samples.period_ns = 0;
	hp_samples_note_wait_id(&samples, 8);
	hp_samples_note_wait_id(&samples, 12);
	samples.second_from = 10;
	wait_with(12, 1000 * MS, 1);
	stack_of(9, 2000 * MS, MS);
	/* A second sample of the same time. */
	stack_of(11, 2000 * MS, MS);
	CHECK_EQ(samples.record->samples, 1);
	CHECK_EQ(samples.wait_samples, 1);
	end();
}

/* A wait in that function, without a caller. */
static struct hp_wait_stack stack_at(void (*function)(void))
{
	static const uint64_t none[2];
	const struct hp_wait_stack stack = { .pid = (uint32_t)getpid(),
					     .pc = (uintptr_t)function,
					     .sp = 4096,
					     .copy = (const uint8_t *)none,
					     .size = sizeof(none) };

	return stack;
}

TEST(open, a_note_replaces_the_place_seen_from_outside)
{
	begin();
	samples.has_notes = true;
	const struct hp_wait_stack seen = stack_at(begin), told = stack_at(end);
	uint32_t from = hp_samples_wait_node(&samples, &seen, HP_ON_SLEEP);
	uint32_t to = hp_samples_wait_node(&samples, &told, HP_ON_SLEEP);

	CHECK(from != 0 && to != 0 && from != to);
	out(TID, 1000 * MS);
	/* As hp_outside_look does. */
	hp_wait_thread_of(&samples.waits, TID)->wait_node = from;
	hp_wait_thread_of(&samples.waits, TID)->look_ns = 1400 * MS;
	in(TID, 1500 * MS);
	CHECK_EQ(hp_sample_tree_node(&samples.tree, from)->blocked_ns, 500 * MS);
	hp_samples_place_waits(&samples, TID, 999 * MS, 1501 * MS, &told, HP_ON_SLEEP);
	CHECK_EQ(hp_sample_tree_node(&samples.tree, from)->waits, 0);
	CHECK_EQ(hp_sample_tree_node(&samples.tree, from)->blocked_ns, 0);
	CHECK_EQ(hp_sample_tree_node(&samples.tree, to)->waits, 1);
	CHECK_EQ(hp_sample_tree_node(&samples.tree, to)->blocked_ns, 500 * MS);
	CHECK_EQ(samples.record->blocked_ns, 500 * MS);
	end();
}
