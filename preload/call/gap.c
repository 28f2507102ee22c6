/* SPDX-License-Identifier: MIT */
/* gap.c - see gap.h. */
#include "preload/call/gap.h"

#include "preload/call/clock.h"
#include "preload/call/leave.h"
#include "preload/call/row.h"
#include "preload/guest/self.h"

#define HP_PAID_PART 20	/* of an excess pays for timed calls */
#define HP_ALL_MAX 64	/* calls after an event that are all timed */
#define HP_BOOST_MAX 65536

static bool is_calibrating(const struct hp_local *me)
{
	return me->base != (const char *)hp_segment.header;
}

/*
 * The call that was timed because all calls of its function are: its time is known, and
 * includes the event. NULL = none; then the event belongs to no call.
 */
static const struct hp_frame *caller_of(const struct hp_local *me, const struct hp_frame *f)
{
	for (; f > me->stack->part->frames; f--)
		if ((f->weight & ~HP_WEIGHT_FLAGS) == 1 &&
		    hp_row_gist(hp_frame_row(f))->one_in == 0)
			return f;
	return NULL;
}

static struct hp_gaps *gaps_new(struct hp_local *me, struct hp_function *function, uint32_t row)
{
	uint64_t since = hp_clock(me);
	bool shut = hp_gate_shut(me);
	struct hp_gaps *gaps = hp_row_take(me, sizeof(*gaps));

	if (gaps) {
		gaps->next = function->gaps;
		gaps->row = row;
		atomic_signal_fence(memory_order_seq_cst);
		function->gaps = (uint32_t)((uint64_t)((char *)gaps - me->base) / HP_LINE);
	}
	if (shut)
		hp_gate_open(me, since);
	return gaps;
}

/* The record of events below `f`, created if necessary. */
static struct hp_gaps *gaps_of(struct hp_local *me, const struct hp_frame *f)
{
	const struct hp_row *caller = f ? hp_frame_row(f) : me->root;
	struct hp_function *function = f ? hp_row_function(me, caller) : me->other;
	uint32_t row = (uint32_t)((uint64_t)((const char *)caller - me->base) / HP_LINE);
	uint32_t at = function->gaps;

	while (at) {
		struct hp_gaps *gaps = (struct hp_gaps *)(me->base + (uint64_t)at * HP_LINE);

		if (gaps->row == row)
			return gaps;
		at = gaps->next;
	}
	return gaps_new(me, function, row);
}

static unsigned size_of(uint64_t ticks)
{
	unsigned bits = 63 - (unsigned)__builtin_clzll(ticks | 1);

	if (bits < HP_GAP_MIN)
		return 0;
	return bits - HP_GAP_MIN < HP_GAP_SIZES ? bits - HP_GAP_MIN : HP_GAP_SIZES - 1;
}

/* Replaces the shortest one, or takes an unused place. */
static void long_gap_add(struct hp_long_gap *all, const struct hp_long_gap *gap)
{
	struct hp_long_gap *least = all;

	for (int i = 1; i < HP_LONG_GAPS; i++)
		if (all[i].excess < least->excess)
			least = &all[i];
	if (least->excess >= gap->excess)
		return;
	/* A reader ignores it while it is being written. */
	least->excess = 0;
	atomic_signal_fence(memory_order_seq_cst);
	least->start = gap->start;
	least->ticks = gap->ticks;
	least->tid = gap->tid;
	atomic_signal_fence(memory_order_seq_cst);
	least->excess = gap->excess;
}

static void long_gap(struct hp_local *me, struct hp_gaps *gaps, const struct hp_long_gap *gap)
{
	if (gap->excess < (me->clock_cost * HP_LONG_GAP_CLOCKS) >> HP_FINE_BITS)
		return;
	if (!gaps->longest) {
		uint64_t since = hp_clock(me);
		bool shut = hp_gate_shut(me);
		char *taken = hp_row_take(me, HP_LONG_GAPS * sizeof(*gap));

		if (taken)
			gaps->longest = (uint32_t)((uint64_t)(taken - me->base) / HP_LINE);
		if (shut)
			hp_gate_open(me, since);
	}
	if (gaps->longest)
		long_gap_add((struct hp_long_gap *)(me->base + (uint64_t)gaps->longest * HP_LINE),
			     gap);
}

/* The present gap ends with the next call, which is timed. */
static void boost_begin(struct hp_local *me)
{
	if (!me->boost_now || me->gap_mode != HP_GAP_USUAL)
		return;
	me->boost_now--;
	me->gap_mode = HP_GAP_ALL;
	me->gap -= me->countdown;
	me->countdown = 0;
}

void hp_gap_pay(struct hp_local *me, uint64_t excess)
{
	uint64_t cost = me->cost_timed > me->clock_cost ? me->cost_timed : me->clock_cost + 1;
	uint64_t calls = (excess / HP_PAID_PART << HP_FINE_BITS) / cost;
	uint64_t now = calls / 2 < HP_ALL_MAX ? calls / 2 : HP_ALL_MAX;
	uint64_t later = me->boost_later + (calls - now);

	if (is_calibrating(me))
		return;
	if (me->boost_now + now > HP_ALL_MAX)
		now = HP_ALL_MAX - me->boost_now;
	me->boost_now += (uint32_t)now;
	me->boost_later = (uint32_t)(later < HP_BOOST_MAX ? later : HP_BOOST_MAX);
	boost_begin(me);
}

__attribute__((noinline)) uint64_t hp_gap_event(struct hp_local *me, const struct hp_frame *from,
						uint64_t now, uint64_t excess, unsigned mode)
{
	/* Taking memory reads the clock. */
	const struct hp_long_gap gap = { .excess = excess,
					 .start = me->last_clock,
					 .ticks = hp_clock_between(me->last_clock, now),
					 .tid = me->tid };
	uint64_t overhead = me->overhead, late;
	struct hp_gaps *gaps;

	if (is_calibrating(me))
		return now;
	gaps = gaps_of(me, caller_of(me, from));
	if (gaps) {
		gaps->events[mode]++;
		gaps->ticks[mode] += excess;
		if (mode != HP_GAP_ALL) {
			gaps->sizes[size_of(excess)].events++;
			gaps->sizes[size_of(excess)].ticks += excess;
			long_gap(me, gaps, &gap);
		}
	}
	hp_gap_pay(me, excess);
	late = hp_clock_ordered(me);
	me->overhead =
		overhead + (hp_overhead_ours(me, hp_clock_between(now, late)) << HP_FINE_BITS);
	return late;
}
