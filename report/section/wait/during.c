/* SPDX-License-Identifier: MIT */
/*
 * during.c - see during.h.
 */
#include "report/section/wait/during.h"

#include <stdlib.h>

#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/read/event.h"
#include "report/section/wait/lock_view.h"
#include "segment/layout/sample.h"
#include "util/hash.h"

/* A hold in the clock of events. */
struct hold {
	uint32_t tid;
	uint32_t every;
	uint32_t lock;
	struct hp_lock_place at;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t most_ns;	/* the latest end of the thread's holds up to this one */
};

struct build {
	struct hp_report *report;
	struct hp_during *during;
	size_t room;
	struct hold *holds;	/* by thread and start */
	size_t hold_count;
	struct hp_map rows;	/* hash -> place in during->rows */
};

static uint64_t raw_ns(const struct hp_model *model, uint64_t ticks)
{
	const struct hp_header *header = &model->reader.header;

	return ticks > header->start.ticks
		       ? header->start.ns + hp_model_ns(model, ticks - header->start.ticks)
		       : header->start.ns;
}

static int compare_holds(const void *left, const void *right)
{
	const struct hold *a = left, *b = right;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static void holds_make(struct build *b, const struct hp_locks *locks)
{
	const struct hp_model *model = &b->report->model;

	b->holds = hp_xcalloc(locks->span_count + locks->hold_count, sizeof(*b->holds));
	for (size_t i = 0; i < locks->span_count; i++) {
		const struct hp_lock_span *span = &locks->spans[i];

		b->holds[b->hold_count++] = (struct hold){
			.tid = span->tid,
			.every = span->every,
			.lock = span->lock,
			.at = span->at,
			.start_ns = raw_ns(model, span->start),
			.end_ns = raw_ns(model, span->end),
		};
	}
	for (size_t i = 0; i < locks->hold_count; i++) {
		const struct hp_lock_hold *hold = &locks->holds[i];

		if (hold->start)
			b->holds[b->hold_count++] = (struct hold){
				.tid = hold->tid,
				.every = 1,
				.lock = hold->lock,
				.at = hold->at,
				.start_ns = raw_ns(model, hold->start),
				.end_ns = raw_ns(model, hold->end),
			};
	}
	if (b->hold_count)
		qsort(b->holds, b->hold_count, sizeof(*b->holds), compare_holds);
	for (size_t i = 0; i < b->hold_count; i++) {
		if (b->holds[i].end_ns > b->holds[i].start_ns)
			b->during->held_ns[b->holds[i].lock] +=
				(double)(b->holds[i].end_ns - b->holds[i].start_ns) *
				b->holds[i].every;
		b->holds[i].most_ns = b->holds[i].end_ns;
		if (i && b->holds[i - 1].tid == b->holds[i].tid &&
		    b->holds[i - 1].most_ns > b->holds[i].end_ns)
			b->holds[i].most_ns = b->holds[i - 1].most_ns;
	}
}

static bool is_of(const struct hp_during_row *row, uint32_t stack, bool is_wait,
		  const struct hold *hold)
{
	return row->stack == stack && row->is_wait == is_wait && row->lock == hold->lock &&
	       row->at.object == hold->at.object && row->at.address == hold->at.address;
}

static struct hp_during_row *row_of(struct build *b, uint32_t stack, bool is_wait,
				    const struct hold *hold)
{
	uint64_t hash = hp_hash_add(hp_hash_add(hold->at.address, hold->lock),
				    (uint64_t)stack << 1 | is_wait) |
			1;
	struct hp_during *during = b->during;
	uint32_t *place;
	bool is_new;

	for (;; hash += 2) {
		place = hp_map_at(&b->rows, hash, &is_new);
		if (is_new)
			break;
		if (is_of(&during->rows[*place], stack, is_wait, hold))
			return &during->rows[*place];
	}
	during->rows = hp_xgrow(during->rows, during->count, &b->room, sizeof(*during->rows));
	*place = (uint32_t)during->count;
	during->rows[during->count] = (struct hp_during_row){
		.stack = stack,
		.lock = hold->lock,
		.at = hold->at,
		.is_wait = is_wait,
	};
	return &during->rows[during->count++];
}

/* The number of holds that are not after that time in the order of `holds`. */
static size_t holds_before(const struct build *b, uint32_t tid, uint64_t ns)
{
	size_t low = 0, high = b->hold_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct hold *hold = &b->holds[middle];

		if (hold->tid < tid || (hold->tid == tid && hold->start_ns < ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Of a wait the part in the hold counts; of a sample its moment decides. */
static double part_ns(const struct hp_event *event, const struct hold *hold)
{
	uint64_t begin_ns = event->ns > event->span_ns ? event->ns - event->span_ns : 0;
	uint64_t from = begin_ns > hold->start_ns ? begin_ns : hold->start_ns;
	uint64_t to = event->ns < hold->end_ns ? event->ns : hold->end_ns;

	if (event->kind == HP_EVENT_CPU)
		return event->ns < hold->end_ns ? (double)event->span_ns : 0;
	return from < to ? (double)(to - from) : 0;
}

static void event_add(void *context, const struct hp_event *event)
{
	struct build *b = context;
	bool is_wait = event->kind == HP_EVENT_WAIT;
	uint64_t begin_ns = is_wait ? event->ns - event->span_ns : event->ns;

	if (event->node >= b->report->model.sampling.stack_count || event->span_ns > event->ns)
		return;
	if (is_wait)
		b->during->waited_ns[event->node] += (double)event->span_ns;
	for (size_t i = holds_before(b, event->tid, event->ns); i > 0; i--) {
		const struct hold *hold = &b->holds[i - 1];
		double ns;
		struct hp_during_row *row;

		if (hold->tid != event->tid || hold->most_ns <= begin_ns)
			break;
		ns = part_ns(event, hold);
		if (ns <= 0)
			continue;
		row = row_of(b, event->node, is_wait, hold);
		row->count += hold->every;
		row->ns += ns * hold->every;
	}
}

static void during_free(void *held)
{
	struct hp_during *during = held;

	free(during->rows);
	free(during->waited_ns);
	free(during->held_ns);
	free(during);
}

const struct hp_during *hp_during_of(struct hp_report *report)
{
	static const struct hp_view_kind kind = { .free = during_free };
	const struct hp_model_sampling *sampling = &report->model.sampling;
	struct hp_during *during = hp_views_get(&report->views, &kind);
	struct build b = { .report = report, .rows = HP_MAP_NONE };

	if (!during) {
		const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));

		during = hp_views_add(&report->views, &kind, hp_xcalloc(1, sizeof(*during)));
		during->waited_ns =
			hp_xcalloc((size_t)sampling->stack_count + 1, sizeof(*during->waited_ns));
		b.during = during;
		during->held_ns = hp_xcalloc(locks->count + 1, sizeof(*during->held_ns));
		if (sampling->is_there && !sampling->record.fault && !sampling->record.event_lost)
			holds_make(&b, locks);
		if (b.hold_count)
			hp_events_each(&report->model, event_add, &b);
		free(b.holds);
		hp_map_release(&b.rows);
	}
	return during->count ? during : NULL;
}

double hp_during_blocked_ns(struct hp_report *report, const struct hp_during_row *row)
{
	const struct hp_during *during = hp_during_of(report);
	double all = during ? during->waited_ns[row->stack] : 0;

	if (!row->is_wait || all <= 0)
		return 0;
	/* Holds that stand for others may stand for too many. */
	return (double)report->model.sampling.stacks[row->stack].blocked_ns *
	       (row->ns < all ? row->ns / all : 1);
}
