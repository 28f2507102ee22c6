/* SPDX-License-Identifier: MIT */
/*
 * section.c - the sections of event loops: rows, columns, words.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/json.h"
#include "report/base/memory.h"
#include "report/section/core/extra.h"
#include "report/section/core/list.h"
#include "report/section/loop/loop.h"
#include "report/section/loop/runtime.h"
#include "report/section/wait/lock_cells.h"
#include "report/section/wait/lock_section.h"
#include "segment/histogram.h"

#define LIMIT 15	/* rows, unless a variable says otherwise */
#define SPANS_LIMIT 5

static const struct hp_loop_row *row_at(const struct hp_cell *cell)
{
	return cell->row;
}

static void loops_fill(struct hp_report *report, struct hp_list *list)
{
	const struct hp_loops *loops = hp_loops_of(report);

	list->rows = hp_xcalloc(loops->count, sizeof(*list->rows));
	list->total = loops->count;
	for (size_t i = 0; i < loops->count; i++)
		list->rows[i] = &loops->rows[i];
	hp_section_cut(&hp_loops_section, report, list);
}

static bool loops_have_data(const struct hp_report *report)
{
	return hp_loops_of(report)->count != 0;
}

/* How many busy spans were longer; the bucket that contains the limit counts as shorter. */
static uint64_t longer_than(const struct hp_lock_sum *spans, double ticks)
{
	uint64_t count = 0, room[HP_GROUP_SIZE];

	for (unsigned group = 0; group < HP_GROUPS; group++) {
		const uint64_t *counters = hp_histogram_see(&spans->holds, group, room);

		for (unsigned i = 0; counters && i < HP_GROUP_SIZE; i++)
			if ((double)hp_bucket_least(group, i) >= ticks)
				count += counters[i];
	}
	return count;
}

/* HOTPATH_LOOP_LAG_MS. */
static const char *lag(struct hp_report *report)
{
	const struct hp_loops *loops = hp_loops_of(report);
	double ns = (double)report->settings->loop_lag_ms * 1e6;
	struct hp_text_cell limit, most, many;
	uint64_t count = 0, longest = 0;

	for (size_t i = 0; i < loops->count; i++) {
		count += longer_than(&loops->rows[i].spans, ns / report->model.ns_per_tick);
		if (loops->rows[i].record.span_most > longest)
			longest = loops->rows[i].record.span_most;
	}
	if (!count)
		return NULL;
	free(report->text);
	report->text = hp_xprintf(
		"%s busy span%s above %s, the longest %s: events that arrived meanwhile had "
		"to wait (HOTPATH_LOOP_LAG_MS)",
		hp_format_count(&many, count), count == 1 ? "" : "s", hp_format_time(&limit, ns),
		hp_format_time(&most, (double)longest * report->model.ns_per_tick));
	return report->text;
}

/* --- columns --- */

static void cell_id(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = (double)(row_at(cell) - hp_loops_of(cell->report)->rows) + 1;
}

static void cell_name(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = row_at(cell)->name;
	value->is_label = true;
}

static void cell_apart(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = row_at(cell)->apart;
	value->is_label = true;
}

static void cell_kind(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = row_at(cell)->kind;
}

static void cell_source(const struct hp_cell *cell, struct hp_value *value)
{
	hp_cell_set_text(cell, hp_spot_text(hp_lock_code(cell->report, &row_at(cell)->site)),
			 value);
}

static void cell_state(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_loop_row *row = row_at(cell);

	value->text = row->is_waiting ? "waiting" : row->is_busy ? "busy" : "ended";
}

static void cell_busy_share(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_loop_row *row = row_at(cell);
	double life = (double)row->busy_ticks + (double)row->wait_ticks;

	value->number = life > 0 ? 100 * (double)row->busy_ticks / life : 0;
	value->is_unknown = life <= 0;
}

static void cell_per_wake(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_loop *record = &row_at(cell)->record;

	value->is_unknown = !record->woken;
	value->number = record->woken ? (double)record->events / (double)record->woken : 0;
}

static void cell_span_mean(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_lock_sum *spans = &row_at(cell)->spans;

	hp_lock_set_ticks(cell, spans->timed ? spans->hold_ticks / (double)spans->timed : -1,
			  value);
}

static void cell_span_percentile(const struct hp_cell *cell, struct hp_value *value)
{
	hp_lock_set_ticks(cell, hp_lock_hold_percentile(&row_at(cell)->spans, cell->percentile),
			  value);
}

static void cell_p99(const struct hp_cell *cell, struct hp_value *value)
{
	hp_lock_set_ticks(cell, hp_lock_hold_percentile(&row_at(cell)->spans, 99), value);
}

static void late_set(const struct hp_cell *cell, uint64_t ticks, uint64_t asked_ns, uint64_t count,
		     struct hp_value *value)
{
	double ns = (double)ticks * cell->report->model.ns_per_tick - (double)asked_ns;

	value->is_unknown = !count;
	value->number = count && ns > 0 ? ns / (double)count : 0;
}

/* How much longer waits took than their timeout. */
static void cell_late(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_loop *record = &row_at(cell)->record;

	late_set(cell, record->expired_ticks, record->expired_ns, record->expired, value);
}

static void cell_late_most(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_loop *record = &row_at(cell)->record;

	late_set(cell, record->late_ticks, record->late_ns, record->expired != 0, value);
}

/* How long after its expiration a timerfd was read. */
static void cell_timers_late(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_loop *record = &row_at(cell)->record;

	value->is_unknown = !record->timer_timed;
	value->number = record->timer_timed
				? (double)record->timer_late_ns / (double)record->timer_timed
				: 0;
}

static void cell_timers_late_most(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_loop *record = &row_at(cell)->record;

	value->is_unknown = !record->timer_timed;
	value->number = (double)record->timer_late_most;
}

static void cell_missed(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_loop *record = &row_at(cell)->record;

	value->is_unknown = !record->timer_reads;
	value->number = (double)record->timer_missed;
}

static void cell_remote(const struct hp_cell *cell, struct hp_value *value)
{
	value->is_unknown = !(cell->report->model.recorded & HP_RECORDED_CHANNELS);
	value->number = (double)row_at(cell)->record.woken_remote;
}

static const struct hp_column columns[] = {
	{ .key = "id", .raw = "id", .unit = HP_UNIT_NUMBER, .get = cell_id },
	{ "Loop", NULL, NULL, HP_UNIT_NAME, .get = cell_apart },
	{ NULL, "label", "label", HP_UNIT_NAME, .get = cell_name },
	{ NULL, "kind", "kind", HP_UNIT_TEXT, .get = cell_kind },
	{ NULL, "source", "source", HP_UNIT_TEXT, .get = cell_source },
	{ NULL, "state", "state", HP_UNIT_TEXT, .get = cell_state },
	{ NULL, "tid", "tid", HP_UNIT_NUMBER, .member = HP_MEMBER(hp_loop_row, record.tid) },
	{ "Waits", "waits", "waits", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_loop_row, record.waits) },
	{ NULL, "park_count", "park_count", HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_loop_row, record.parks) },
	{ "Events", "events", "events", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_loop_row, record.events) },
	{ .raw = "events_per_wake", .unit = HP_UNIT_RATE, .get = cell_per_wake },
	{ NULL, "waiting", "wait_ns", HP_UNIT_TIME, .member = HP_TICKS(hp_loop_row, wait_ticks) },
	{ "Busy", "busy", "busy_ns", HP_UNIT_TIME, .member = HP_TICKS(hp_loop_row, busy_ticks) },
	{ "Busy %", "busy_percent", "busy_percent", HP_UNIT_LOAD, .get = cell_busy_share },
	{ "Mean", "busy_avg", "busy_avg_ns", HP_UNIT_TIME, .get = cell_span_mean,
	  .need = HP_NEED_ROOM, .spare = 1 },
	{ "P", "busy_p", "busy_p", HP_UNIT_TIME, .get = cell_span_percentile,
	  .is_percentiles = true, .spare = 2 },
	{ .raw = "after_last_wait_ns",
	  .unit = HP_UNIT_TIME,
	  .member = HP_TICKS(hp_loop_row, tail_ticks) },
	{ NULL, "busy_p99_span", "busy_p99_span_ns", HP_UNIT_TIME, .get = cell_p99 },
	{ "Longest", "busy_max", "busy_max_ns", HP_UNIT_TIME,
	  .member = HP_TICKS(hp_loop_row, record.span_most) },
	{ "Late", "timeouts_late_avg", "timeouts_late_avg_ns", HP_UNIT_TIME, .get = cell_late,
	  .need = HP_NEED_KNOWN },
	{ .raw = "timeouts_late_max_ns", .unit = HP_UNIT_TIME, .get = cell_late_most },
	{ "Timers", "timers_late_avg", "timers_late_avg_ns", HP_UNIT_TIME, .get = cell_timers_late,
	  .need = HP_NEED_KNOWN },
	{ .raw = "timers_late_max_ns",
	  .unit = HP_UNIT_TIME,
	  .get = cell_timers_late_most,
	  .need = HP_NEED_KNOWN },
	{ "Missed", "timers_missed", "timers_missed", HP_UNIT_COUNT, .get = cell_missed,
	  .need = HP_NEED_KNOWN },
	{ .raw = "timer_reads",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_loop_row, record.timer_reads) },
	{ .raw = "woken_remote", .unit = HP_UNIT_NUMBER, .get = cell_remote, .need = HP_NEED_KNOWN },
	{ .raw = "timeouts",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_loop_row, record.expired) },
	{ .raw = "busy_spans",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_loop_row, record.spans) },
	{ .raw = "full_waits",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_loop_row, record.full) },
	{ .raw = "descriptors",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_loop_row, record.watched) },
	{ .raw = "descriptors_added",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_loop_row, record.registered) },
	{ .raw = "descriptors_removed",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_loop_row, record.deregistered) },
	{ 0 },
};

/* --- the longest busy spans --- */

static const struct hp_loop_span_row *span_at(const struct hp_cell *cell)
{
	return cell->row;
}

static void spans_fill(struct hp_report *report, struct hp_list *list)
{
	const struct hp_loops *loops = hp_loops_of(report);

	list->rows = hp_xcalloc(loops->span_count, sizeof(*list->rows));
	list->total = loops->span_count;
	for (size_t i = 0; i < loops->span_count; i++)
		list->rows[i] = &loops->spans[i];
	hp_section_cut(&hp_loop_spans_section, report, list);
}

static bool spans_have_data(const struct hp_report *report)
{
	return hp_loops_of(report)->span_count != 0;
}

static void cell_span_loop(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = span_at(cell)->loop->apart;
	value->is_label = true;
}

static void cell_span_begin(const struct hp_cell *cell, struct hp_value *value)
{
	uint64_t start = cell->report->model.reader.header.start.ticks;
	uint64_t begin = span_at(cell)->span.begin;

	value->number =
		begin > start ? (double)(begin - start) * cell->report->model.ns_per_tick : 0;
}

/* The loop, its thread or the program ended first, or it is still busy. */
static bool is_tail(const struct hp_loop_span_row *row)
{
	return (row->span.number & HP_LOOP_TAIL) != 0;
}

static char *what_of(const struct hp_loop_span_row *row)
{
	const struct hp_loop_span *span = &row->span;

	if (row->what)
		return hp_xstrdup(row->what);
	if (span->fd == HP_LOOP_TIMEOUT)
		return hp_xstrdup("a timeout");
	if (span->events == 1 && span->fd >= 0)
		return hp_xprintf("descriptor %d", span->fd);
	if (!span->events)
		return NULL;
	return hp_xprintf("%u event%s", span->events, span->events == 1 ? "" : "s");
}

static const char *end_of(const struct hp_loop_span_row *row)
{
	bool is_open = row->loop->is_busy && row->span.begin == row->loop->record.until;

	return is_open ? "until now" : "until its end";
}

static void cell_span_what(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_loop_span_row *row = span_at(cell);
	char *text = what_of(row);

	if (!is_tail(row)) {
		hp_cell_set_text(cell, text ? text : hp_xstrdup("-"), value);
		return;
	}
	hp_cell_set_text(
		cell, hp_xprintf("%s%s%s", text ? text : "", text ? ", " : "", end_of(row)), value);
	free(text);
}

static void cell_span_by(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_loop_span_row *row = span_at(cell);

	bool is_woken = row->span.events || row->span.fd == HP_LOOP_TIMEOUT;

	value->text = row->what ? row->by : is_woken ? "woken by" : "unknown";
}

/* Without a sample or a wait, what ran in a long span is not known. */
static const char *unnamed(struct hp_report *report)
{
	const struct hp_loops *loops = hp_loops_of(report);
	const struct hp_model_sampling *sampling = &report->model.sampling;
	double ns = (double)report->settings->loop_lag_ms * 1e6;
	struct hp_text_cell limit;
	size_t count = 0;

	for (size_t i = 0; i < loops->span_count; i++)
		count += !loops->spans[i].what &&
			 (double)loops->spans[i].span.ticks * report->model.ns_per_tick > ns;
	if (!count || (sampling->is_there && !sampling->record.fault))
		return NULL;
	free(report->text);
	report->text =
		hp_xprintf("what ran in %zu span%s above %s is not known: %s", count,
			   count == 1 ? "" : "s", hp_format_time(&limit, ns),
			   sampling->is_there ? "no CPU samples were taken"
					      : "CPU samples and waits were not recorded "
						"(HOTPATH_REPORT=runtime,functions-cpu,offcpu)");
	return report->text;
}

static const struct hp_column span_columns[] = {
	{ "Loop", NULL, NULL, HP_UNIT_NAME, .get = cell_span_loop },
	{ "At", NULL, NULL, HP_UNIT_TIME, .get = cell_span_begin },
	{ "Took", NULL, NULL, HP_UNIT_TIME, .member = HP_TICKS(hp_loop_span_row, span.ticks) },
	{ "How known", NULL, NULL, HP_UNIT_TEXT, .get = cell_span_by },
	{ "What ran", NULL, NULL, HP_UNIT_CHAIN, .get = cell_span_what },
	{ 0 },
};

/* --- JSON --- */

static void add_head(struct hp_report *report, cJSON *list)
{
	hp_json_whole(list, "current_elapsed_ns", report->model.elapsed_ns);
	hp_extra_add_percentiles(report, list);
	hp_runtime_add(report, list);
}

static void add_longest(struct hp_report *report, const void *held, cJSON *entry)
{
	const struct hp_loops *loops = hp_loops_of(report);
	cJSON *array = cJSON_AddArrayToObject(entry, "longest_spans");

	for (size_t i = 0; i < loops->span_count; i++) {
		const struct hp_loop_span_row *row = &loops->spans[i];
		struct hp_cell cell = { .report = report, .row = row };
		struct hp_value value = { .text = NULL };
		cJSON *item;

		if (row->loop != held)
			continue;
		item = cJSON_CreateObject();
		cell_span_begin(&cell, &value);
		hp_json_rounded(item, "timestamp_ns", value.number);
		hp_json_rounded(item, "duration_ns",
				(double)row->span.ticks * report->model.ns_per_tick);
		hp_json_whole(item, "events", row->span.events);
		if (row->span.events == 1 && row->span.fd >= 0)
			hp_json_whole(item, "fd", (uint64_t)row->span.fd);
		if (is_tail(row))
			cJSON_AddTrueToObject(item, "is_last");
		if (row->what) {
			hp_json_text(item, "what", row->what);
			cJSON_AddStringToObject(item, "known_by", row->by);
		}
		cJSON_AddItemToArray(array, item);
	}
}

static void name_all(struct hp_report *report)
{
	hp_loops_of(report);
}

/* --- the sections --- */

static void spread_busy(struct hp_report *report, const void *row, struct hp_metric_spread *spread)
{
	const struct hp_loop_row *loop = row;

	spread->histogram = &loop->spans.holds;
	spread->unit = report->model.ns_per_tick / 1e9;
}

static const struct hp_metric metrics[] = {
	{ "waits", true, "hotpath_loop_waits", .help = "Waits of each event loop." },
	{ "park_count", true, "hotpath_loop_parks", .help = "Waits that were allowed to sleep." },
	{ "events", true, "hotpath_loop_events", .help = "Events that these waits returned." },
	{ "timeouts", true, "hotpath_loop_timeouts", .help = "Waits that ended by their timeout." },
	{ "woken_remote", true, "hotpath_loop_remote_wakes",
	  .help = "Waits that another thread ended by an eventfd, a pipe or a socket pair." },
	{ "timer_reads", true, "hotpath_loop_timer_reads", .help = "Reads of timerfds." },
	{ "timers_missed", true, "hotpath_loop_timers_missed",
	  .help = "Expirations of timerfds beyond one a read." },
	{ "timers_late_avg_ns", false, "hotpath_loop_timers_late_seconds",
	  .help = "Mean time from a timerfd's expiration to its read.", .scale = 1e-9 },
	{ "busy_ns", true, "hotpath_loop_busy_seconds", .help = "Time between two waits.",
	  .scale = 1e-9 },
	{ "wait_ns", true, "hotpath_loop_wait_seconds", .help = "Time in waits.", .scale = 1e-9 },
	{ "busy_max_ns", false, "hotpath_loop_busy_max_seconds", .help = "The longest busy span.",
	  .scale = 1e-9 },
	{ "busy_avg_ns", .name = "hotpath_loop_busy_span_seconds", .spread = spread_busy,
	  .help = "Busy spans of each event loop." },
	{ "descriptors", false, "hotpath_loop_descriptors",
	  .help = "Descriptors that the loop watches." },
	{ 0 },
};

static const struct hp_label_key labels[] = {
	{ "loop", "label" }, { "kind", "kind" }, { "source", "source" }, { "tid", "tid" }, { 0 }
};

#define NONE "no thread waits for several descriptors again and again"

const struct hp_section hp_loops_section = {
	.key = HP_KEY_LOOPS,
	.json = "tokio_runtime",
	.name = "event loops",
	.help = "event loops: waiting, busy, longest busy spans",
	.subject = HP_SUBJECT_LOOP,
	.columns = columns,
	.needs = HP_RECORDED_LOOPS,
	.fill = loops_fill,
	.usual = LIMIT,
	.is_quiet = true,
	.has_data = loops_have_data,
	.about = "Event loops: waits, events, and busy time between two waits.",
	.none = NONE,
	.after = lag,
	.extra = { .head = add_head,
		   .raw = add_longest,
		   .list_keys = "current_elapsed_ns:i percentiles:[n] num_workers:i "
				"num_alive_tasks:i global_queue_depth:i "
				"remote_schedule_count:i "
				"io_driver_fd_registered_count:i "
				"io_driver_fd_deregistered_count:i io_driver_ready_count:i "
				"workers:[o]",
		   .raw_keys = "longest_spans:[o]" },
	.name_all = name_all,
	.tool = { .help = "Event loops: waits, events, busy time, longest busy spans.",
		  .meaning =
			  "A loop waits for events (parks) and is busy between two waits. A long busy "
			  "span delays everything else that it serves.",
		  .next = "functions_cpu for the code that runs in it; offcpu if it is busy "
			  "without using the CPU." },
	.metrics = metrics,
	.labels = labels,
};

const struct hp_section hp_loop_spans_section = {
	.key = "loop-spans",
	.json = "",
	.name = "longest busy spans",
	.help = "longest busy spans of event loops, with what ran",
	.subject = HP_SUBJECT_LOOP,
	.columns = span_columns,
	.needs = HP_RECORDED_LOOPS,
	.fill = spans_fill,
	.usual = SPANS_LIMIT,
	.with = &hp_loops_section,
	.is_quiet = true,
	.has_data = spans_have_data,
	.after = unnamed,
	.about = "Longest times in which event loops served nothing else.",
	.none = "no event loop was busy",
};
