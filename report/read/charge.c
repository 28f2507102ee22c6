/* SPDX-License-Identifier: MIT */
/*
 * charge.c - see charge.h.
 *
 * Ended calls are in records of their functions, open calls in tallies of their
 * frames (segment/FORMAT.md, section 7 says which frames these are).
 */
#include "report/read/logged.h"
#include "report/read/charge.h"
#include "report/read/stack.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/map.h"
#include "report/base/memory.h"
#include "segment/histogram.h"
#include "segment/layout/process.h"

struct build {
	struct hp_charges *charges;
	struct hp_model *model;
	struct hp_map outer;	/* place of a function + 1 -> already on this stack */
};

/* The place of the function whose record is at `at`, or HP_NONE. */
static uint32_t place_of(const struct build *b, uint64_t at)
{
	uint32_t place = hp_model_place_at(b->model, at);

	return place < b->charges->count ? place : HP_NONE;
}

/* --- ended calls --- */

static void group_add(struct build *b, struct hp_histogram *to, unsigned group, uint64_t at)
{
	const uint64_t *counters =
		hp_reader_see(&b->model->reader, at, HP_GROUP_SIZE * sizeof(*counters));

	bool is_new = !hp_histogram_counters(to, group);
	uint64_t *sums;

	if (!counters || (is_new && !hp_reader_group(&b->model->reader)))
		return;
	sums = hp_histogram_group(to, group);
	for (unsigned i = 0; i < HP_GROUP_SIZE; i++) {
		uint64_t count;

		memcpy(&count, &counters[i], sizeof(count));
		sums[i] += count;
		to->total += count;
	}
}

/* Few functions of a large program are charged at all. */
static void spreads_have(struct hp_charge_sum *sum)
{
	if (!sum->spreads)
		sum->spreads = hp_xcalloc(HP_CHARGE_KINDS, sizeof(*sum->spreads));
}

static void spread_add(struct build *b, struct hp_charge_sum *sum, unsigned kind, uint64_t at)
{
	struct hp_charge_spread spread;

	if (!at || !hp_reader_copy(&b->model->reader, at, &spread, sizeof(spread)))
		return;
	if (spread.least && (!sum->least[kind] || spread.least < sum->least[kind]))
		sum->least[kind] = spread.least;
	if (spread.most > sum->most[kind])
		sum->most[kind] = spread.most;
	spreads_have(sum);
	for (unsigned group = 0; group < HP_GROUPS; group++)
		if (spread.groups[group])
			group_add(b, &sum->spreads[kind], group,
				  (uint64_t)spread.groups[group] * HP_LINE);
}

/*
 * The histograms of the sum to which a record's histogram adds: calls whose
 * callees allocated nothing have the same figures with and without callees.
 */
static void spreads_add(struct build *b, struct hp_charge_sum *sum, const struct hp_charge *charge)
{
	static const enum hp_charge_kind both[][2] = {
		[HP_CHARGE_ALONE_BYTES] = { HP_CHARGE_BYTES, HP_CHARGE_WHOLE_BYTES },
		[HP_CHARGE_ALONE_COUNT] = { HP_CHARGE_COUNT, HP_CHARGE_WHOLE_COUNT },
	};

	for (unsigned kind = 0; kind < HP_CHARGE_KINDS; kind++) {
		uint64_t at = (uint64_t)charge->spreads[kind] * HP_LINE;
		unsigned first = kind < 2 ? both[kind][0] : kind;

		sum->sums[first] += charge->sums[kind];
		spread_add(b, sum, first, at);
		if (kind >= 2)
			continue;
		sum->sums[both[kind][1]] += charge->sums[kind];
		spread_add(b, sum, both[kind][1], at);
	}
}

static void ones_add(struct hp_charge_sum *sum, unsigned kind, uint64_t ones)
{
	struct hp_histogram *to;

	if (!ones)
		return;
	spreads_have(sum);
	to = &sum->spreads[kind];
	hp_histogram_group(to, 0)[1] += ones;
	to->total += ones;
	sum->sums[kind] += ones;
	sum->least[kind] = 1;
	if (!sum->most[kind])
		sum->most[kind] = 1;
}

static void charge_add(struct build *b, struct hp_charge_sum *sum, const struct hp_charge *charge)
{
	spreads_add(b, sum, charge);
	ones_add(sum, HP_CHARGE_COUNT, charge->ones);
	ones_add(sum, HP_CHARGE_WHOLE_COUNT, charge->ones);
	sum->whole_bytes += charge->whole_bytes;
	sum->whole_count += charge->whole_count;
	if (charge->most_bytes > sum->most_bytes)
		sum->most_bytes = charge->most_bytes;
	if (charge->most_count > sum->most_count)
		sum->most_count = charge->most_count;
	sum->has_most |= charge->has_most != 0;
	if (!charge->logs)
		return;
	sum->rings = hp_xgrow(sum->rings, sum->ring_count, &sum->ring_room, sizeof(*sum->rings));
	sum->rings[sum->ring_count++] = (struct hp_charge_ring){
		.offset = (uint64_t)charge->logs * HP_LINE,
		.next = charge->log_next,
	};
}

/* Most records were never charged: only this word of them is read. */
static uint64_t charge_of(struct build *b, const struct hp_model_record *record)
{
	return (uint64_t)hp_reader_word(&b->model->reader, record->offset,
					sizeof(struct hp_function),
					offsetof(struct hp_function, charge)) *
	       HP_LINE;
}

static void read_functions(struct build *b)
{
	struct hp_charge charge;

	for (size_t i = 0; i < b->model->record_count; i++) {
		const struct hp_model_record *record = &b->model->records[i];
		uint64_t at = charge_of(b, record);

		if (!at || record->function >= b->charges->count ||
		    !hp_reader_copy(&b->model->reader, at, &charge, sizeof(charge)))
			continue;
		charge_add(b, &b->charges->functions[record->function], &charge);
		b->charges->is_any = true;
		b->charges->has_most |= charge.has_most != 0;
	}
}

/* --- open calls --- */

/* The call's figures so far; zeroes without a tally. */
static void tally_of(struct build *b, const struct hp_stack *stack, const struct hp_frame *frame,
		     struct hp_tally *tally)
{
	if (!(frame->weight & HP_WEIGHT_TALLY) ||
	    !hp_reader_copy(&b->model->reader, frame->tally - stack->block->base, tally,
			    sizeof(*tally)))
		memset(tally, 0, sizeof(*tally));
}

/* Innermost first: a call's figures also count for its callers. */
static void add_calls(void *context, const struct hp_stack *stack)
{
	struct build *b = context;
	uint64_t bytes = 0, count = 0;
	bool is_new;

	hp_map_clear(&b->outer);
	/* Counts each function on the stack, to recognise its outermost call. */
	for (size_t i = 0; i < stack->count; i++)
		++*hp_map_at(&b->outer, place_of(b, stack->calls[i].function) + UINT64_C(1),
			     &is_new);
	for (size_t i = stack->count; i-- > 0;) {
		uint32_t place = place_of(b, stack->calls[i].function);
		struct hp_charge_sum *sum;
		struct hp_tally tally;

		if (place == HP_NONE)
			continue;
		sum = &b->charges->functions[place];
		tally_of(b, stack, &stack->calls[i].frame, &tally);
		bytes += tally.bytes + tally.below_bytes;
		count += tally.count + tally.below_count;
		sum->running_bytes += tally.bytes;
		sum->running_count += tally.count;
		b->charges->is_any |= tally.count != 0;
		if (--*hp_map_at(&b->outer, place + UINT64_C(1), &is_new) == 0) {
			sum->whole_bytes += bytes;
			sum->whole_count += count;
		}
	}
}

void hp_charges_init(struct hp_charges *charges, struct hp_model *model)
{
	struct build b = { .charges = charges, .model = model };

	*charges = (struct hp_charges){ .count = model->function_count };
	charges->functions = hp_xcalloc(charges->count, sizeof(*charges->functions));
	read_functions(&b);
	hp_stacks_each(model, add_calls, &b);
	hp_map_release(&b.outer);
}

void hp_charges_release(struct hp_charges *charges)
{
	for (size_t i = 0; i < charges->count; i++) {
		struct hp_charge_sum *sum = &charges->functions[i];

		for (int kind = 0; sum->spreads && kind < HP_CHARGE_KINDS; kind++)
			hp_histogram_release(&sum->spreads[kind]);
		free(sum->spreads);
		free(sum->rings);
	}
	free(charges->functions);
	*charges = (struct hp_charges){ .count = 0 };
}

/* --- answers --- */

uint64_t hp_charge_bytes(const struct hp_charge_sum *sum)
{
	return sum->sums[HP_CHARGE_BYTES] + sum->running_bytes;
}

uint64_t hp_charge_count(const struct hp_charge_sum *sum)
{
	return sum->sums[HP_CHARGE_COUNT] + sum->running_count;
}

uint64_t hp_charge_calls(const struct hp_charge_sum *sum, enum hp_charge_kind kind)
{
	return sum->spreads ? sum->spreads[kind].total : 0;
}

double hp_charge_percentile(const struct hp_charge_sum *sum, enum hp_charge_kind kind,
			    double percent)
{
	double exact = percent / 100 * (double)hp_charge_calls(sum, kind);
	uint64_t rank = (uint64_t)exact, value;

	if (!hp_charge_calls(sum, kind))
		return -1;
	rank += exact > (double)rank + 1e-6;
	value = percent <= 0 ? sum->least[kind]
			     : hp_histogram_value(&sum->spreads[kind], rank ? rank : 1);
	if (value < sum->least[kind])
		value = sum->least[kind];
	if (value > sum->most[kind] || percent >= 100)
		value = sum->most[kind];
	return (double)value;
}

/* Puts it among the newest; returns how many there are. */
static size_t newest_add(struct hp_spent *calls, size_t count, size_t most,
			 const struct hp_spent *one)
{
	size_t place = count < most ? count : most - 1;

	if (count == most && calls[most - 1].at >= one->at)
		return count;
	for (; place > 0 && calls[place - 1].at < one->at; place--)
		calls[place] = calls[place - 1];
	calls[place] = *one;
	return count < most ? count + 1 : count;
}

size_t hp_charge_last(struct hp_model *model, const struct hp_charge_sum *sum,
		      struct hp_spent *calls, size_t most)
{
	struct hp_reader *reader = &model->reader;
	uint32_t limit =
		reader->header.logs_limit < HP_LOGS_MAX ? reader->header.logs_limit : HP_LOGS_MAX;
	size_t count = 0;

	for (size_t r = 0; r < sum->ring_count; r++) {
		const struct hp_spent *ring =
			hp_reader_see(reader, sum->rings[r].offset, limit * sizeof(*ring));

		/* Newest first: calls of equal time stay in this order. */
		for (uint32_t i = 1; ring && i <= limit; i++) {
			struct hp_spent one;

			if (hp_logged_spent(
				    &ring[((uint64_t)sum->rings[r].next + limit - i) % limit],
				    &one))
				count = newest_add(calls, count, most, &one);
		}
	}
	return count;
}
