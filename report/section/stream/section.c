/* SPDX-License-Identifier: MIT */
/*
 * section.c - the section of streams: see stream.h.
 *
 * Unrecorded items and bytes are "-", or have a bound.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/json.h"
#include "report/base/memory.h"
#include "report/name/symbol.h"
#include "report/section/core/list.h"
#include "report/section/stream/stream.h"
#include "report/section/wait/lock_cells.h"
#include "report/section/wait/lock_section.h"

#define LIMIT 15	/* rows, unless a variable says otherwise */

static const struct hp_stream_row *row_at(const struct hp_cell *cell)
{
	return cell->row;
}

/* --- lists --- */

/* Nothing was read, for all that is known; nobody has connected yet says something. */
static bool is_unread(const struct hp_stream_row *row)
{
	return !row->items && !row->bytes && !row->label && !row->ended[HP_STREAM_FAILED] &&
	       !(row->flags & (HP_STREAM_NO_ITEMS | HP_STREAM_NO_BYTES)) &&
	       row->kind != HP_STREAM_ACCEPT;
}

/* Labels first, then the streams with most items. */
static int compare_rows(const void *left, const void *right)
{
	const struct hp_stream_row *a = *(const struct hp_stream_row *const *)left;
	const struct hp_stream_row *b = *(const struct hp_stream_row *const *)right;

	if (is_unread(a) != is_unread(b))
		return is_unread(a) ? 1 : -1;
	if (!a->label != !b->label)
		return a->label ? -1 : 1;
	if (a->items != b->items)
		return a->items > b->items ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->id < b->id ? -1 : 1;
}

/* Descriptors that are made and never read would crowd the table, unless a limit is asked for. */
static void unread_cut(const struct hp_report *report, struct hp_list *list)
{
	const struct hp_settings *settings = report->settings;
	size_t read = 0;

	while (read < list->total && !is_unread(list->rows[read]))
		read++;
	if (read && read < list->shown && !report->is_uncut &&
	    settings->streams_limit == HP_LIMIT_UNSET && settings->limit == HP_LIMIT_UNSET)
		list->shown = read;
}

static void fill(struct hp_report *report, struct hp_list *list)
{
	const struct hp_streams *streams = hp_streams_named(report);

	list->rows = hp_xcalloc(streams->count + 1, sizeof(*list->rows));
	list->total = 0;
	for (size_t i = 0; i < streams->count; i++)
		if (!streams->rows[i].is_copy)
			list->rows[list->total++] = &streams->rows[i];
	if (list->total)
		qsort(list->rows, list->total, sizeof(*list->rows), compare_rows);
	hp_section_cut(&hp_streams_section, report, list);
	unread_cut(report, list);
}

/* Every program reads a few small files: those do not make the table appear. */
#define ITEMS_MIN 1000
#define BYTES_MIN (UINT64_C(1) << 20)

static bool is_notable(const struct hp_stream_row *row)
{
	return row->label || row->ended[HP_STREAM_FAILED] || row->items >= ITEMS_MIN ||
	       row->bytes >= BYTES_MIN;
}

static bool has_data(const struct hp_report *report)
{
	const struct hp_streams *streams = hp_streams_of(report);

	for (size_t i = 0; i < streams->count; i++)
		if (is_notable(&streams->rows[i]))
			return true;
	return false;
}

static const char *note(struct hp_report *report)
{
	struct hp_text_cell cell;
	uint64_t lost = hp_streams_of(report)->lost;

	if (!lost)
		return NULL;
	free(report->text);
	report->text = hp_xprintf("%s streams without room for a record: not counted",
				  hp_format_count(&cell, lost));
	return report->text;
}

static void name_all(struct hp_report *report)
{
	const struct hp_streams *streams = hp_streams_named(report);

	for (size_t i = 0; i < streams->all; i++)
		hp_stream_name(report, &streams->rows[i]);
}

/* --- columns --- */

static const char *const kinds[HP_STREAM_KINDS] = {
	[HP_STREAM_CUSTOM] = "stream",	 [HP_STREAM_FILE] = "FILE",
	[HP_STREAM_DIR] = "DIR",	 [HP_STREAM_ACCEPT] = "accept",
	[HP_STREAM_TIMER] = "timerfd",	 [HP_STREAM_SIGNAL] = "signalfd",
	[HP_STREAM_INOTIFY] = "inotify", [HP_STREAM_GINPUT] = "GInputStream",
	[HP_STREAM_WRITTEN] = "FILE",
};

static void cell_name(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = hp_stream_name(cell->report, row_at(cell));
	value->is_label = true;
}

static void cell_kind(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = kinds[row_at(cell)->kind];
}

static void cell_source(const struct hp_cell *cell, struct hp_value *value)
{
	hp_cell_set_text(cell, hp_spot_text(hp_stream_spot(cell->report, row_at(cell))), value);
}

/* In the terms of the Rust crate, except for errors. */
static void cell_state(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_stream_row *row = row_at(cell);

	value->text = row->open ? "active" : row->ended[HP_STREAM_FAILED] ? "error" : "closed";
}

static void cell_state_word(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_stream_row *row = row_at(cell);
	struct hp_text_cell failed;

	if (row->ended[HP_STREAM_FAILED] && row->instances > 1) {
		hp_format_count(&failed, row->ended[HP_STREAM_FAILED]);
		hp_cell_set_text(cell, hp_xprintf("%s failed", failed.text), value);
		return;
	}
	value->text = row->ended[HP_STREAM_FAILED]   ? "error"
		      : row->open		     ? "open"
		      : row->ended[HP_STREAM_LEFT]   ? "left open"
		      : row->ended[HP_STREAM_CLOSED] ? "closed"
						     : "ended";
}

static void cell_path(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_stream_row *row = row_at(cell);

	value->is_unknown = !row->path || row->flags & HP_STREAM_NAMES;
	if (!value->is_unknown)
		hp_cell_set_text(cell, hp_text_clean(row->path), value);
}

static void set_partial(uint64_t count, bool is_partial, struct hp_value *value)
{
	value->number = (double)count;
	value->is_unknown = is_partial && !count;
	value->is_bound = is_partial;
}

/* Bytes without items: an unrecorded call reads it. */
static bool has_unseen_items(const struct hp_stream_row *row)
{
	return row->flags & HP_STREAM_NO_ITEMS || (!row->items && row->bytes);
}

static void cell_items(const struct hp_cell *cell, struct hp_value *value)
{
	set_partial(row_at(cell)->items, has_unseen_items(row_at(cell)), value);
}

static void cell_bytes(const struct hp_cell *cell, struct hp_value *value)
{
	set_partial(row_at(cell)->bytes, row_at(cell)->flags & HP_STREAM_NO_BYTES, value);
	value->is_unknown |=
		row_at(cell)->kind == HP_STREAM_ACCEPT || row_at(cell)->kind == HP_STREAM_DIR;
}

static double active_ns(const struct hp_cell *cell)
{
	return (double)row_at(cell)->active_ticks * cell->report->model.ns_per_tick;
}

static bool has_rate(const struct hp_cell *cell)
{
	const struct hp_stream_row *row = row_at(cell);

	return row->items > row->instances && row->active_ticks && !has_unseen_items(row);
}

static void cell_rate(const struct hp_cell *cell, struct hp_value *value)
{
	value->is_unknown = !has_rate(cell);
	value->number = value->is_unknown ? 0 : (double)row_at(cell)->items * 1e9 / active_ns(cell);
}

/* The first item of each instance has no gap before it. */
static void cell_gap(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_stream_row *row = row_at(cell);

	value->is_unknown = !has_rate(cell);
	value->number =
		value->is_unknown ? 0 : active_ns(cell) / (double)(row->items - row->instances);
}

static bool is_estimated(const struct hp_stream_row *row)
{
	return row->gaps.timed + row->instances < row->items;
}

static void cell_gap_percentile(const struct hp_cell *cell, struct hp_value *value)
{
	hp_lock_set_ticks(cell, hp_lock_hold_percentile(&row_at(cell)->gaps, cell->percentile),
			  value);
	value->is_estimated = is_estimated(row_at(cell));
	value->is_bound = value->is_estimated && cell->percentile >= 100;
}

static void cell_gap_most(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_stream_row *row = row_at(cell);

	hp_lock_set_ticks(cell, row->gaps.timed ? (double)row->gaps.hold_most : -1, value);
	value->is_bound = row->gaps.timed && is_estimated(row);
}

static void cell_closed(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_stream_row *row = row_at(cell);

	value->number = row->instances > row->open ? (double)(row->instances - row->open) : 0;
}

static void cell_zero(const struct hp_cell *cell, struct hp_value *value)
{
	(void)cell;
	value->number = 0;
}

static const struct hp_column columns[] = {
	{ .key = "id", .raw = "id", .unit = HP_UNIT_NUMBER, .member = HP_MEMBER(hp_stream_row, id) },
	{ "Stream", "label", "label", HP_UNIT_NAME, .get = cell_name },
	{ NULL, "source", "source", HP_UNIT_TEXT, .get = cell_source },
	{ "Type", "type_name", "type_name", HP_UNIT_TEXT, .get = cell_kind },
	{ .key = "type_size", .unit = HP_UNIT_NUMBER, .get = cell_zero },
	{ "Inst", "instances", "instances", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_stream_row, instances) },
	{ NULL, "closed_instances", "closed_instances", HP_UNIT_COUNT, .get = cell_closed },
	{ .key = "state", .raw = "state", .unit = HP_UNIT_TEXT, .get = cell_state },
	{ .title = "State", .unit = HP_UNIT_TEXT, .get = cell_state_word },
	{ "Items", NULL, "items_yielded", HP_UNIT_COUNT, .get = cell_items },
	{ .key = "items_yielded",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_stream_row, items) },
	{ "Bytes", "bytes", "bytes", HP_UNIT_BYTES, .get = cell_bytes },
	{ "Items/s", "items_per_sec", "items_per_sec", HP_UNIT_RATE, .get = cell_rate },
	{ "Gap", "gap_avg", "gap_avg_ns", HP_UNIT_TIME, .get = cell_gap },
	{ .raw = "gap_p", .unit = HP_UNIT_TIME, .get = cell_gap_percentile, .is_percentiles = true },
	{ NULL, "gap_max", "gap_max_ns", HP_UNIT_TIME, .get = cell_gap_most,
	  .need = HP_NEED_KNOWN },
	{ .raw = "gaps_timed",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_stream_row, gaps.timed) },
	{ .key = "path",
	  .raw = "path",
	  .unit = HP_UNIT_TEXT,
	  .get = cell_path,
	  .need = HP_NEED_KNOWN },
	{ .raw = "ended",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_stream_row, ended[HP_STREAM_ENDED]) },
	{ .raw = "closed_early",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_stream_row, ended[HP_STREAM_CLOSED]) },
	{ .raw = "failed",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_stream_row, ended[HP_STREAM_FAILED]) },
	{ .raw = "left_open",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_stream_row, ended[HP_STREAM_LEFT]) },
	{ 0 },
};

/* --- JSON --- */

static void add_head(struct hp_report *report, cJSON *list)
{
	hp_json_whole(list, "current_elapsed_ns", report->model.elapsed_ns);
}

/* Without debug information: the module, line 0. */
static void add_identity(struct hp_report *report, const void *held, cJSON *entry)
{
	const struct hp_stream_row *row = held;
	const struct hp_symbol_spot *spot = hp_stream_spot(report, row);
	uint32_t object = row->site.object;
	const char *path = object == HP_NONE ? "?" : report->model.objects[object].path;
	bool has_line = spot && spot->file;

	cJSON_AddBoolToObject(entry, "has_custom_label", row->label != NULL);
	hp_json_location(entry, has_line ? spot->file : path, has_line ? (int)spot->line : 0,
			 has_line ? (int)spot->column : 0);
	hp_json_whole(entry, "iter", 0);
}

static void add_logs(struct hp_report *report, const void *held, cJSON *entry)
{
	const struct hp_stream_row *row = held;
	uint64_t start = report->model.reader.header.start.ticks;
	cJSON *array = cJSON_AddArrayToObject(entry, "logs");

	for (size_t i = 0; i < row->log_count; i++) {
		const struct hp_stream_entry *record = &row->logs[i].record;
		uint64_t ticks = record->ticks > start ? record->ticks - start : 0;
		cJSON *item = cJSON_CreateObject();

		hp_json_whole(item, "index", record->item);
		hp_json_rounded(item, "timestamp_ns", (double)ticks * report->model.ns_per_tick);
		if (record->size != UINT64_MAX)
			hp_json_whole(item, "size", record->size);
		hp_json_whole(item, "tid", record->tid);
		if (row->logs[i].text)
			hp_json_text(item, "message", row->logs[i].text);
		cJSON_AddItemToArray(array, item);
	}
}

/* --- the section --- */

static const struct hp_metric metrics[] = {
	{ "items_yielded", true, "hotpath_stream_items", .help = "Items read from each stream." },
	{ "bytes", true, "hotpath_stream_bytes", .help = "Their bytes, as far as known." },
	{ "instances", true, "hotpath_stream_instances_created",
	  .help = "Streams that were opened at this place." },
	{ "closed_instances", true, "hotpath_stream_instances_closed",
	  .help = "Closed streams of this place." },
	{ 0 },
};

static const struct hp_label_key labels[] = {
	{ "source", "source" },
	{ "label", "label" },
	{ "iter", "iter" },
	{ "payload", "type_name" },
	{ 0 },
};

const struct hp_section hp_streams_section = {
	.key = HP_KEY_STREAMS,
	.json = "streams",
	.name = "streams",
	.help = "streams: items, bytes and the gaps between items",
	.subject = HP_SUBJECT_CHANNEL,
	.columns = columns,
	.needs = HP_RECORDED_STREAMS,
	.fill = fill,
	.limit = HP_MEMBER(hp_settings, streams_limit),
	.usual = LIMIT,
	.is_quiet = true,
	.has_data = has_data,
	.about = "Streams: sources of items, by the place that opened them.",
	.none = "the program read no FILE or directory, and marks none with HOTPATH_STREAM",
	.note = note,
	.extra = { .head = add_head,
		   .data = add_identity,
		   .raw = add_logs,
		   .list_keys = "current_elapsed_ns:i",
		   .data_keys = "has_custom_label:b location:@location iter:i",
		   .raw_keys = "logs:[o]" },
	.name_all = name_all,
	.tool = { .help = "Streams: items, bytes and their pace.",
		  .meaning =
			  "Items and bytes that were read, how many streams the place opened, "
			  "and the mean and longest gap between two items. The rate is from the first item to the last.",
		  .next = "stream_logs with a row's id." },
	.has_own_ids = true,
	.metrics = metrics,
	.labels = labels,
};
