/* SPDX-License-Identifier: MIT */
/*
 * section.c - the section of futures, see future.h.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/json.h"
#include "report/base/memory.h"
#include "report/name/symbol.h"
#include "report/section/core/list.h"
#include "report/section/core/section.h"
#include "report/section/future/future.h"
#include "segment/section_key.h"

#define LIMIT 15	/* rows, unless a variable says otherwise */

/* --- lists --- */

/* Labels first, then by name, as clients of this format expect. */
static int compare_rows(const void *left, const void *right)
{
	const struct hp_future_row *a = *(const struct hp_future_row *const *)left;
	const struct hp_future_row *b = *(const struct hp_future_row *const *)right;
	int order;

	if (!a->label != !b->label)
		return a->label ? -1 : 1;
	order = strcmp(a->name, b->name);
	return order ? order : a->id < b->id ? -1 : 1;
}

static void fill(struct hp_report *report, struct hp_list *list)
{
	const struct hp_futures *futures = hp_futures_named(report);

	list->rows = hp_xcalloc(futures->count + 1, sizeof(*list->rows));
	list->total = 0;
	for (size_t i = 0; i < futures->count; i++)
		if (!futures->rows[i].is_copy)
			list->rows[list->total++] = &futures->rows[i];
	if (list->total)
		qsort(list->rows, list->total, sizeof(*list->rows), compare_rows);
	hp_section_cut(&hp_futures_section, report, list);
}

static bool has_data(const struct hp_report *report)
{
	const struct hp_futures *futures = hp_futures_of(report);

	for (size_t i = 0; i < futures->count; i++)
		if (futures->rows[i].kind != HP_FUTURE_THREAD &&
		    futures->rows[i].kind != HP_FUTURE_CONNECT)
			return true;
	return false;
}

static const char *note(struct hp_report *report)
{
	const struct hp_futures *futures = hp_futures_of(report);
	uint64_t lost = futures->lost;
	struct hp_text_cell cell;

	for (size_t i = 0; i < futures->count; i++)
		lost += futures->rows[i].lost;
	if (!lost)
		return NULL;
	free(report->text);
	report->text =
		hp_xprintf("%s calls without room for a record, or with an end that was not seen",
			   hp_format_count(&cell, lost));
	return report->text;
}

static void name_all(struct hp_report *report)
{
	hp_futures_named(report);
}

/* --- columns --- */

static const struct hp_future_row *row_at(const struct hp_cell *cell)
{
	return cell->row;
}

static void cell_name(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = row_at(cell)->name;
	value->is_label = row_at(cell)->kind != HP_FUTURE_COROUTINE || row_at(cell)->label;
}

static void cell_kind(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = hp_future_kind_name(row_at(cell)->kind);
}

/* Tables with only the header's futures need no kind for each. */
static void cell_kind_other(const struct hp_cell *cell, struct hp_value *value)
{
	cell_kind(cell, value);
	value->is_unknown = row_at(cell)->kind == HP_FUTURE_CUSTOM;
}

/* Tables omit columns that are 0 in all rows. */
static void cell_some(const struct hp_cell *cell, struct hp_value *value)
{
	hp_cell_get_member(cell, value);
	value->is_unknown = value->number == 0;
}

static void mean_set(const struct hp_cell *cell, uint64_t ticks, uint64_t count,
		     struct hp_value *value)
{
	value->is_unknown = !count;
	if (count)
		value->number = (double)ticks * cell->report->model.ns_per_tick / (double)count;
}

static void cell_poll_total(const struct hp_cell *cell, struct hp_value *value)
{
	mean_set(cell, row_at(cell)->poll_ticks, row_at(cell)->timed != 0, value);
}

static void cell_total_mean(const struct hp_cell *cell, struct hp_value *value)
{
	mean_set(cell, row_at(cell)->total_ticks, row_at(cell)->totals, value);
}

static void cell_queued_mean(const struct hp_cell *cell, struct hp_value *value)
{
	mean_set(cell, row_at(cell)->queued_ticks, row_at(cell)->queued, value);
}

/* Of a call, as in the crate. */
static void cell_alloc_mean(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_future_row *row = row_at(cell);

	value->is_unknown = !row->alloc_bytes || !row->calls;
	if (!value->is_unknown)
		value->number = (double)row->alloc_bytes / (double)row->calls;
}

static void state_set(const struct hp_cell *cell, enum hp_future_state state,
		      struct hp_value *value)
{
	value->number = (double)row_at(cell)->in_state[state];
}

static void cell_pending(const struct hp_cell *cell, struct hp_value *value)
{
	state_set(cell, HP_FUTURE_PENDING, value);
}

static void cell_running(const struct hp_cell *cell, struct hp_value *value)
{
	state_set(cell, HP_FUTURE_RUNNING, value);
}

static void cell_suspended(const struct hp_cell *cell, struct hp_value *value)
{
	state_set(cell, HP_FUTURE_SUSPENDED, value);
}

#define WHOLE(key_, name_) \
	{ \
		.key = key_, .raw = key_, .unit = HP_UNIT_NUMBER, \
		.member = HP_MEMBER(hp_future_row, name_) \
	}
#define WHOLE_NS(key_, name_) \
	{ \
		.key = key_, .raw = key_, .unit = HP_UNIT_NUMBER, \
		.member = HP_TICKS(hp_future_row, name_) \
	}
#define STATE(key_, get_) \
	{ \
		.key = key_, .raw = key_, .unit = HP_UNIT_NUMBER, .get = get_ \
	}

static const struct hp_column columns[] = {
	WHOLE("id", id),
	{ "Future", "label", "label", HP_UNIT_NAME, .get = cell_name },
	{ NULL, "source", "source", HP_UNIT_TEXT, .member = HP_MEMBER(hp_future_row, source) },
	{ .title = "Kind", .unit = HP_UNIT_TEXT, .get = cell_kind_other, .need = HP_NEED_KNOWN },
	{ .key = "kind", .raw = "kind", .unit = HP_UNIT_TEXT, .get = cell_kind },
	{ .title = "Calls", .unit = HP_UNIT_COUNT, .member = HP_MEMBER(hp_future_row, calls) },
	WHOLE("call_count", calls),
	{ .title = "Cancelled",
	  .unit = HP_UNIT_COUNT,
	  .get = cell_some,
	  .need = HP_NEED_KNOWN,
	  .member = HP_MEMBER(hp_future_row, cancelled) },
	{ .title = "Open",
	  .unit = HP_UNIT_COUNT,
	  .get = cell_some,
	  .need = HP_NEED_KNOWN,
	  .member = HP_MEMBER(hp_future_row, open) },
	{ .title = "Polls",
	  .unit = HP_UNIT_COUNT,
	  .get = cell_some,
	  .need = HP_NEED_KNOWN,
	  .member = HP_MEMBER(hp_future_row, polls) },
	WHOLE("total_polls", polls),
	WHOLE("sampled_polls", timed),
	{ .title = "Polled",
	  .unit = HP_UNIT_TIME,
	  .get = cell_poll_total,
	  .need = HP_NEED_KNOWN,
	  .spare = 1 },
	WHOLE_NS("total_poll_duration_ns", poll_ticks),
	{ .title = "Queued", .unit = HP_UNIT_TIME, .get = cell_queued_mean, .need = HP_NEED_KNOWN },
	{ .title = "Avg time", .unit = HP_UNIT_TIME, .get = cell_total_mean, .need = HP_NEED_KNOWN },
	{ .title = "Avg alloc",
	  .unit = HP_UNIT_BYTES,
	  .get = cell_alloc_mean,
	  .need = HP_NEED_KNOWN,
	  .spare = 1 },
	WHOLE("total_poll_alloc_bytes", alloc_bytes),
	WHOLE("total_poll_alloc_count", alloc_blocks),
	WHOLE("ready_count", ready),
	WHOLE("cancelled_count", cancelled),
	WHOLE("open_count", open),
	STATE("pending_count", cell_pending),
	STATE("running_count", cell_running),
	STATE("suspended_count", cell_suspended),
	WHOLE("lost_count", lost),
	WHOLE_NS("max_poll_duration_ns", poll_most),
	WHOLE("timed_calls", totals),
	WHOLE_NS("total_duration_ns", total_ticks),
	WHOLE_NS("max_duration_ns", total_most),
	WHOLE("queued_calls", queued),
	WHOLE_NS("total_queued_ns", queued_ticks),
	{ 0 },
};

/* --- JSON --- */

static void add_head(struct hp_report *report, struct cJSON *list)
{
	hp_json_whole(list, "current_elapsed_ns", report->model.elapsed_ns);
}

/* Without debug information: the module, line 0. */
static void add_identity(struct hp_report *report, const void *place, struct cJSON *entry)
{
	const struct hp_future_row *row = place;
	const struct hp_symbol_spot *spot = row->file ? NULL : hp_future_spot(report, row);
	const char *path =
		row->site.object == HP_NONE ? "?" : report->model.objects[row->site.object].path;

	cJSON_AddBoolToObject(entry, "has_custom_label", row->label != NULL);
	if (row->file)
		hp_json_location(entry, row->file, (int)row->line, 0);
	else if (spot && spot->file)
		hp_json_location(entry, spot->file, spot->line, spot->column);
	else
		hp_json_location(entry, path, 0, 0);
}

/* --- the section --- */

static const struct hp_metric metrics[] = {
	{ "call_count", true, "hotpath_future_calls", .help = "Calls of each future." },
	{ "ready_count", true, "hotpath_future_ready", .help = "Calls that were finished." },
	{ "cancelled_count", true, "hotpath_future_cancelled",
	  .help = "Calls that were cancelled." },
	{ "open_count", false, "hotpath_future_open", .help = "Calls that have not ended." },
	{ "total_polls", true, "hotpath_future_polls", .help = "Polls of each future." },
	{ "sampled_polls", true, "hotpath_future_sampled_polls",
	  .help = "Polls with a known duration." },
	{ "total_poll_duration_ns", true, "hotpath_future_poll_seconds",
	  .help = "Time spent in these polls.", .scale = 1e-9 },
	{ "total_poll_alloc_bytes", true, "hotpath_future_poll_alloc_bytes",
	  .help = "Bytes allocated in polls of each future." },
	{ "total_poll_alloc_count", true, "hotpath_future_poll_allocs",
	  .help = "Allocations in polls of each future." },
	{ "total_queued_ns", true, "hotpath_future_queued_seconds",
	  .help = "Time from the start of calls to their first poll.", .scale = 1e-9 },
	{ 0 },
};

static const struct hp_label_key labels[] = {
	{ "source", "source" }, { "label", "label" }, { "kind", "kind" }, { 0 }
};

const struct hp_section hp_futures_section = {
	.key = HP_KEY_FUTURES,
	.json = "futures",
	.name = "futures",
	.help = "futures: work that is started, polled and finished",
	.subject = HP_SUBJECT_MIXED,
	.columns = columns,
	.needs = HP_RECORDED_FUTURES,
	.fill = fill,
	.limit = HP_MEMBER(hp_settings, futures_limit),
	.usual = LIMIT,
	.is_quiet = true,
	.has_data = has_data,
	.about = "Future poll and lifecycle statistics.",
	.none = "no futures were recorded: HOTPATH_FUTURE of hotpath.h records them",
	.note = note,
	.extra = { .head = add_head,
		   .data = add_identity,
		   .list_keys = "current_elapsed_ns:i",
		   .data_keys = "has_custom_label:b! location:@location" },
	.name_all = name_all,
	.has_own_ids = true,
	.tool = { .help = "Futures: work that is started, polled and finished, with polls and outcomes.",
		  .meaning =
			  "A call begins at the place that the row names, is polled any number of "
			  "times, and finally is ready or cancelled; open_count is the number "
			  "that have not ended. total_queued_ns is the "
			  "time from their start to the first poll.",
		  .next = "future_logs with a row's id: its last calls." },
	.metrics = metrics,
	.labels = labels,
};
