/* SPDX-License-Identifier: MIT */
/*
 * sampler_burst_test.c - waits that are recorded in bursts add up to the true ones, within the
 * error given by the bursts themselves; long ones count once.
 */
/* The test runner has the same name. */
#define hp_place hp_code_place
#include "sampler/sample/sample.h"
#include "report/read/sampling.h"
#undef hp_place

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "test/test.h"
#include "util/random.h"

#define TID 7
#define NOBODY INT32_MAX	/* no thread has this number */
#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define START (1000 * MS)
#define PARTS 32u

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
	CHECK(hp_burst_on(&samples, START));
}

static void end(void)
{
	hp_samples_release(&samples);
	hp_segment_release(&segment);
}

static void switched(uint32_t tid, uint16_t misc, uint64_t ns)
{
	uint64_t words[5] = { 0, 0, (uint64_t)tid << 32 | (uint32_t)getpid(), ns, 1 };
	struct perf_event_header header = { PERF_RECORD_SWITCH, misc, sizeof(words) };

	memcpy(words, &header, sizeof(header));
	hp_samples_handle(&samples, (const void *)words);
}

static void out(uint32_t tid, uint64_t ns)
{
	switched(tid, PERF_RECORD_MISC_SWITCH_OUT, ns);
}

static void in(uint32_t tid, uint64_t ns)
{
	switched(tid, 0, ns);
}

static void note(uint32_t tid, uint64_t end_ns, uint64_t took_ns, uint64_t switches)
{
	hp_burst_note(&samples, &(struct hp_burst_note){ .begin_ns = end_ns - took_ns,
							 .end_ns = end_ns,
							 .took_ns = took_ns,
							 .off_ns = UINT64_MAX,
							 .switches = switches,
							 .pid = (uint32_t)getpid(),
							 .tid = tid });
}

static const struct hp_stack_node *none(void)
{
	return hp_sample_tree_node(&samples.tree, 0);
}

/* The bursts of a thread that alternately waits and runs, for a number of slots; and the truth. */
static uint64_t live(uint64_t *random, uint32_t slots, uint64_t *waits)
{
	const uint64_t burst_ns = HP_BURST_SLOT_NS / PARTS + HP_BURST_LONG_NS;
	uint64_t now_ns = START, blocked_ns = 0, from_ns, until_ns;

	*waits = 0;
	for (uint32_t i = 0; i < slots; i++) {
		uint64_t slot_ns = START + i * HP_BURST_SLOT_NS;

		from_ns = slot_ns + (hp_random_next(random) >> 40) % (HP_BURST_SLOT_NS - burst_ns);
		until_ns = from_ns + burst_ns;
		bool is_begun = false, is_over = false;
		while (now_ns < slot_ns + HP_BURST_SLOT_NS) {
			/* Mostly a few us, with another length in each slot. */
			uint64_t wait_ns = hp_random_gap(random, (uint32_t)((10 + i % 7) * US));
			uint64_t out_ns = now_ns + hp_random_gap(random, 5 * US);

			now_ns = out_ns + wait_ns;
			blocked_ns += wait_ns;
			++*waits;
			if (!is_begun && out_ns >= from_ns) {
				hp_burst_begin(&samples, from_ns, PARTS, 1);
				is_begun = true;
			}
			if (is_begun && !is_over && out_ns >= until_ns) {
				CHECK(hp_burst_end(&samples));
				is_over = true;
			}
			if (is_begun && !is_over) {
				out(TID, out_ns);
				if (now_ns < until_ns)
					in(TID, now_ns);
			}
		}
		if (is_begun && !is_over)
			CHECK(hp_burst_end(&samples));
	}
	hp_burst_settle(&samples);
	return blocked_ns;
}

TEST(burst, short_waits_add_up_within_the_interval)
{
	uint64_t random = 42;
	int held = 0;

	for (int i = 0; i < 60; i++) {
		uint64_t waits;

		begin();
		uint64_t truth_ns = live(&random, 30, &waits);
		const struct hp_bursts *bursts = samples.burst.record;
		const struct hp_guess *guess = &samples.burst.newest->guesses[0];
		double error_ns =
			hp_sampling_burst_error(bursts, bursts->blocked_ns, bursts->squares);
		double off_ns = fabs((double)none()->blocked_ns - (double)truth_ns);

		CHECK_EQ(bursts->count, 30);
		CHECK_EQ(bursts->covered_ns, 30 * HP_BURST_SLOT_NS);
		CHECK_EQ(bursts->blocked_ns, none()->blocked_ns);
		CHECK_EQ(samples.record->blocked_ns, none()->blocked_ns);
		CHECK_EQ(none()->waits, bursts->waits * PARTS);
		CHECK_EQ(guess->waits, none()->waits);
		CHECK_EQ(bursts->outs / PARTS, bursts->waits);
		CHECK_EQ(guess->blocked_ns, bursts->blocked_ns);
		CHECK_EQ(guess->squares, bursts->squares);
		CHECK(error_ns < 0.2 * (double)truth_ns);
		CHECK(fabs((double)none()->waits - (double)waits) < 0.2 * (double)waits);
		held += off_ns <= error_ns;
		end();
	}
	/* 57 are expected; fewer than 50 occur once in 300 times if 95 % is true. */
	CHECK(held >= 50);
}

TEST(burst, a_long_call_counts_once_whatever_bursts_saw_of_it)
{
	begin();
	hp_burst_begin(&samples, START + 10 * MS, PARTS, 1);
	out(TID, START + 11 * MS);
	in(TID, START + 13 * MS);
	out(NOBODY, START + 12 * MS);
	CHECK(hp_burst_end(&samples));
	note(TID, START + 13 * MS, 2 * MS + 1, 1);
	note(NOBODY, START + 22 * MS, 10 * MS + 1, 1);
	hp_burst_settle(&samples);
	CHECK_EQ(none()->waits, 2);
	CHECK_EQ(none()->blocked_ns, 12 * MS + 2);
	CHECK_EQ(samples.burst.record->waits, 0);
	/* Nothing was recorded between bursts: only the note shows it. */
	note(TID, START + 50 * MS, 5 * MS, 1);
	CHECK_EQ(none()->waits, 3);
	CHECK_EQ(none()->blocked_ns, 17 * MS + 2);
	end();
}

TEST(burst, a_call_that_only_lost_its_cpu_is_not_a_wait)
{
	begin();
	note(TID, START + 50 * MS, 5 * MS, 0);
	CHECK_EQ(none()->waits, 0);
	CHECK_EQ(samples.record->blocked_ns, 0);
	end();
}

TEST(burst, a_call_from_before_counts_from_the_first_burst_on)
{
	begin();
	note(TID, START + 50 * MS, 80 * MS, 1);
	CHECK_EQ(none()->blocked_ns, 50 * MS);
	end();
}

TEST(burst, the_next_burst_stands_for_one_that_lost_records)
{
	begin();
	hp_burst_begin(&samples, START + 10 * MS, PARTS, 1);
	out(TID, START + 11 * MS);
	in(TID, START + 11 * MS + US);
	samples.lost++;
	CHECK(!hp_burst_end(&samples));
	hp_burst_begin(&samples, START + 110 * MS, PARTS, 1);
	CHECK_EQ(none()->waits, 0);
	out(TID, START + 111 * MS);
	in(TID, START + 111 * MS + US);
	CHECK(hp_burst_end(&samples));
	hp_burst_settle(&samples);
	CHECK_EQ(none()->waits, 2 * PARTS);
	CHECK_EQ(none()->blocked_ns, 2 * PARTS * US);
	CHECK_EQ(samples.burst.record->covered_ns, 2 * HP_BURST_SLOT_NS);
	end();
}

/* A burst with one wait. */
static void burst_at(uint64_t from_ns, uint64_t took_ns)
{
	hp_burst_begin(&samples, from_ns, PARTS, 1);
	out(TID, from_ns + MS);
	in(TID, from_ns + MS + took_ns);
	CHECK(hp_burst_end(&samples));
	hp_burst_settle(&samples);
}

TEST(burst, bursts_stand_for_the_slots_that_had_none)
{
	double short_ns, long_ns;

	begin();
	for (uint64_t i = 0; i < 4; i++)
		burst_at(START + i * HP_BURST_SLOT_NS, 10 * US);
	hp_burst_finish(&samples, START + 5 * HP_BURST_SLOT_NS);
	const struct hp_bursts *bursts = samples.burst.record;
	CHECK_EQ(bursts->covered_ns, 5 * HP_BURST_SLOT_NS);
	CHECK_EQ(none()->waits, 5 * PARTS);
	CHECK_EQ(none()->blocked_ns, 5 * PARTS * 10 * US);
	CHECK_EQ(samples.record->blocked_ns, none()->blocked_ns);
	CHECK_EQ(bursts->blocked_ns, none()->blocked_ns);
	CHECK_EQ(samples.burst.newest->guesses[0].blocked_ns, none()->blocked_ns);
	CHECK_EQ(samples.burst.newest->guesses[0].squares, bursts->squares);
	short_ns = hp_sampling_burst_error(bursts, bursts->blocked_ns, bursts->squares);
	/* Nothing is known of a long time without bursts: what it adds may be wrong by as much. */
	hp_burst_finish(&samples, START + 20 * HP_BURST_SLOT_NS);
	CHECK_EQ(bursts->covered_ns, 20 * HP_BURST_SLOT_NS);
	CHECK_EQ(none()->blocked_ns, 20 * PARTS * 10 * US);
	long_ns = hp_sampling_burst_error(bursts, bursts->blocked_ns, bursts->squares);
	CHECK(short_ns < 1e3 * PARTS);
	CHECK(long_ns > 14.0 * PARTS * 1e4);
	end();
}

TEST(burst, bursts_stand_for_no_time_after_the_end)
{
	begin();
	burst_at(START, 10 * US);
	burst_at(START + HP_BURST_SLOT_NS, 10 * US);
	hp_burst_finish(&samples, START + HP_BURST_SLOT_NS + HP_BURST_SLOT_NS / 2);
	CHECK_EQ(samples.burst.record->covered_ns, HP_BURST_SLOT_NS + HP_BURST_SLOT_NS / 2);
	CHECK_EQ(none()->waits, PARTS * 3 / 2);
	CHECK_EQ(none()->blocked_ns, PARTS * 3 / 2 * 10 * US);
	end();
}

TEST(burst, earlier_periods_keep_their_sums)
{
	begin();
	burst_at(START, 10 * US);
	hp_burst_off(&samples, START + HP_BURST_SLOT_NS);
	uint64_t first_ns = none()->blocked_ns;
	CHECK_EQ(first_ns, PARTS * 10 * US);
	CHECK(hp_burst_on(&samples, START + 1000 * MS));
	burst_at(START + 1000 * MS, 20 * US);
	hp_burst_finish(&samples, START + 1000 * MS + 2 * HP_BURST_SLOT_NS);
	CHECK_EQ(none()->blocked_ns, first_ns + PARTS * 2 * 20 * US);
	CHECK_EQ(samples.burst.record->covered_ns, 3 * HP_BURST_SLOT_NS);
	end();
}

/* Nobody has this number, so the wait seems to have ended by the first check. */
TEST(burst, a_guessed_end_after_that_of_its_call_belongs_to_it)
{
	begin();
	hp_burst_begin(&samples, START, PARTS, 1);
	out(NOBODY, START + MS);
	CHECK(hp_burst_end(&samples));
	struct hp_burst_wait *wait = &samples.burst.waits[0];
	wait->seen_ns = START + 10 * MS;
	hp_burst_follow(&samples, START + 30 * MS);
	CHECK_EQ(wait->in_ns, START + 20 * MS);
	note(NOBODY, START + 15 * MS, 14 * MS + 1, 1);
	hp_burst_settle(&samples);
	CHECK_EQ(none()->waits, 1);
	CHECK_EQ(none()->blocked_ns, 14 * MS + 1);
	end();
}

TEST(burst, nothing_counts_that_began_behind_the_take)
{
	begin();
	hp_burst_begin(&samples, START, PARTS, 1);
	out(TID, START + HP_BURST_SLOT_NS / PARTS);
	in(TID, START + HP_BURST_SLOT_NS / PARTS + US);
	CHECK(hp_burst_end(&samples));
	hp_burst_settle(&samples);
	CHECK_EQ(none()->waits, 0);
	CHECK_EQ(samples.burst.record->count, 1);
	end();
}

TEST(burst, the_time_without_a_burst_is_known)
{
	begin();
	hp_burst_finish(&samples, START + 43 * MS);
	CHECK_EQ(samples.burst.record->on_ns, 43 * MS);
	CHECK_EQ(samples.burst.record->count, 0);
	hp_burst_off(&samples, START + 50 * MS);
	CHECK(hp_burst_on(&samples, START + 90 * MS));
	hp_burst_finish(&samples, START + 92 * MS);
	CHECK_EQ(samples.burst.record->on_ns, 52 * MS);
	end();
}
