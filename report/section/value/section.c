/* SPDX-License-Identifier: MIT */
/*
 * section.c - the section of values that the program publishes: see value.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/json.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/core/section.h"
#include "report/section/value/value.h"
#include "segment/section_key.h"

#define SHORT 24	/* columns of a value in tables */

/* --- lists --- */

static int compare_rows(const void *left, const void *right)
{
	const struct hp_value_row *a = *(const struct hp_value_row *const *)left;
	const struct hp_value_row *b = *(const struct hp_value_row *const *)right;
	int order;

	if (a->is_free != b->is_free)
		return a->is_free ? 1 : -1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->is_free)
		return a->id < b->id ? -1 : 1;
	order = strcmp(a->name, b->name);
	return order ? order : a->id < b->id ? -1 : 1;
}

static void fill(struct hp_report *report, struct hp_list *list)
{
	const struct hp_values *values = hp_values_of(report);

	list->rows = hp_xcalloc(values->count + 1, sizeof(*list->rows));
	list->total = 0;
	for (size_t i = 0; i < values->count; i++)
		list->rows[list->total++] = &values->rows[i];
	if (list->total)
		qsort(list->rows, list->total, sizeof(*list->rows), compare_rows);
	hp_section_cut(&hp_debug_section, report, list);
}

/* Gauges that always exist do not justify a table on their own. */
static bool has_data(const struct hp_report *asked)
{
	const struct hp_values *values = hp_values_of((struct hp_report *)(uintptr_t)asked);

	return values->count && !values->rows[0].is_free;
}

static const char *note(struct hp_report *report)
{
	struct hp_text_cell cell;
	uint64_t lost = hp_values_of(report)->lost;

	if (!lost)
		return NULL;
	free(report->text);
	report->text = hp_xprintf("%s places without room for a record: not counted",
				  hp_format_count(&cell, lost));
	return report->text;
}

/* --- columns --- */

static const struct hp_value_row *row_at(const struct hp_cell *cell)
{
	return cell->row;
}

static void cell_type(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = hp_value_kind_name(row_at(cell)->kind);
}

static void cell_name(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_value_row *row = row_at(cell);
	char *clean = hp_text_clean(row->name);

	if (row->is_one_of) {
		char *longer = hp_xprintf("%s [%u]", clean, row->pid);

		free(clean);
		clean = longer;
	}
	value->is_label = true;
	hp_cell_set_text(cell, clean, value);
}

static void cell_last(const struct hp_cell *cell, struct hp_value *value)
{
	hp_cell_set_text(cell, hp_shown_text(&row_at(cell)->last), value);
}

/* Tables: shortened to leave room for the other columns. */
static void cell_short(const struct hp_cell *cell, struct hp_value *value)
{
	char *text = hp_shown_text(&row_at(cell)->last);
	size_t start = hp_text_start(text, SHORT);

	if (text[start])
		strcpy(text + hp_text_start(text, SHORT - 3), "...");
	hp_cell_set_text(cell, text, value);
}

static void last_number(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_value_row *row = row_at(cell);

	value->is_unknown = !hp_value_number(&row->last, &value->number);
}

static void bound_set(const struct hp_cell *cell, double bound, bool is_text,
		      struct hp_value *value)
{
	struct hp_value_seen seen = { .number = 1, .type = HP_VALUE_DOUBLE };

	value->is_unknown = row_at(cell)->kind != HP_VALUE_GAUGE || !isfinite(bound);
	if (value->is_unknown)
		return;
	value->number = bound;
	memcpy(&seen.bits, &bound, sizeof(bound));
	if (is_text)
		hp_cell_set_text(cell, hp_shown_text(&seen), value);
}

static void cell_least(const struct hp_cell *cell, struct hp_value *value)
{
	bound_set(cell, row_at(cell)->least, true, value);
}

static void cell_most(const struct hp_cell *cell, struct hp_value *value)
{
	bound_set(cell, row_at(cell)->most, true, value);
}

static void least_number(const struct hp_cell *cell, struct hp_value *value)
{
	bound_set(cell, row_at(cell)->least, false, value);
}

static void most_number(const struct hp_cell *cell, struct hp_value *value)
{
	bound_set(cell, row_at(cell)->most, false, value);
}

static void cell_source(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_value_row *row = row_at(cell);

	if (row->file)
		hp_cell_set_text(cell, hp_value_source(row->file, row->line), value);
	else
		value->text = row->is_free ? "hotpath" : "?";
}

/* Tables: only the file. */
static void cell_file(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_value_row *row = row_at(cell);
	const char *slash = row->file ? strrchr(row->file, '/') : NULL;

	if (row->file)
		hp_cell_set_text(
			cell, hp_xprintf("%s:%u", slash ? slash + 1 : row->file, row->line), value);
	else
		value->text = row->is_free ? "hotpath" : "?";
}

static void cell_count(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = (double)row_at(cell)->count;
	value->is_unknown = row_at(cell)->is_free;
}

static const struct hp_column columns[] = {
	{ .key = "id", .raw = "id", .unit = HP_UNIT_NUMBER, .member = HP_MEMBER(hp_value_row, id) },
	{ "Key or expression", "expression", "expression", HP_UNIT_NAME, .get = cell_name },
	{ "Type", "entry_type", "entry_type", HP_UNIT_TEXT, .get = cell_type },
	{ .title = "Value", .unit = HP_UNIT_TEXT, .get = cell_short },
	{ .key = "last_value", .raw = "last_value", .unit = HP_UNIT_TEXT, .get = cell_last },
	{ .raw = "last", .unit = HP_UNIT_RATE, .get = last_number },
	{ "Updates", NULL, NULL, HP_UNIT_COUNT, .get = cell_count },
	{ .key = "log_count",
	  .raw = "count",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_value_row, count) },
	{ "Min", "min", NULL, HP_UNIT_TEXT, .get = cell_least, .need = HP_NEED_KNOWN },
	{ .raw = "min", .unit = HP_UNIT_RATE, .get = least_number, .need = HP_NEED_KNOWN },
	{ "Max", "max", NULL, HP_UNIT_TEXT, .get = cell_most, .need = HP_NEED_KNOWN },
	{ .raw = "max", .unit = HP_UNIT_RATE, .get = most_number, .need = HP_NEED_KNOWN },
	{ .key = "source", .raw = "source", .unit = HP_UNIT_TEXT, .get = cell_source },
	{ .key = "source_display", .unit = HP_UNIT_TEXT, .get = cell_source },
	{ .title = "Source", .unit = HP_UNIT_TEXT, .get = cell_file },
	{ .raw = "pid", .unit = HP_UNIT_NUMBER, .member = HP_MEMBER(hp_value_row, pid) },
	{ 0 },
};

/* --- JSON --- */

static void add_head(struct hp_report *report, struct cJSON *list)
{
	hp_json_whole(list, "current_elapsed_ns", report->model.elapsed_ns);
}

static void add_location(struct hp_report *report, const void *place, struct cJSON *entry)
{
	const struct hp_value_row *row = place;

	(void)report;
	if (row->file)
		hp_json_location(entry, row->file, (int)row->line, 0);
}

/* --- the section --- */

static const struct hp_metric metrics[] = {
	{ "last", false, "hotpath_value", .help = "Last value of gauges, and of numbers shown." },
	{ "min", false, "hotpath_value_min", .help = "Least value of each gauge since the start." },
	{ "max", false, "hotpath_value_max",
	  .help = "Largest value of each gauge since the start." },
	{ "count", true, "hotpath_value_updates",
	  .help = "How often each of them was set or shown." },
	{ 0 },
};

static const struct hp_label_key labels[] = {
	{ "key", "expression" }, { "type", "entry_type" }, { "source", "source" }, { 0 }
};

const struct hp_section hp_debug_section = {
	.key = HP_KEY_DEBUG,
	.json = "debug",
	.name = "debug",
	.help = "values and gauges",
	.subject = HP_SUBJECT_MIXED,
	.columns = columns,
	.rows = "entries",
	.needs = HP_RECORDED_VALUES,
	.fill = fill,
	.is_quiet = true,
	.has_data = has_data,
	.about = "Last values of HOTPATH_DBG, HOTPATH_VAL and gauges.",
	.none = "the program shows none; HOTPATH_DBG, HOTPATH_VAL and HOTPATH_GAUGE_SET of hotpath.h show values",
	.note = note,
	.extra = { .head = add_head,
		   .data = add_location,
		   .list_keys = "current_elapsed_ns:i",
		   .data_keys = "location:@location" },
	.has_own_ids = true,
	.tool = { .help = "Expressions, values and gauges that the program shows.",
		  .meaning =
			  "The last value of each expression (dbg), key (val) and gauge, how "
			  "often it was set, and the least and largest value of gauges. Those with the source hotpath always exist.",
		  .next = "gauge_logs, dbg_logs or val_logs with a row's id." },
	.metrics = metrics,
	.labels = labels,
};
