/* SPDX-License-Identifier: MIT */
/*
 * function.c - the section of functions that allocate.
 *
 * For a program with instrumented functions: the charges of their calls, with
 * percentiles over calls.  In any other one, functions according to call paths:
 * those that call the allocator, through wrappers or not.  Columns that only one
 * of the two has are omitted in the other.
 */
#include <stdlib.h>

#include "report/section/memory/view.h"
#include "report/section/core/list.h"
#include "report/section/timing/function.h"
#include "report/base/format.h"
#include "report/base/json.h"
#include "report/base/memory.h"
#include "segment/layout/header.h"

/* --- rows --- */

static void charged_make(struct hp_report *report)
{
	const struct hp_charges *charges = hp_alloc_charges(report);
	struct hp_alloc_view *view = hp_alloc_view(report);

	if (view->charged)
		return;
	view->charged = hp_xcalloc(charges->count, sizeof(*view->charged));
	for (size_t i = 0; i < charges->count; i++)
		view->charged[view->charged_count++] =
			(struct hp_alloc_row){ .function = (uint32_t)i,
					       .is_function = true,
					       .charge = &charges->functions[i] };
}

static void functions_fill(struct hp_report *report, struct hp_list *list)
{
	struct hp_alloc_view *view = hp_alloc_view(report);

	if (!hp_alloc_charges(report)->is_any) {
		hp_alloc_callers_make(view);
		hp_alloc_list(&hp_alloc_functions_section, report, list, view->rows,
			      view->row_count);
		return;
	}
	charged_make(report);
	hp_alloc_list(&hp_alloc_functions_section, report, list, view->charged,
		      view->charged_count);
}

static void callers_fill(struct hp_report *report, struct hp_list *list)
{
	struct hp_alloc_view *view = hp_alloc_view(report);

	hp_alloc_callers_make(view);
	hp_alloc_list(&hp_alloc_callers_section, report, list, view->rows, view->row_count);
}

/* --- texts --- */

static const char *functions_describe(const struct hp_report *report)
{
	bool is_count = hp_alloc_is_count(report);

	if (hp_alloc_is_most(report))
		return is_count
			       ? "Largest number of blocks that a call held at once, callees included."
			       : "Largest number of bytes that a call held at once, callees included.";
	if (report->settings->alloc_cumulative)
		return is_count ? "Blocks allocated by each function and its callees."
				: "Bytes allocated by each function and its callees.";
	return is_count ? "Blocks allocated by each function, without callees."
			: "Bytes allocated by each function, without callees.";
}

/* --- columns --- */

static const struct hp_alloc_row *row_of(const void *row)
{
	return row;
}

/* A number in the metric's unit; negative = not known. */
static void figure(struct hp_report *report, double number, struct hp_value *value)
{
	struct hp_text_cell cell;

	value->number = number;
	value->is_unknown = number < 0;
	if (value->is_unknown)
		return;
	free(report->text);
	report->text =
		hp_xstrdup(hp_alloc_is_count(report) ? hp_format_count(&cell, hp_whole(number))
						     : hp_format_bytes(&cell, hp_whole(number)));
	value->text = report->text;
}

static const struct hp_model_function *function_of(struct hp_report *report, const void *row)
{
	return &report->model.functions[row_of(row)->function];
}

static void get_id(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = row_of(cell->row)->function + (row_of(cell->row)->charge ? 1 : 0);
}

static void get_name(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = hp_alloc_row_name(cell->report, (struct hp_alloc_row *)(uintptr_t)cell->row);
	if (row_of(cell->row)->charge)
		value->is_label =
			hp_report_is_label(cell->report, function_of(cell->report, cell->row));
}

/*
 * Shown as calls to clients of the crate: of functions without hooks, the blocks that
 * are averaged.
 */
static void get_calls_or_blocks(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = row_of(cell->row)->charge
				? (double)function_of(cell->report, cell->row)->calls
				: (double)hp_alloc_sum_of(cell->report, cell->row)->count;
}

static void get_calls(const struct hp_cell *cell, struct hp_value *value)
{
	value->is_unknown = !row_of(cell->row)->charge;
	if (row_of(cell->row)->charge)
		value->number = (double)function_of(cell->report, cell->row)->calls;
}

/* The number of calls that allocate: percentiles cover these. */
static void get_allocating(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_charge_sum *sum = row_of(cell->row)->charge;

	value->is_unknown = !sum;
	if (sum)
		value->number = (double)hp_charge_calls(sum, hp_alloc_charge_kind(cell->report));
}

static void get_count(const struct hp_cell *cell, struct hp_value *value)
{
	value->is_unknown = row_of(cell->row)->charge != NULL;
	value->number = (double)hp_alloc_sum_of(cell->report, cell->row)->count;
}

static void get_temporary_share(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_alloc_sum *sum = hp_alloc_sum_of(cell->report, cell->row);

	value->is_unknown = row_of(cell->row)->charge != NULL;
	value->number = sum->count ? 100 * (double)sum->temporary / (double)sum->count : 0;
}

static void get_average(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_charge_sum *sum = row_of(cell->row)->charge;
	const struct hp_alloc_sum *paths = hp_alloc_sum_of(cell->report, cell->row);
	uint64_t calls = sum ? function_of(cell->report, cell->row)->calls : 0;

	/* Averages do not include allocations of running calls yet. */
	if (calls && calls == function_of(cell->report, cell->row)->running)
		value->is_unknown = true;
	else if (calls)
		figure(cell->report,
		       (double)sum->sums[hp_alloc_charge_kind(cell->report)] / (double)calls,
		       value);
	else
		value->number = paths->count ? (double)paths->bytes / (double)paths->count : 0;
}

static void get_percentile(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_charge_sum *sum = row_of(cell->row)->charge;

	value->is_unknown = true;
	if (sum)
		figure(cell->report,
		       hp_charge_percentile(sum, hp_alloc_charge_kind(cell->report),
					    cell->percentile),
		       value);
}

static void get_inclusive(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_alloc_row *r = cell->row;
	const struct hp_alloc_sum *whole = hp_alloc_inclusive(cell->report, r);
	bool is_count = hp_alloc_is_count(cell->report);

	if (r->charge)
		figure(cell->report,
		       (double)(is_count ? r->charge->whole_count : r->charge->whole_bytes), value);
	else
		figure(cell->report, (double)(is_count ? whole->count : whole->bytes), value);
}

static void get_total(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_alloc_sum *sum = hp_alloc_sum_of(cell->report, cell->row);

	if (row_of(cell->row)->charge)
		figure(cell->report, (double)hp_alloc_charged(cell->report, cell->row), value);
	else
		figure(cell->report,
		       (double)(hp_alloc_is_count(cell->report) ? sum->count : sum->bytes), value);
}

static void get_share(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_alloc_sum *all = &hp_alloc_view(cell->report)->alloc.all;
	const struct hp_alloc_sum *sum = hp_alloc_sum_of(cell->report, cell->row);
	bool is_count = hp_alloc_is_count(cell->report);
	double whole = (double)(is_count ? all->count : all->bytes);
	double part = (double)(is_count ? sum->count : sum->bytes);

	if (row_of(cell->row)->charge)
		part = (double)hp_alloc_charged(cell->report, cell->row);
	if (hp_alloc_is_most(cell->report))
		whole = is_count ? 0 : (double)all->peak_bytes;
	value->is_unknown = whole <= 0;
	value->number = whole > 0 ? 100 * part / whole : 0;
}

static void raw_bytes(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_alloc_row *r = cell->row;

	value->number = (double)(r->charge ? hp_charge_bytes(r->charge) : r->sum.bytes);
}

static void raw_count(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_alloc_row *r = cell->row;

	value->number = (double)(r->charge ? hp_charge_count(r->charge) : r->sum.count);
}

static void raw_whole_bytes(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_alloc_row *r = cell->row;

	value->number = (double)(r->charge ? r->charge->whole_bytes
					   : hp_alloc_inclusive(cell->report, r)->bytes);
}

static void raw_whole_count(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_alloc_row *r = cell->row;

	value->number = (double)(r->charge ? r->charge->whole_count
					   : hp_alloc_inclusive(cell->report, r)->count);
}

/* Members of charges only, and of call paths only. */
static void get_charged(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_charge_sum *sum = row_of(cell->row)->charge;

	if (sum)
		hp_cell_get_from(cell, sum, value);
	value->is_unknown = !sum;
}

static void get_of_paths(const struct hp_cell *cell, struct hp_value *value)
{
	hp_cell_get_from(cell, hp_alloc_sum_of(cell->report, cell->row), value);
	value->is_unknown = row_of(cell->row)->charge != NULL;
}

static void raw_average(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_charge_sum *sum = row_of(cell->row)->charge;

	get_average(cell, value);
	value->text = NULL;
	if (sum && !function_of(cell->report, cell->row)->calls)
		value->is_unknown = true;
}

static void raw_percentile(const struct hp_cell *cell, struct hp_value *value)
{
	get_percentile(cell, value);
	value->text = NULL;
}

static void raw_total(const struct hp_cell *cell, struct hp_value *value)
{
	get_total(cell, value);
	value->text = NULL;
}

/* `data` has only keys that clients of the crate know; `raw` has them by name. */
static const struct hp_column columns[] = {
	{ .key = "id", .raw = "id", .unit = HP_UNIT_NUMBER, .get = get_id },
	{ "Function", "name", "name", HP_UNIT_NAME, .get = get_name },
	{ "Calls", NULL, "calls", HP_UNIT_COUNT, .get = get_calls, .need = HP_NEED_KNOWN },
	{ NULL, "calls", NULL, HP_UNIT_COUNT, .get = get_calls_or_blocks },
	{ NULL, "sampled_calls", NULL, HP_UNIT_COUNT, .get = get_calls_or_blocks },
	{ .raw = "allocating_calls",
	  .unit = HP_UNIT_NUMBER,
	  .get = get_allocating,
	  .need = HP_NEED_KNOWN },
	{ "Count", NULL, NULL, HP_UNIT_COUNT, .get = get_count, .need = HP_NEED_KNOWN },
	{ "Avg", "avg", NULL, HP_UNIT_BYTES, .get = get_average },
	{ "P", "p", NULL, HP_UNIT_BYTES, .get = get_percentile, .is_percentiles = true,
	  .need = HP_NEED_KNOWN },
	{ "Temp%", NULL, NULL, HP_UNIT_LOAD, .get = get_temporary_share, .need = HP_NEED_KNOWN },
	{ "Inclusive", NULL, NULL, HP_UNIT_BYTES, .get = get_inclusive },
	{ "Total", "total", NULL, HP_UNIT_BYTES, .get = get_total },
	{ "% Total", "percent_total", "percent_total", HP_UNIT_SHARE, .get = get_share },
	{ .raw = "avg", .unit = HP_UNIT_NUMBER, .get = raw_average },
	{ .raw = "p",
	  .unit = HP_UNIT_NUMBER,
	  .get = raw_percentile,
	  .is_percentiles = true,
	  .need = HP_NEED_KNOWN },
	{ .raw = "total", .unit = HP_UNIT_NUMBER, .get = raw_total },
	{ .raw = "total_bytes", .unit = HP_UNIT_NUMBER, .get = raw_bytes },
	{ .raw = "count", .unit = HP_UNIT_NUMBER, .get = raw_count },
	{ .raw = "inclusive_bytes", .unit = HP_UNIT_NUMBER, .get = raw_whole_bytes },
	{ .raw = "inclusive_count", .unit = HP_UNIT_NUMBER, .get = raw_whole_count },
	{ .raw = "most_bytes",
	  .unit = HP_UNIT_NUMBER,
	  .get = get_charged,
	  .member = HP_MEMBER(hp_charge_sum, most_bytes),
	  .need = HP_NEED_KNOWN },
	{ .raw = "most_count",
	  .unit = HP_UNIT_NUMBER,
	  .get = get_charged,
	  .member = HP_MEMBER(hp_charge_sum, most_count),
	  .need = HP_NEED_KNOWN },
	{ .raw = "live_count",
	  .unit = HP_UNIT_NUMBER,
	  .get = get_of_paths,
	  .member = HP_MEMBER(hp_alloc_sum, live),
	  .need = HP_NEED_KNOWN },
	{ .raw = "live_bytes",
	  .unit = HP_UNIT_NUMBER,
	  .get = get_of_paths,
	  .member = HP_MEMBER(hp_alloc_sum, live_bytes),
	  .need = HP_NEED_KNOWN },
	{ .raw = "peak_bytes",
	  .unit = HP_UNIT_NUMBER,
	  .get = get_of_paths,
	  .member = HP_MEMBER(hp_alloc_sum, peak_bytes),
	  .need = HP_NEED_KNOWN },
	{ .raw = "frees",
	  .unit = HP_UNIT_NUMBER,
	  .get = get_of_paths,
	  .member = HP_MEMBER(hp_alloc_sum, frees),
	  .need = HP_NEED_KNOWN },
	{ .raw = "freed_bytes",
	  .unit = HP_UNIT_NUMBER,
	  .get = get_of_paths,
	  .member = HP_MEMBER(hp_alloc_sum, freed_bytes),
	  .need = HP_NEED_KNOWN },
	{ .raw = "temporary_count",
	  .unit = HP_UNIT_NUMBER,
	  .get = get_of_paths,
	  .member = HP_MEMBER(hp_alloc_sum, temporary),
	  .need = HP_NEED_KNOWN },
	{ 0 },
};

/* --- JSON --- */

static void call_add(struct hp_report *report, const struct hp_spent *call, cJSON *array)
{
	const struct hp_call when = { .start = call->at };
	cJSON *entry = cJSON_CreateObject();

	cJSON_AddNumberToObject(entry, "at_ns",
				(double)hp_model_call(&report->model, &when).start_ns);
	cJSON_AddNumberToObject(entry, "bytes", (double)call->bytes);
	cJSON_AddNumberToObject(entry, "alloc_count", call->count);
	cJSON_AddNumberToObject(entry, "inclusive_bytes", (double)call->whole_bytes);
	cJSON_AddNumberToObject(entry, "inclusive_count", call->whole_count);
	cJSON_AddNumberToObject(entry, "tid", call->tid);
	cJSON_AddItemToArray(array, entry);
}

static void add_calls(struct hp_report *report, const void *row, cJSON *entry)
{
	struct hp_spent last[HP_LAST_MAX];
	cJSON *array;
	size_t count;

	if (!row_of(row)->charge)
		return;
	count = hp_charge_last(&report->model, row_of(row)->charge, last, HP_LAST_MAX);
	array = cJSON_AddArrayToObject(entry, "last_calls");
	for (size_t i = 0; i < count; i++)
		call_add(report, &last[i], array);
}

static void add_location(struct hp_report *report, const void *row, cJSON *entry)
{
	struct hp_source source;

	if (row_of(row)->charge && hp_report_source(report, function_of(report, row), &source))
		hp_json_location(entry, source.file, source.line, source.column);
}

/* --- allocations charged to no function --- */

struct outside {
	uint64_t bytes;
	uint64_t count;
};

/* Before main, in threads and in code without hooks: not in the rows. */
static struct outside outside_of(struct hp_report *report)
{
	const struct hp_alloc_sum *all = &hp_alloc_view(report)->alloc.all;
	const struct hp_charges *charges = hp_alloc_charges(report);
	struct outside outside = { .bytes = all->bytes, .count = all->count };

	if (!charges->is_any)
		return (struct outside){ .bytes = 0 };
	for (size_t i = 0; i < charges->count; i++) {
		uint64_t bytes = hp_charge_bytes(&charges->functions[i]);
		uint64_t count = hp_charge_count(&charges->functions[i]);

		outside.bytes -= bytes < outside.bytes ? bytes : outside.bytes;
		outside.count -= count < outside.count ? count : outside.count;
	}
	return outside;
}

static void functions_head(struct hp_report *report, cJSON *list)
{
	struct outside outside = outside_of(report);

	hp_alloc_add_totals(report, list);
	hp_json_whole(list, "outside_bytes", outside.bytes);
	hp_json_whole(list, "outside_count", outside.count);
}

/* --- the sections --- */

/* Most calls of a function that allocates occasionally do not. */
static const char *functions_after(struct hp_report *report)
{
	struct outside outside = outside_of(report);
	struct hp_text_cell bytes, count;
	bool is_apart = false;
	struct hp_list list;

	functions_fill(report, &list);
	for (size_t i = 0; i < list.shown && !is_apart; i++) {
		const struct hp_charge_sum *sum = row_of(list.rows[i])->charge;

		is_apart = sum && hp_charge_calls(sum, hp_alloc_charge_kind(report)) <
					  function_of(report, list.rows[i])->calls;
	}
	free(list.rows);
	free(report->text);
	report->text = NULL;
	if (outside.count)
		report->text =
			hp_xprintf("Outside instrumented functions: %s in %s %s (alloc-sites).",
				   hp_format_bytes(&bytes, outside.bytes),
				   hp_format_count(&count, outside.count),
				   outside.count == 1 ? "block" : "blocks");
	if (is_apart) {
		char *line = hp_xprintf("%s%sAvg covers all calls, percentiles cover those that "
					"allocate.",
					report->text ? report->text : "", report->text ? "\n" : "");

		free(report->text);
		report->text = line;
	}
	return report->text;
}

static void spread_of(struct hp_report *report, const void *row, enum hp_charge_kind kind,
		      struct hp_metric_spread *spread)
{
	const struct hp_charge_sum *sum = row_of(row)->charge;
	uint64_t calls = sum ? function_of(report, row)->calls : 0;

	if (!sum || !sum->spreads)
		return;
	spread->histogram = &sum->spreads[kind];
	spread->unit = 1;
	spread->zeros = calls > spread->histogram->total ? calls - spread->histogram->total : 0;
}

static void spread_bytes(struct hp_report *report, const void *row, struct hp_metric_spread *spread)
{
	spread_of(report, row, HP_CHARGE_BYTES, spread);
}

static void spread_count(struct hp_report *report, const void *row, struct hp_metric_spread *spread)
{
	spread_of(report, row, HP_CHARGE_COUNT, spread);
}

static const struct hp_metric metrics[] = {
	{ "total_bytes", true, "hotpath_function_alloc_bytes",
	  .help = "Bytes allocated by each function itself." },
	{ "count", true, "hotpath_function_alloc_count",
	  .help = "Blocks allocated by each function itself." },
	{ "total_bytes", .name = "hotpath_function_alloc_bytes", .spread = spread_bytes,
	  .bounds = HP_BOUNDS_BYTES,
	  .help = "Bytes allocated by a call of each instrumented function, without callees." },
	{ "count", .name = "hotpath_function_alloc_count", .spread = spread_count,
	  .bounds = HP_BOUNDS_BLOCKS,
	  .help = "Blocks allocated by a call of each instrumented function, without callees." },
	{ 0 },
};

static const struct hp_label_key labels[] = { { "function", "name" }, { 0 } };

const struct hp_section hp_alloc_functions_section = {
	.key = "functions-alloc",
	.json = "functions_alloc",
	.name = "alloc",
	.help = "functions by allocation",
	.subject = HP_SUBJECT_MEMORY,
	.columns = columns,
	.needs = HP_RECORDED_ALLOCATIONS,
	.fill = functions_fill,
	.limit = HP_MEMBER(hp_settings, functions_limit),
	.usual = HP_FUNCTIONS_LIMIT,
	.has_data = hp_alloc_has_data,
	.describe = functions_describe,
	.empty = hp_alloc_empty,
	.note = hp_alloc_note,
	.after = functions_after,
	.is_on_top = true,
	.extra = { .head = functions_head,
		   .middle = hp_functions_add_middle,
		   .data = add_location,
		   .raw = add_calls,
		   .list_keys = HP_ALLOC_KEYS
		   " outside_bytes:i outside_count:i caller_name:s percentiles:[n]",
		   .data_keys = "location:@location",
		   .raw_keys = "last_calls:[@spent]" },
	.tool = { .help = "Functions by allocation.",
		  .meaning = "What each function's calls allocated, freed or not.",
		  .next = "top_allocation_sites for the lines; leaks for memory still held." },
	.metrics = metrics,
	.labels = labels,
};

/* For a program without instrumented functions it would be the same twice. */
const struct hp_section hp_alloc_callers_section = {
	.key = "alloc-callers",
	.json = "alloc_callers",
	.name = "alloc-callers",
	.help = "functions that allocate, instrumented or not",
	.subject = HP_SUBJECT_MEMORY,
	.columns = columns,
	.needs = HP_RECORDED_ALLOCATIONS,
	.fill = callers_fill,
	.limit = HP_MEMBER(hp_settings, functions_limit),
	.usual = HP_FUNCTIONS_LIMIT,
	.is_on_demand = true,
	.is_quiet = true,
	.about = "Functions that allocate, instrumented or not, by call paths.",
	.empty = hp_alloc_empty,
	.note = hp_alloc_note,
	.extra = { .head = hp_alloc_add_totals, .list_keys = HP_ALLOC_KEYS },
	.tool = { .help = "Functions that allocate, instrumented or not, by call paths.",
		  .meaning =
			  "Functions by their own allocations and those of their callees, according to "
			  "call paths. Functions need not be recompiled.",
		  .next = "top_allocation_sites for the paths; functions_alloc for figures of single calls." },
};
