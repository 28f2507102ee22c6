/* SPDX-License-Identifier: MIT */
/*
 * tally.c - see tally.h.
 *
 * Tallies are in the segment, so that a report after a kill has the allocations
 * of running calls.  The thread has a list of free ones, which signal handlers
 * use too: a handler that runs between two instructions here may take the one
 * that we are about to take; when it returns, it has released it, or attached
 * it to the frame that needs it.
 */
#include "preload/call/tally.h"

#include <string.h>

#include "preload/call/clock.h"
#include "preload/call/logged.h"
#include "preload/call/row.h"
#include "preload/thread/state.h"
#include "segment/histogram.h"
#include "util/assert.h"

#define HP_COST_EVERY 64	/* one in this many ends is timed; a power of two */
#define HP_COST_SHIFT 4	/* the running mean follows 1/16 of each difference */

bool hp_tally_has_most;

static struct hp_tally *tally_of(const struct hp_frame *f)
{
	return (struct hp_tally *)(uintptr_t)f->tally;
}

/* --- room --- */

/* Like hp_row_group: the gate is shut while the block's room changes. */
static void *take(struct hp_local *local, uint64_t size)
{
	uint64_t since = hp_clock(local);
	bool shut = hp_gate_shut(local);
	void *room = hp_row_take(local, size);

	if (shut)
		hp_gate_open(local, since);
	return room;
}

static uint32_t place_of(const struct hp_local *local, const void *record)
{
	return (uint32_t)((uint64_t)((const char *)record - local->base) / HP_LINE);
}

static void *record_at(const struct hp_local *local, uint32_t place)
{
	return local->base + (uint64_t)place * HP_LINE;
}

/* The tally of `place`, created if missing; NULL = no room. */
static void *record_get(struct hp_local *local, uint32_t *place, uint64_t size)
{
	void *record;

	if (HP_LIKELY(*place != 0))
		return record_at(local, *place);
	record = take(local, size);
	if (record)
		*place = place_of(local, record);
	return record;
}

/* --- tallies --- */

static struct hp_tally *tally_take(struct hp_local *local)
{
	struct hp_tally *tally = local->tallies;

	if (!tally)
		return local->state == HP_THREAD_OPEN ? take(local, sizeof(*tally)) : NULL;
	local->tallies = (struct hp_tally *)(uintptr_t)tally->bytes;
	return tally;
}

static void tally_give(struct hp_local *local, struct hp_tally *tally)
{
	HP_ASSERT(tally != local->tallies);
	tally->bytes = (uintptr_t)local->tallies;
	atomic_signal_fence(memory_order_seq_cst);
	local->tallies = tally;
}

static void tally_set(struct hp_frame *f, struct hp_tally *tally)
{
	f->tally = (uintptr_t)tally;
	f->weight |= HP_WEIGHT_TALLY;
}

struct hp_tally *hp_tally_attach(struct hp_local *local, struct hp_frame *f, int64_t live,
				 int64_t blocks)
{
	/* A leftover one belongs to a frame in this place that was left irregularly. */
	struct hp_tally *tally = f->tally ? tally_of(f) : tally_take(local);

	if (!tally)
		return NULL;
	memset(tally, 0, sizeof(*tally));
	tally->live = tally->live_most = live;
	tally->blocks = tally->blocks_most = blocks;
	tally_set(f, tally);
	return tally;
}

void hp_tally_drop(struct hp_local *local, struct hp_frame *f)
{
	if (f->tally)
		tally_give(local, tally_of(f));
	f->tally = 0;
	f->weight &= ~HP_WEIGHT_TALLY;
}

void hp_tally_pass(struct hp_local *local, struct hp_frame *f, struct hp_frame *to)
{
	struct hp_tally *from = tally_of(f), *tally = tally_of(to);

	f->tally = 0;
	f->weight &= ~HP_WEIGHT_TALLY;
	from->below_bytes += from->bytes;
	from->below_count += from->count;
	if (!(to->weight & HP_WEIGHT_TALLY)) {
		from->bytes = 0;
		from->count = 0;
		if (tally)
			tally_give(local, tally);
		tally_set(to, from);
		return;
	}
	tally->below_bytes += from->below_bytes;
	tally->below_count += from->below_count;
	if (from->live_most > tally->live_most)
		tally->live_most = from->live_most;
	if (from->blocks_most > tally->blocks_most)
		tally->blocks_most = from->blocks_most;
	tally_give(local, from);
}

/* --- charges --- */

static void spread_add(struct hp_local *local, uint32_t *place, uint64_t value)
{
	struct hp_charge_spread *spread = record_get(local, place, sizeof(*spread));
	unsigned group = hp_bucket_group(value);
	uint64_t *counters;

	if (!spread)
		return;
	if (value < spread->least || spread->least == 0)
		spread->least = value;
	if (value > spread->most)
		spread->most = value;
	counters = record_get(local, &spread->groups[group], HP_GROUP_SIZE * sizeof(*counters));
	if (counters)
		counters[hp_bucket_place(value, group)]++;
}

static inline void charge_add(struct hp_local *local, struct hp_charge *charge,
			      enum hp_charge_kind kind, uint64_t value)
{
	charge->sums[kind] += value;
	if (value)
		spread_add(local, &charge->spreads[kind], value);
}

static uint32_t small(uint64_t count)
{
	return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

/* Word by word: copying it as a whole would stall on its parts. */
static inline void log_add(struct hp_local *local, struct hp_charge *charge,
			   const struct hp_tally *tally, uint64_t now)
{
	struct hp_spent *ring;

	if (!local->logs_limit)
		return;
	ring = record_get(local, &charge->logs, local->logs_limit * sizeof(*ring));
	if (!ring)
		return;
	hp_spent_put(&ring[charge->log_next],
		     &(struct hp_spent){ .at = now ? now : local->last_clock,
					 .bytes = tally->bytes,
					 .whole_bytes = tally->bytes + tally->below_bytes,
					 .count = small(tally->count),
					 .whole_count = small(tally->count + tally->below_count),
					 .tid = local->tid });
	charge->log_next = charge->log_next + 1 == local->logs_limit ? 0 : charge->log_next + 1;
}

static void charge_most(struct hp_local *local, struct hp_charge *charge,
			const struct hp_tally *tally)
{
	uint64_t bytes = (uint64_t)(tally->live_most - tally->live);
	uint64_t blocks = (uint64_t)(tally->blocks_most - tally->blocks);

	charge->has_most = 1;
	charge_add(local, charge, HP_CHARGE_MAX_BYTES, bytes);
	charge_add(local, charge, HP_CHARGE_MAX_COUNT, blocks);
	if (bytes > charge->most_bytes)
		charge->most_bytes = bytes;
	if (blocks > charge->most_count)
		charge->most_count = blocks;
}

/* The usual call: its callees allocated nothing. */
static inline void charge_alone(struct hp_local *local, struct hp_charge *charge,
				const struct hp_tally *tally)
{
	charge_add(local, charge, HP_CHARGE_ALONE_BYTES, tally->bytes);
	if (HP_LIKELY(tally->count == 1))
		charge->ones++;
	else
		charge_add(local, charge, HP_CHARGE_ALONE_COUNT, tally->count);
}

static void charge_both(struct hp_local *local, struct hp_charge *charge,
			const struct hp_tally *tally)
{
	charge_add(local, charge, HP_CHARGE_BYTES, tally->bytes);
	charge_add(local, charge, HP_CHARGE_COUNT, tally->count);
	charge_add(local, charge, HP_CHARGE_WHOLE_BYTES, tally->bytes + tally->below_bytes);
	charge_add(local, charge, HP_CHARGE_WHOLE_COUNT, tally->count + tally->below_count);
}

/* `is_outer`: no other call of the function is in progress. */
static inline void charge_call(struct hp_local *local, struct hp_charge *charge,
			       const struct hp_tally *tally, bool is_outer, uint64_t now)
{
	uint64_t bytes = tally->bytes + tally->below_bytes;
	uint64_t count = tally->count + tally->below_count;

	if (HP_UNLIKELY(hp_tally_has_most))
		charge_most(local, charge, tally);
	if (!count)
		return;
	if (HP_LIKELY(!tally->below_count))
		charge_alone(local, charge, tally);
	else
		charge_both(local, charge, tally);
	if (is_outer) {
		charge->whole_bytes += bytes;
		charge->whole_count += count;
	}
	log_add(local, charge, tally, now);
}

static void end(struct hp_local *local, struct hp_frame *f, uint64_t now)
{
	struct hp_row *row = (struct hp_row *)(uintptr_t)f->row;
	struct hp_function *function = hp_row_function(local, row);
	struct hp_charge *charge = record_get(local, &function->charge, sizeof(struct hp_charge));

	if (charge)
		charge_call(local, charge, tally_of(f), hp_row_gist(row)->active == 1, now);
	/* The lowest frame of a stack takes it, too; nobody reads it there. */
	hp_tally_pass(local, f, f - 1);
}

uint64_t hp_tally_end(struct hp_local *local, struct hp_frame *f, uint64_t now)
{
	uint64_t since;
	int64_t cost;

	if (HP_LIKELY(++local->tally_ends & (HP_COST_EVERY - 1))) {
		end(local, f, now);
		return local->tally_cost;
	}
	since = hp_clock(local);
	end(local, f, now);
	cost = (int64_t)(hp_clock_between(since, hp_clock(local)) << HP_FINE_BITS);
	/* If the thread was preempted meanwhile, the sample is useless for the cost. */
	if ((uint64_t)cost < local->clock_cost * HP_COST_EVERY) {
		int64_t more = cost - (int64_t)local->clock_cost - (int64_t)local->tally_cost;

		local->tally_cost += (uint64_t)(more / (1 << HP_COST_SHIFT));
		if ((int64_t)local->tally_cost < 0)
			local->tally_cost = 0;
	}
	return (uint64_t)cost;
}
