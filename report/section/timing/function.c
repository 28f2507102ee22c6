/* SPDX-License-Identifier: MIT */
/*
 * function.c - the section of functions by time: rows and columns.
 */
#include "report/section/timing/function.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"

#define CELL(name) \
	static void name(struct hp_report *report, const void *row, double percentile, \
			 struct hp_value *value)
#define UNUSED(x) (void)(x)

static double sum_of(const struct hp_report *report, const struct hp_model_function *f)
{
	return report->settings->is_exclusive && f != &report->life ? f->self_ns : f->total_ns;
}

static double sort_key(const struct hp_report *report, const struct hp_model_function *f)
{
	switch (report->settings->sort) {
	case HP_SORT_SELF:
		return f->self_ns;
	case HP_SORT_CALLS:
		return (double)f->calls;
	case HP_SORT_NAME:
		return 0;
	default:
		return sum_of(report, f);
	}
}

/* Largest first, then by name: names are looked up for ties only. */
static int compare_functions(const void *left, const void *right, void *context)
{
	const struct hp_model_function *a = *(const struct hp_model_function *const *)left;
	const struct hp_model_function *b = *(const struct hp_model_function *const *)right;
	struct hp_report *report = context;
	double x = sort_key(report, a), y = sort_key(report, b);

	if (x < y || x > y)
		return x < y ? 1 : -1;
	return strcmp(hp_report_name(report, a), hp_report_name(report, b));
}

void hp_functions_fill(struct hp_report *report, struct hp_list *list)
{
	struct hp_model *model = &report->model;
	bool has_wrapper = report->wrapper && !report->settings->exclude_wrapper;

	list->rows = hp_xcalloc(model->function_count + 1, sizeof(*list->rows));
	list->total = 0;
	if (has_wrapper && report->wrapper == &report->life)
		list->rows[list->total++] = &report->life;
	for (size_t i = 0; i < model->function_count; i++) {
		const struct hp_model_function *f = &model->functions[i];

		if (!f->calls || (f == report->wrapper && !has_wrapper) ||
		    !hp_report_lets(report, f))
			continue;
		list->rows[list->total++] = f;
	}
	qsort_r(list->rows, list->total, sizeof(*list->rows), compare_functions, report);
	hp_list_cut(list, report, report->settings->functions_limit, HP_FUNCTIONS_LIMIT);
}

const char *hp_functions_describe(const struct hp_report *report)
{
	return report->settings->is_exclusive
		       ? "Exclusive time of functions; percentiles are of whole calls."
		       : "Function execution time metrics.";
}

const char *hp_functions_empty(struct hp_report *report)
{
	if (report->has_functions)
		return "no function passes HOTPATH_FOCUS";
	return HP_NO_FUNCTIONS;
}

CELL(function_id)
{
	const struct hp_model_function *f = row;
	const struct hp_model *model = &report->model;
	size_t place = f == &report->life ? model->function_count : (size_t)(f - model->functions);

	UNUSED(percentile);
	value->number = report->function_ids ? report->function_ids[place] : (double)place + 1;
}

void hp_function_name_set(struct hp_report *report, const struct hp_model_function *f,
			  struct hp_value *value)
{
	value->text = hp_report_name(report, f);
	value->is_label = hp_report_is_label(report, f);
}

CELL(function_name)
{
	UNUSED(percentile);
	hp_function_name_set(report, row, value);
}

CELL(function_calls)
{
	UNUSED(report), UNUSED(percentile);
	value->number = (double)((const struct hp_model_function *)row)->calls;
}

CELL(function_measured)
{
	UNUSED(report), UNUSED(percentile);
	value->number = (double)((const struct hp_model_function *)row)->measured;
}

CELL(function_running)
{
	UNUSED(report), UNUSED(percentile);
	value->number = (double)((const struct hp_model_function *)row)->running;
}

CELL(function_average)
{
	const struct hp_model_function *f = row;

	UNUSED(percentile);
	value->number = hp_report_average(report, f);
	if (report->settings->is_exclusive && f != &report->life && value->number >= 0)
		value->number = f->self_ns / (double)f->calls;
	value->is_unknown = value->number < 0;
	value->is_estimated = f->is_sampled;
}

CELL(function_percentile)
{
	const struct hp_model_function *f = row;

	value->number = f == &report->life ? f->total_ns
					   : hp_model_percentile(&report->model, f, percentile);
	value->is_unknown = value->number < 0;
	value->is_estimated = f->is_sampled;
	value->is_bound = f->is_sampled && percentile >= 100;
}

static bool is_total_estimated(const struct hp_report *report, const struct hp_model_function *f)
{
	if (report->settings->is_exclusive)
		return f->self_error_ns > 0;
	return f->total_high_ns > f->total_low_ns;
}

CELL(function_total)
{
	const struct hp_model_function *f = row;

	UNUSED(percentile);
	value->number = sum_of(report, f);
	value->is_estimated = is_total_estimated(report, f);
	value->is_bound = f->running && f != report->wrapper;
	value->is_unknown = !f->measured && value->number <= 0;
}

CELL(function_share)
{
	double whole = report->whole_ns;

	function_total(report, row, percentile, value);
	value->number = whole > 0 ? 100 * value->number / whole : 0;
}

/* The wider half of the interval, as a share of the estimate. */
CELL(function_error)
{
	const struct hp_model_function *f = row;
	double total = sum_of(report, f);
	double low = f->total_ns - f->total_low_ns, high = f->total_high_ns - f->total_ns;
	double half = low > high ? low : high;

	UNUSED(percentile);
	if (report->settings->is_exclusive)
		half = f->self_error_ns;
	value->is_unknown = !is_total_estimated(report, f) || total <= 0;
	value->number = value->is_unknown ? 0 : 100 * half / total;
}

CELL(function_low)
{
	UNUSED(report), UNUSED(percentile);
	value->number = ((const struct hp_model_function *)row)->total_low_ns;
}

CELL(function_high)
{
	UNUSED(report), UNUSED(percentile);
	value->number = ((const struct hp_model_function *)row)->total_high_ns;
}

CELL(function_inclusive)
{
	UNUSED(report), UNUSED(percentile);
	value->number = ((const struct hp_model_function *)row)->total_ns;
}

CELL(function_self)
{
	const struct hp_model_function *f = row;

	UNUSED(percentile);
	value->number = f->self_ns;
	value->is_unknown = f == &report->life;
}

CELL(function_self_error)
{
	UNUSED(report), UNUSED(percentile);
	value->number = ((const struct hp_model_function *)row)->self_error_ns;
}

const struct hp_column hp_function_columns[HP_FUNCTION_COLUMNS] = {
	{ .key = "id", .raw = "id", .unit = HP_UNIT_NUMBER, .get = function_id },
	{ "Function", "name", "name", HP_UNIT_NAME, function_name, false, false },
	{ "Calls", "calls", "calls", HP_UNIT_COUNT, function_calls, false, false },
	{ NULL, "sampled_calls", "sampled_calls", HP_UNIT_COUNT, function_measured, false, false },
	{ "Avg", "avg", "avg_ns", HP_UNIT_TIME, function_average, false, false },
	{ "P", "p", "p", HP_UNIT_TIME, function_percentile, true, false },
	{ "Total", "total", "total_ns", HP_UNIT_TIME, function_total, false, false },
	{ "\302\26195%", NULL, NULL, HP_UNIT_ERROR, function_error, false, HP_NEED_ESTIMATE },
	{ "% Total", "percent_total", "percent_total", HP_UNIT_SHARE, function_share, false,
	  false },
	{ .raw = "inclusive_ns", .unit = HP_UNIT_NUMBER, .get = function_inclusive },
	{ .raw = "inclusive_low_ns", .unit = HP_UNIT_NUMBER, .get = function_low },
	{ .raw = "inclusive_high_ns", .unit = HP_UNIT_NUMBER, .get = function_high },
	{ .raw = "self_ns", .unit = HP_UNIT_NUMBER, .get = function_self },
	{ .raw = "self_error_ns", .unit = HP_UNIT_NUMBER, .get = function_self_error },
	{ .raw = "running_calls", .unit = HP_UNIT_NUMBER, .get = function_running },
};
