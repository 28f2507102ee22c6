/* SPDX-License-Identifier: MIT */
/*
 * function.c - the section of functions that allocate.
 *
 * Of a program with instrumented functions: what their calls were charged, with
 * percentiles over calls.  Of any other one, functions as call paths tell them:
 * those that call the allocator, through wrappers or not.  Columns that only one
 * of the two has are left out of the other.
 */
#include <stdlib.h>

#include "report/section/memory/view.h"
#include "report/base/format.h"
#include "report/base/memory.h"

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

void hp_alloc_functions_fill(struct hp_report *report, struct hp_list *list)
{
	struct hp_alloc_view *view = hp_alloc_view(report);

	if (!hp_alloc_charges(report)->is_any) {
		hp_alloc_callers_make(view);
		hp_alloc_list(report, list, view->rows, view->row_count,
			      report->settings->functions_limit, HP_FUNCTIONS_LIMIT);
		return;
	}
	charged_make(report);
	hp_alloc_list(report, list, view->charged, view->charged_count,
		      report->settings->functions_limit, HP_FUNCTIONS_LIMIT);
}

void hp_alloc_callers_fill(struct hp_report *report, struct hp_list *list)
{
	hp_alloc_callers_make(hp_alloc_view(report));
	hp_alloc_list(report, list, hp_alloc_view(report)->rows, hp_alloc_view(report)->row_count,
		      report->settings->functions_limit, HP_FUNCTIONS_LIMIT);
}

/* Of a program without instrumented functions it would be the same twice. */
bool hp_alloc_callers_has_data(const struct hp_report *report)
{
	(void)report;
	return false;
}

/* --- which figures --- */

static bool is_most(const struct hp_report *report)
{
	uint32_t metric = report->settings->alloc_metric;

	return hp_alloc_charges(report)->has_most &&
	       (metric == HP_ALLOC_BYTES_MAX || metric == HP_ALLOC_COUNT_MAX);
}

static enum hp_charge_kind kind_of(const struct hp_report *report)
{
	bool is_count = hp_alloc_is_count(report);

	if (is_most(report))
		return is_count ? HP_CHARGE_MOST_COUNT : HP_CHARGE_MOST_BYTES;
	if (report->settings->alloc_cumulative)
		return is_count ? HP_CHARGE_WHOLE_COUNT : HP_CHARGE_WHOLE_BYTES;
	return is_count ? HP_CHARGE_COUNT : HP_CHARGE_BYTES;
}

static uint64_t total_of(const struct hp_charge_sum *sum, enum hp_charge_kind kind)
{
	switch (kind) {
	case HP_CHARGE_BYTES:
		return hp_charge_bytes(sum);
	case HP_CHARGE_COUNT:
		return hp_charge_count(sum);
	case HP_CHARGE_WHOLE_BYTES:
		return sum->whole_bytes;
	case HP_CHARGE_WHOLE_COUNT:
		return sum->whole_count;
	case HP_CHARGE_MOST_BYTES:
		return sum->most_bytes;
	default:
		return sum->most_count;
	}
}

uint64_t hp_alloc_charged(const struct hp_report *report, const struct hp_alloc_row *row)
{
	return total_of(row->charge, kind_of(report));
}

/* --- texts --- */

const char *hp_alloc_functions_describe(const struct hp_report *report)
{
	bool is_count = hp_alloc_is_count(report);

	if (is_most(report))
		return is_count ? "Most blocks that a call held at once, callees included."
				: "Most bytes that a call held at once, callees included.";
	if (report->settings->alloc_cumulative)
		return is_count ? "Blocks allocated by each function and its callees."
				: "Bytes allocated by each function and its callees.";
	return is_count ? "Blocks allocated by each function, callees apart."
			: "Bytes allocated by each function, callees apart.";
}

const char *hp_alloc_callers_describe(const struct hp_report *report)
{
	(void)report;
	return "Functions that allocate, instrumented or not, as call paths tell them.";
}

/* --- columns --- */

#define GETTER(name) \
	static void name(struct hp_report *report, const void *row, double percentile, \
			 struct hp_value *value)
#define UNUSED(x) (void)(x)

static const struct hp_alloc_row *row_of(const void *row)
{
	return row;
}

/* A number as the metric has it; negative = not known. */
static void figure(struct hp_report *report, double number, struct hp_value *value)
{
	struct hp_text_cell cell;

	value->number = number;
	value->is_unknown = number < 0;
	if (value->is_unknown)
		return;
	free(report->text);
	report->text =
		hp_xstrdup(hp_alloc_is_count(report) ? hp_format_count(&cell, (uint64_t)number)
						     : hp_format_bytes(&cell, (uint64_t)number));
	value->text = report->text;
}

static const struct hp_model_function *function_of(struct hp_report *report, const void *row)
{
	return &report->model.functions[row_of(row)->function];
}

GETTER(get_id)
{
	UNUSED(report), UNUSED(percentile);
	value->number = row_of(row)->function + (row_of(row)->charge ? 1 : 0);
}

GETTER(get_name)
{
	UNUSED(percentile);
	value->text = hp_alloc_row_name(report, (struct hp_alloc_row *)(uintptr_t)row);
	if (row_of(row)->charge)
		value->is_label = hp_report_is_label(report, function_of(report, row));
}

GETTER(get_calls)
{
	UNUSED(percentile);
	value->is_unknown = !row_of(row)->charge;
	if (row_of(row)->charge)
		value->number = (double)function_of(report, row)->calls;
}

/* How many calls have some: the percentiles are of these. */
GETTER(get_allocating)
{
	const struct hp_charge_sum *sum = row_of(row)->charge;

	UNUSED(percentile);
	value->is_unknown = !sum;
	if (sum)
		value->number = (double)hp_charge_calls(sum, kind_of(report));
}

GETTER(get_count)
{
	UNUSED(percentile);
	value->is_unknown = row_of(row)->charge != NULL;
	value->number = (double)hp_alloc_sum_of(report, row)->count;
}

GETTER(get_temporary_share)
{
	const struct hp_alloc_sum *sum = hp_alloc_sum_of(report, row);

	UNUSED(percentile);
	value->is_unknown = row_of(row)->charge != NULL;
	value->number = sum->count ? 100 * (double)sum->temporary / (double)sum->count : 0;
}

GETTER(get_average)
{
	const struct hp_charge_sum *sum = row_of(row)->charge;
	const struct hp_alloc_sum *paths = hp_alloc_sum_of(report, row);
	uint64_t calls = sum ? function_of(report, row)->calls : 0;

	UNUSED(percentile);
	/* What calls that go on allocate is in no average yet. */
	if (calls && calls == function_of(report, row)->running)
		value->is_unknown = true;
	else if (calls)
		figure(report, (double)sum->sums[kind_of(report)] / (double)calls, value);
	else
		value->number = paths->count ? (double)paths->bytes / (double)paths->count : 0;
}

GETTER(get_percentile)
{
	const struct hp_charge_sum *sum = row_of(row)->charge;

	value->is_unknown = true;
	if (sum)
		figure(report, hp_charge_percentile(sum, kind_of(report), percentile), value);
}

GETTER(get_inclusive)
{
	const struct hp_alloc_row *r = row;
	bool is_count = hp_alloc_is_count(report);

	UNUSED(percentile);
	if (r->charge)
		figure(report, (double)(is_count ? r->charge->whole_count : r->charge->whole_bytes),
		       value);
	else
		figure(report, (double)(is_count ? r->inclusive.count : r->inclusive.bytes), value);
}

GETTER(get_total)
{
	const struct hp_alloc_sum *sum = hp_alloc_sum_of(report, row);

	UNUSED(percentile);
	if (row_of(row)->charge)
		figure(report, (double)hp_alloc_charged(report, row), value);
	else
		figure(report, (double)(hp_alloc_is_count(report) ? sum->count : sum->bytes),
		       value);
}

GETTER(get_share)
{
	const struct hp_alloc_sum *all = &hp_alloc_view(report)->alloc.all;
	const struct hp_alloc_sum *sum = hp_alloc_sum_of(report, row);
	bool is_count = hp_alloc_is_count(report);
	double whole = (double)(is_count ? all->count : all->bytes);
	double part = (double)(is_count ? sum->count : sum->bytes);

	UNUSED(percentile);
	if (row_of(row)->charge)
		part = (double)hp_alloc_charged(report, row);
	if (is_most(report))
		whole = is_count ? 0 : (double)all->peak_bytes;
	value->is_unknown = whole <= 0;
	value->number = whole > 0 ? 100 * part / whole : 0;
}

#define CHARGE_GETTER(name, field) \
	GETTER(name) \
	{ \
		const struct hp_charge_sum *sum = row_of(row)->charge; \
\
		UNUSED(report), UNUSED(percentile); \
		value->is_unknown = !sum; \
		value->number = sum ? (double)sum->field : 0; \
	}

CHARGE_GETTER(raw_most_bytes, most_bytes)
CHARGE_GETTER(raw_most_count, most_count)

#define BOTH_GETTER(name, charged, of_paths) \
	GETTER(name) \
	{ \
		const struct hp_alloc_row *r = row; \
\
		UNUSED(report), UNUSED(percentile); \
		value->number = r->charge ? (double)(charged) : (double)r->of_paths; \
	}

BOTH_GETTER(raw_bytes, hp_charge_bytes(r->charge), sum.bytes)
BOTH_GETTER(raw_count, hp_charge_count(r->charge), sum.count)
BOTH_GETTER(raw_whole_bytes, r->charge->whole_bytes, inclusive.bytes)
BOTH_GETTER(raw_whole_count, r->charge->whole_count, inclusive.count)

#define PATHS_GETTER(name, field) \
	GETTER(name) \
	{ \
		UNUSED(percentile); \
		value->is_unknown = row_of(row)->charge != NULL; \
		value->number = (double)hp_alloc_sum_of(report, row)->field; \
	}

PATHS_GETTER(raw_live, live)
PATHS_GETTER(raw_live_bytes, live_bytes)
PATHS_GETTER(raw_peak, peak_bytes)
PATHS_GETTER(raw_frees, frees)
PATHS_GETTER(raw_freed, freed_bytes)
PATHS_GETTER(raw_temporary, temporary)

GETTER(raw_average)
{
	const struct hp_charge_sum *sum = row_of(row)->charge;

	get_average(report, row, percentile, value);
	value->text = NULL;
	if (sum && !function_of(report, row)->calls)
		value->is_unknown = true;
}

GETTER(raw_percentile)
{
	get_percentile(report, row, percentile, value);
	value->text = NULL;
}

GETTER(raw_total)
{
	get_total(report, row, percentile, value);
	value->text = NULL;
}

#define RAW(key, getter) \
	{ \
		.raw = key, .unit = HP_UNIT_NUMBER, .get = getter \
	}
#define RAW_KNOWN(key, getter) \
	{ \
		.raw = key, .unit = HP_UNIT_NUMBER, .get = getter, .need = HP_NEED_KNOWN \
	}

/* In `data` stand those keys alone that clients of the crate know; `raw` has them by name. */
const struct hp_column hp_alloc_function_columns[HP_ALLOC_FUNCTION_COLUMNS] = {
	{ .key = "id", .raw = "id", .unit = HP_UNIT_NUMBER, .get = get_id },
	{ "Function", "name", "name", HP_UNIT_NAME, get_name, false, false },
	{ "Calls", "calls", "calls", HP_UNIT_COUNT, get_calls, false, HP_NEED_KNOWN },
	{ NULL, "sampled_calls", NULL, HP_UNIT_COUNT, get_calls, false, HP_NEED_KNOWN },
	RAW_KNOWN("allocating_calls", get_allocating),
	{ "Count", NULL, NULL, HP_UNIT_COUNT, get_count, false, HP_NEED_KNOWN },
	{ "Avg", "avg", NULL, HP_UNIT_BYTES, get_average, false, false },
	{ "P", "p", NULL, HP_UNIT_BYTES, get_percentile, true, HP_NEED_KNOWN },
	{ "Temp%", NULL, NULL, HP_UNIT_LOAD, get_temporary_share, false, HP_NEED_KNOWN },
	{ "Inclusive", NULL, NULL, HP_UNIT_BYTES, get_inclusive, false, false },
	{ "Total", "total", NULL, HP_UNIT_BYTES, get_total, false, false },
	{ "% Total", "percent_total", "percent_total", HP_UNIT_SHARE, get_share, false, false },
	{ .raw = "avg", .unit = HP_UNIT_NUMBER, .get = raw_average },
	{ .raw = "p",
	  .unit = HP_UNIT_NUMBER,
	  .get = raw_percentile,
	  .is_percentiles = true,
	  .need = HP_NEED_KNOWN },
	RAW("total", raw_total),
	RAW("total_bytes", raw_bytes),
	RAW("count", raw_count),
	RAW("inclusive_bytes", raw_whole_bytes),
	RAW("inclusive_count", raw_whole_count),
	RAW_KNOWN("most_bytes", raw_most_bytes),
	RAW_KNOWN("most_count", raw_most_count),
	RAW_KNOWN("live_count", raw_live),
	RAW_KNOWN("live_bytes", raw_live_bytes),
	RAW_KNOWN("peak_bytes", raw_peak),
	RAW_KNOWN("frees", raw_frees),
	RAW_KNOWN("freed_bytes", raw_freed),
	RAW_KNOWN("temporary_count", raw_temporary),
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

void hp_alloc_calls_add(struct hp_report *report, const void *row, cJSON *entry)
{
	struct hp_spent last[HP_LAST_MOST];
	cJSON *array;
	size_t count;

	if (!row_of(row)->charge)
		return;
	count = hp_charge_last(&report->model, row_of(row)->charge, last, HP_LAST_MOST);
	array = cJSON_AddArrayToObject(entry, "last_calls");
	for (size_t i = 0; i < count; i++)
		call_add(report, &last[i], array);
}
