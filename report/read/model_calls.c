/* SPDX-License-Identifier: MIT */
/*
 * model_calls.c - data on single calls: histograms, the slowest, the last.
 *
 * The histograms of 1 000 functions in 64 threads are 150 MB, so they are read
 * on demand. Records (a function of a block) that keep changing are read at
 * each refresh; the sum of the others is kept in `settled`. A record's stamp
 * shows whether it has changed. But a thread writes the counter of its last
 * timed call at its next one, of any function. So a changed record counts as
 * changing until its block has advanced without it.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/read/logged.h"
#include "report/read/model.h"
#include "segment/histogram.h"

#define HP_RINGS_MAX 4096
/* Bytes with the state of its histogram */
#define RECORD_READ offsetof(struct hp_function, slowest)

static uint64_t beyond(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* --- histograms --- */

/*
 * Counters of a group, read once: threads keep counting, and both sums must get
 * the same value.  `high` are their upper halves or NULL.
 */
static void group_read(uint64_t counts[HP_GROUP_SIZE], const uint32_t *low, const uint32_t *high)
{
	uint32_t lower[HP_GROUP_SIZE], carries[HP_GROUP_SIZE];

	memcpy(lower, low, sizeof(lower));
	for (unsigned i = 0; i < HP_GROUP_SIZE; i++)
		counts[i] = lower[i];
	if (!high)
		return;
	memcpy(carries, high, sizeof(carries));
	for (unsigned i = 0; i < HP_GROUP_SIZE; i++)
		counts[i] += (uint64_t)(carries[i] & 0xffffff) * HP_CARRY;
}

/* Returns the new sum of `to`. */
static uint64_t group_add(uint64_t to[HP_GROUP_SIZE], const uint64_t from[HP_GROUP_SIZE],
			  const uint64_t counts[HP_GROUP_SIZE])
{
	uint64_t total = 0;

	for (unsigned i = 0; i < HP_GROUP_SIZE; i++) {
		to[i] = from[i] + counts[i];
		total += to[i];
	}
	return total;
}

/* Adds to `settled`. */
static void settled_add(struct hp_model_spread *spread, unsigned group,
			const uint64_t counts[HP_GROUP_SIZE])
{
	uint64_t *counters = hp_histogram_group(&spread->settled, group);

	group_add(counters, counters, counts);
}

/* Adds to this refresh's sum; the first addition to a group starts from its settled part. */
static void fresh_add(struct hp_model_spread *spread, unsigned group,
		      const uint64_t counts[HP_GROUP_SIZE])
{
	static const uint64_t none[HP_GROUP_SIZE];
	uint64_t bit = UINT64_C(1) << group;
	uint64_t *counters = hp_histogram_group(&spread->histogram, group);
	const uint64_t *from = counters;

	if (!(spread->fresh & bit))
		from = hp_histogram_counters(&spread->settled, group);
	if (!from)
		from = none;
	spread->totals[group] = group_add(counters, from, counts);
	spread->fresh |= bit;
}

typedef void (*group_adder)(struct hp_model_spread *spread, unsigned group,
			    const uint64_t counts[HP_GROUP_SIZE]);

static void histogram_add(struct hp_reader *reader, struct hp_model_spread *spread,
			  const struct hp_function *record, group_adder add)
{
	const size_t size = HP_GROUP_SIZE * sizeof(uint32_t);
	uint32_t carries[HP_GROUP_SIZE] = { 0 };
	uint64_t counts[HP_GROUP_SIZE];

	if (record->carries)
		hp_reader_copy(reader, record->carries, carries, sizeof(carries));
	for (unsigned group = 0; group < HP_GROUPS; group++)
		if (record->groups[group])
			hp_reader_soon(reader, (uint64_t)record->groups[group] * HP_LINE, size);
	for (unsigned group = 0; group < HP_GROUPS; group++) {
		const uint32_t *low, *high;

		if (!record->groups[group])
			continue;
		low = hp_reader_see(reader, (uint64_t)record->groups[group] * HP_LINE, size);
		high = hp_reader_see(reader, (uint64_t)carries[group] * HP_LINE, size);
		if (!low ||
		    (!hp_histogram_counters(&spread->histogram, group) &&
		     !hp_histogram_counters(&spread->settled, group) && !hp_reader_group(reader)))
			continue;
		group_read(counts, low, high);
		add(spread, group, counts);
	}
}

/* --- at each refresh --- */

/* True if it may have changed since it was read. */
static bool is_active(const struct hp_model *model, const struct hp_model_record *record)
{
	if (!record->is_read || record->stamp != record->read_stamp)
		return true;
	return !record->is_flushed && model->blocks[record->block].stamp != record->read_block;
}

static void record_note(const struct hp_model *model, struct hp_model_record *record)
{
	record->is_flushed = record->is_read && record->stamp == record->read_stamp;
	record->is_read = true;
	record->read_stamp = record->stamp;
	record->read_block = model->blocks[record->block].stamp;
}

static void record_add(struct hp_model *model, struct hp_model_spread *spread,
		       const struct hp_model_record *record, group_adder add)
{
	struct hp_function function;

	if (!hp_reader_copy(&model->reader, record->offset, &function, RECORD_READ))
		return;
	spread->is_recursive |= function.recursive != 0;
	if (function.most && function.least < spread->least_ticks)
		spread->least_ticks = function.least;
	if (function.most > spread->most_ticks)
		spread->most_ticks = function.most;
	histogram_add(&model->reader, spread, &function, add);
}

static void histogram_clear(struct hp_histogram *histogram)
{
	for (unsigned group = 0; histogram->groups && group < HP_GROUPS; group++)
		if (histogram->groups[group])
			memset(histogram->groups[group], 0, HP_GROUP_SIZE * sizeof(uint64_t));
}

/* Groups without additions at this refresh are reset to the settled ones. */
static void settled_show(struct hp_model_spread *spread)
{
	static const uint64_t none[HP_GROUP_SIZE];
	struct hp_histogram *to = &spread->histogram;

	to->total = 0;
	for (unsigned group = 0; group < HP_GROUPS; group++) {
		const uint64_t *settled = hp_histogram_counters(&spread->settled, group);

		if (!((spread->fresh | spread->same) >> group & 1) &&
		    (settled || hp_histogram_counters(to, group)))
			spread->totals[group] = group_add(hp_histogram_group(to, group),
							  settled ? settled : none, none);
		to->total += spread->totals[group];
	}
	spread->same = ~spread->fresh;
}

/* The update that a function's records need at this refresh. */
enum plan {
	PLAN_ANY = 1,	/* one may have changed since */
	PLAN_FIRST = 2,	/* one was not read before */
	PLAN_UNSETTLED = 4,	/* a settled one has changed */
	PLAN_QUIET = 8,	/* one that is not settled has not */
};

static uint32_t plan_of(const struct hp_model_record *record, bool is_active)
{
	if (!is_active)
		return record->is_settled ? 0 : PLAN_QUIET;
	return PLAN_ANY | (record->is_read ? 0 : PLAN_FIRST) |
	       (record->is_settled ? PLAN_UNSETTLED : 0);
}

/*
 * One pass over all records in memory order. The records of one function are
 * far apart: visiting them function by function, with 64 threads, took most of
 * the time.
 */
static void records_plan(struct hp_model *model)
{
	if (model->plan_look == model->look)
		return;
	model->plan_look = model->look;
	for (size_t i = 0; i < model->record_count; i++) {
		struct hp_model_record *record = &model->records[i];
		struct hp_model_function *f = &model->functions[record->function];
		bool active = is_active(model, record);

		if (f->plan_look != model->look) {
			f->plan_look = model->look;
			f->plan = f->unsettled = 0;
		}
		f->plan |= plan_of(record, active);
		if (record->is_settled && !active)
			continue;
		record->next_unsettled = f->unsettled;
		f->unsettled = (uint32_t)i + 1;
		hp_reader_soon(&model->reader, record->offset, RECORD_READ);
	}
}

/* `settled` becomes that of all records that have not changed. */
static void settle(struct hp_model *model, const struct hp_model_function *f, bool is_anew)
{
	struct hp_model_spread *spread = f->spread;

	spread->same = 0;
	if (is_anew)
		histogram_clear(&spread->settled);
	for (uint32_t i = f->record; i; i = model->records[i - 1].next) {
		struct hp_model_record *record = &model->records[i - 1];

		if (is_active(model, record) || (record->is_settled && !is_anew))
			continue;
		record_add(model, spread, record, settled_add);
		record->is_settled = true;
	}
}

static void spread_look(struct hp_model *model, const struct hp_model_function *f)
{
	struct hp_model_spread *spread = f->spread;

	records_plan(model);
	spread->look = model->look;
	if (!(f->plan & PLAN_ANY))
		return;
	for (uint32_t i = f->unsettled; i; i = model->records[i - 1].next_unsettled)
		model->records[i - 1].is_settled = false;
	if (f->plan & PLAN_UNSETTLED || (f->plan & (PLAN_QUIET | PLAN_FIRST)) == PLAN_QUIET)
		settle(model, f, f->plan & PLAN_UNSETTLED);
	spread->fresh = 0;
	for (uint32_t i = f->unsettled; i; i = model->records[i - 1].next_unsettled) {
		struct hp_model_record *record = &model->records[i - 1];

		if (record->is_settled)
			continue;
		record_add(model, spread, record, fresh_add);
		record_note(model, record);
	}
	settled_show(spread);
}

static const struct hp_model_spread *spread_of(const struct hp_model *asked,
					       const struct hp_model_function *function)
{
	static const struct hp_model_spread none = { .least_ticks = UINT64_MAX };
	struct hp_model *model = (struct hp_model *)(uintptr_t)asked;
	struct hp_model_function *f = (struct hp_model_function *)(uintptr_t)function;

	if (!f->record)
		return &none;
	if (!f->spread) {
		f->spread = hp_xcalloc(1, sizeof(*f->spread));
		f->spread->least_ticks = UINT64_MAX;
	}
	if (f->spread->look != model->look)
		spread_look(model, f);
	return f->spread;
}

const struct hp_histogram *hp_model_histogram(const struct hp_model *model,
					      const struct hp_model_function *function)
{
	return &spread_of(model, function)->histogram;
}

void hp_model_spread_free(struct hp_model_spread *spread)
{
	if (!spread)
		return;
	hp_histogram_release(&spread->histogram);
	hp_histogram_release(&spread->settled);
	free(spread);
}

/* --- figures of it --- */

/*
 * Some calls were nested in others. With a spread this is also known for
 * unchanged records.
 */
static bool is_recursive(const struct hp_model *model, const struct hp_model_function *f)
{
	struct hp_reader reader = model->reader;	/* not released: the model's */

	if (f->spread)
		return spread_of(model, f)->is_recursive;
	for (uint32_t i = f->record; i; i = model->records[i - 1].next) {
		const struct hp_function *there =
			hp_reader_see(&reader, model->records[i - 1].offset, sizeof(*there));

		if (there && there->recursive)
			return true;
	}
	return false;
}

/* Total / calls if both cover the same calls; otherwise from the histogram. */
double hp_model_average(const struct hp_model *model, const struct hp_model_function *f)
{
	const struct hp_model_spread *spread;
	double sum = 0;

	if (f->measured == 0)
		return -1;
	if (!f->running && !is_recursive(model, f))
		return f->total_ns / (double)f->calls;
	spread = spread_of(model, f);
	for (unsigned group = 0; group < HP_GROUPS; group++) {
		const uint64_t *counters = hp_histogram_counters(&spread->histogram, group);

		for (unsigned i = 0; counters && i < HP_GROUP_SIZE; i++)
			sum += (double)counters[i] * (double)hp_bucket_value(group, i);
	}
	return spread->histogram.total ? sum / (double)spread->histogram.total * model->ns_per_tick
				       : -1;
}

/*
 * Values are assumed to be evenly spaced within a bucket, limited to the
 * measured range.
 */
static double bucket_rank(const struct hp_model_spread *spread, unsigned group, unsigned place,
			  uint64_t rank)
{
	uint64_t count = spread->histogram.groups[group][place];
	double low = (double)hp_bucket_least(group, place);
	double high = low + (double)hp_bucket_width(group);

	if (group <= 1)
		return low;
	if (low < (double)spread->least_ticks)
		low = (double)spread->least_ticks;
	if (high > (double)spread->most_ticks + 1)
		high = (double)spread->most_ticks + 1;
	return low + (high - low) * ((double)rank - 0.5) / (double)count;
}

/* The value of the call at `rank` (1 = shortest), in ticks. */
static double value_at_rank(const struct hp_model_spread *spread, uint64_t rank)
{
	uint64_t before = 0;

	for (unsigned group = 0; group < HP_GROUPS; group++) {
		const uint64_t *counters = hp_histogram_counters(&spread->histogram, group);

		if (spread->totals[group] < rank - before) {
			before += spread->totals[group];
			continue;
		}
		for (unsigned i = 0; counters && i < HP_GROUP_SIZE; i++) {
			if (counters[i] >= rank - before)
				return bucket_rank(spread, group, i, rank - before);
			before += counters[i];
		}
	}
	return -1;
}

double hp_model_percentile(const struct hp_model *model, const struct hp_model_function *function,
			   double percent)
{
	const struct hp_model_spread *spread = spread_of(model, function);
	double exact = percent / 100 * (double)spread->histogram.total;
	uint64_t rank = (uint64_t)exact;
	double ticks;

	if (spread->histogram.total == 0 || spread->most_ticks == 0)
		return -1;
	if (percent <= 0)
		return (double)spread->least_ticks * model->ns_per_tick;
	if (percent >= 100)
		return (double)spread->most_ticks * model->ns_per_tick;
	rank += exact > (double)rank + 1e-6;
	ticks = value_at_rank(spread, rank ? rank : 1);
	if (ticks < (double)spread->least_ticks)
		ticks = (double)spread->least_ticks;
	if (ticks > (double)spread->most_ticks)
		ticks = (double)spread->most_ticks;
	return ticks * model->ns_per_tick;
}

/* Keeps the longest, longest first. */
static void slowest_add(struct hp_call slowest[HP_SLOWEST], const struct hp_function *record)
{
	for (int i = 0; i < HP_SLOWEST; i++) {
		struct hp_call call;

		if (!hp_logged_call(&record->slowest[i], &call) ||
		    call.ticks <= slowest[HP_SLOWEST - 1].ticks)
			continue;
		for (int j = 0; j < HP_SLOWEST; j++) {
			struct hp_call kept = slowest[j];

			if (call.ticks <= kept.ticks)
				continue;
			slowest[j] = call;
			call = kept;
		}
	}
}

void hp_model_slowest(const struct hp_model *model, const struct hp_model_function *function,
		      struct hp_call slowest[HP_SLOWEST])
{
	struct hp_reader reader = model->reader;	/* not released: the model's */
	const struct hp_function *record;

	memset(slowest, 0, HP_SLOWEST * sizeof(*slowest));
	for (uint32_t i = function->record; i; i = model->records[i - 1].next) {
		record = hp_reader_see(&reader, model->records[i - 1].offset, sizeof(*record));
		if (record)
			slowest_add(slowest, record);
	}
}

struct hp_model_call hp_model_call(const struct hp_model *model, const struct hp_call *call)
{
	return (struct hp_model_call){
		.start_ns =
			hp_model_ns(model, beyond(call->start, model->reader.header.start.ticks)),
		.ns = hp_model_ns(model, call->ticks),
		.tid = call->tid,
	};
}

/* --- single calls --- */

/* A call in a ring, and the place of the ring's results. */
struct logged {
	struct hp_call call;
	uint64_t results;
};

/* Puts `one` among the newest `most`, the newest first; returns the new count. */
static size_t newest_add(struct logged *newest, size_t count, size_t most, struct logged one)
{
	size_t i = count < most ? count++ : most - 1;

	if (i == most - 1 && count == most && newest[i].call.ticks &&
	    newest[i].call.start >= one.call.start)
		return count;
	for (; i > 0 && newest[i - 1].call.start < one.call.start; i--)
		newest[i] = newest[i - 1];
	newest[i] = one;
	return count;
}

uint64_t hp_model_ring(const struct hp_model *model, uint32_t *record, uint64_t *results)
{
	const struct hp_model_record *at = &model->records[*record - 1];
	struct hp_reader reader = model->reader;	/* not released: the model's */
	struct hp_function function;

	*record = at->next;
	*results = 0;
	if (!hp_reader_copy(&reader, at->offset, &function, sizeof(function)))
		return 0;
	*results = (uint64_t)function.results * HP_LINE;
	return (uint64_t)function.logs * HP_LINE;
}

size_t hp_model_last_calls(struct hp_model *model, const struct hp_model_function *function,
			   struct hp_model_call *calls, size_t most)
{
	struct hp_reader *reader = &model->reader;
	uint32_t limit =
		reader->header.logs_limit < HP_LOGS_MAX ? reader->header.logs_limit : HP_LOGS_MAX;
	struct logged *newest;
	size_t count = 0;

	/* Each thread has a ring of that many. */
	most = most < limit ? most : limit;
	newest = hp_xcalloc(most, sizeof(*newest));
	for (uint32_t record = function->record, rings = 0;
	     record && most && rings < HP_RINGS_MAX;) {
		struct logged one;
		uint64_t at = hp_model_ring(model, &record, &one.results);
		const struct hp_call *ring = hp_reader_see(reader, at, limit * sizeof(*ring));

		rings += ring != NULL;

		for (uint32_t i = 0; ring && i < limit; i++) {
			if (hp_logged_call(&ring[i], &one.call))
				count = newest_add(newest, count, most, one);
		}
	}
	for (size_t i = 0; i < count; i++) {
		calls[i] = hp_model_call(model, &newest[i].call);
		calls[i].result =
			hp_logged_result(reader, newest[i].results, newest[i].call.result);
	}
	free(newest);
	return count;
}
