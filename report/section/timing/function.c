/* SPDX-License-Identifier: MIT */
/*
 * function.c - the section of functions by time: rows and columns.
 */
#include "report/section/timing/function.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/json.h"
#include "report/base/memory.h"
#include "report/section/core/extra.h"
#include "report/section/core/list.h"

static double sum_of(const struct hp_report *report, const struct hp_model_function *f)
{
	return report->settings->is_exclusive && f != &report->life ? f->self_ns : f->total_ns;
}

const char *const hp_functions_sorts[] = { "total", "self", "calls", "name", NULL };

bool hp_functions_sorts_by(const char *word)
{
	for (size_t i = 0; hp_functions_sorts[i]; i++)
		if (strcmp(hp_functions_sorts[i], word) == 0)
			return true;
	return false;
}

static double sort_key(const struct hp_report *report, const struct hp_model_function *f)
{
	const char *sort = report->settings->sort;

	if (strcmp(sort, "self") == 0)
		return f->self_ns;
	if (strcmp(sort, "calls") == 0)
		return (double)f->calls;
	return strcmp(sort, "name") == 0 ? 0 : sum_of(report, f);
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

static void fill(struct hp_report *report, struct hp_list *list)
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
		    !hp_report_allows(report, f))
			continue;
		list->rows[list->total++] = f;
	}
	qsort_r(list->rows, list->total, sizeof(*list->rows), compare_functions, report);
	hp_section_cut(&hp_functions_section, report, list);
}

static const char *describe(const struct hp_report *report)
{
	return report->settings->is_exclusive
		       ? "Exclusive time of functions; percentiles are of whole calls."
		       : "Function execution time metrics.";
}

/* Shares are relative to the wall time of main, which parallel threads exceed. */
static const char *note(struct hp_report *report)
{
	for (size_t i = 0; i < report->model.function_count; i++)
		if (report->model.functions[i].total_ns > 1.005 * report->whole_ns)
			return "wall time, as shares of main's: several threads make more than 100%";
	return NULL;
}

const char *hp_functions_empty(struct hp_report *report)
{
	if (report->has_functions)
		return "no function matches HOTPATH_FOCUS";
	return HP_NO_FUNCTIONS;
}

static void function_id(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_model_function *f = cell->row;
	const struct hp_model *model = &cell->report->model;
	size_t place =
		f == &cell->report->life ? model->function_count : (size_t)(f - model->functions);

	value->number =
		cell->report->function_ids ? cell->report->function_ids[place] : (double)place + 1;
}

void hp_function_name_set(struct hp_report *report, const struct hp_model_function *f,
			  struct hp_value *value)
{
	value->text = hp_report_name(report, f);
	value->is_label = hp_report_is_label(report, f);
}

static void function_name(const struct hp_cell *cell, struct hp_value *value)
{
	hp_function_name_set(cell->report, cell->row, value);
}

/* The meaning of the columns Total, Avg and %: callees included, or without them. */
struct sum {
	double ns;
	double low_ns;
	double high_ns;
};

static struct sum sum_of_row(const struct hp_cell *cell)
{
	const struct hp_model_function *f = cell->row;

	if (cell->report->settings->is_exclusive && f != &cell->report->life)
		return (struct sum){ f->self_ns, f->self_low_ns, f->self_high_ns };
	return (struct sum){ f->total_ns, f->total_low_ns, f->total_high_ns };
}

/* In a recursion the mean is over all calls, not a share of the total: it has the same error. */
static struct sum average_of(const struct hp_cell *cell)
{
	const struct hp_model_function *f = cell->row;
	struct sum sum = sum_of_row(cell);
	double mean = hp_report_average(cell->report, f), part = 1 / (double)f->calls;
	struct sum mean_sum;

	if (cell->report->settings->is_exclusive && f != &cell->report->life && mean >= 0)
		mean = sum.ns * part;
	if (mean > 0 && sum.ns > 0)
		part = mean / sum.ns;
	mean_sum = (struct sum){ mean, sum.low_ns * part, sum.high_ns * part };
	/* A recursive function's mean is not from the total, which may be too short to tell. */
	if (mean >= 0 && mean_sum.low_ns > mean)
		mean_sum.low_ns = mean;
	if (mean_sum.high_ns < mean)
		mean_sum.high_ns = mean;
	return mean_sum;
}

static void function_average(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_model_function *f = cell->row;
	struct sum mean = average_of(cell);

	hp_cell_set_between(value, mean.ns, mean.low_ns, mean.high_ns);
	value->is_unknown = mean.ns < 0;
	value->is_estimated |= f->is_sampled;
}

static void average_low(const struct hp_cell *cell, struct hp_value *value)
{
	struct sum mean = average_of(cell);

	value->number = mean.low_ns;
	value->is_unknown = mean.ns < 0;
}

static void average_high(const struct hp_cell *cell, struct hp_value *value)
{
	struct sum mean = average_of(cell);

	value->number = mean.high_ns;
	value->is_unknown = mean.ns < 0;
}

/* No call took longer than all of them, whose sum may have been reduced to fit into the
 * caller's. */
static void function_percentile(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_model_function *f = cell->row;

	value->number = f == &cell->report->life
				? f->total_ns
				: hp_model_percentile(&cell->report->model, f, cell->percentile);
	value->is_unknown = value->number < 0;
	if (value->number > f->total_ns && !f->running)
		value->number = f->total_ns;
	value->upper = f->total_high_ns / (double)f->calls;
	value->is_estimated = f->is_sampled;
	value->is_bound = f->is_sampled && cell->percentile >= 100;
}

static void function_total(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_model_function *f = cell->row;
	struct sum sum = sum_of_row(cell);

	hp_cell_set_between(value, sum.ns, sum.low_ns, sum.high_ns);
	value->is_estimated |= f->is_sampled;
	value->is_bound = f->running && f != cell->report->wrapper;
	value->is_unknown = !f->measured && value->number <= 0;
}

static void function_share(const struct hp_cell *cell, struct hp_value *value)
{
	double whole = cell->report->whole_ns, part = whole > 0 ? 100 / whole : 0;

	function_total(cell, value);
	value->number *= part;
	value->upper *= part;
}

/* The wider half of the interval, as a share of the estimate. */
static void function_error(const struct hp_cell *cell, struct hp_value *value)
{
	struct sum sum = sum_of_row(cell);
	struct hp_value total = { .text = NULL };
	double half = fmax(sum.ns - sum.low_ns, sum.high_ns - sum.ns);

	function_total(cell, &total);
	value->is_unknown = !total.is_estimated || sum.ns < 0.5;
	value->number = value->is_unknown ? 0 : 100 * half / sum.ns;
}

static void function_self(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_model_function *f = cell->row;

	value->number = f->self_ns;
	value->is_unknown = f == &cell->report->life;
}

static const struct hp_column columns[] = {
	{ .key = "id", .raw = "id", .unit = HP_UNIT_NUMBER, .get = function_id },
	{ "Function", "name", "name", HP_UNIT_NAME, .get = function_name },
	{ "Calls", "calls", "calls", HP_UNIT_COUNT, .member = HP_MEMBER(hp_model_function, calls) },
	{ NULL, "sampled_calls", "sampled_calls", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_model_function, measured) },
	{ "Avg", "avg", "avg_ns", HP_UNIT_TIME, .get = function_average },
	{ "P", "p", "p", HP_UNIT_TIME, .get = function_percentile, .is_percentiles = true },
	{ "Total", "total", "total_ns", HP_UNIT_TIME, .get = function_total },
	{ "\302\26195%", NULL, NULL, HP_UNIT_ERROR, .get = function_error,
	  .need = HP_NEED_ESTIMATE },
	{ "% Total", "percent_total", "percent_total", HP_UNIT_SHARE, .get = function_share },
	{ .raw = "inclusive_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_model_function, total_ns) },
	{ .raw = "inclusive_low_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_model_function, total_low_ns) },
	{ .raw = "inclusive_high_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_model_function, total_high_ns) },
	{ .raw = "self_ns", .unit = HP_UNIT_NUMBER, .get = function_self },
	{ .raw = "self_error_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_model_function, self_error_ns) },
	{ .raw = "self_low_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_model_function, self_low_ns) },
	{ .raw = "self_high_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_model_function, self_high_ns) },
	{ .raw = "avg_low_ns", .unit = HP_UNIT_NUMBER, .get = average_low },
	{ .raw = "avg_high_ns", .unit = HP_UNIT_NUMBER, .get = average_high },
	{ .raw = "running_calls",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_model_function, running) },
	{ 0 },
};

/* --- the first lines --- */

const struct hp_model_function *hp_functions_busiest(struct hp_report *report)
{
	const struct hp_model_function *best = NULL;

	for (size_t i = 0; i < report->model.function_count; i++) {
		const struct hp_model_function *f = &report->model.functions[i];

		if (f->calls && f != report->wrapper && (!best || f->self_ns > best->self_ns))
			best = f;
	}
	return best;
}

/*
 * By own time: with callees the first function would be one that only calls the busy one.
 * main is named if nothing else was called.
 */
static bool top(struct hp_report *report, struct hp_top *top)
{
	const struct hp_model_function *f = hp_functions_busiest(report);

	f = f ? f : report->wrapper;
	if (!f || f == &report->life || report->whole_ns <= 0)
		return false;
	hp_function_name_set(report, f, &top->name);
	top->share.number = 100 * f->self_ns / report->whole_ns;
	top->share.is_estimated = f->is_sampled || f->self_error_ns > HP_MARKED * f->self_ns;
	top->word = "self, wall";
	return true;
}

/* --- JSON --- */

void hp_functions_add_head(struct hp_report *report, cJSON *list)
{
	cJSON_AddStringToObject(list, "profiling_mode", "timing");
	hp_extra_add_elapsed(report, list);
}

void hp_functions_add_middle(struct hp_report *report, cJSON *list)
{
	cJSON_AddStringToObject(list, "caller_name", report->caller);
	hp_extra_add_percentiles(report, list);
}

static void add_location(struct hp_report *report, const void *row, cJSON *entry)
{
	struct hp_source source;

	if (hp_report_source(report, row, &source))
		hp_json_location(entry, source.file, source.line, source.column);
}

static cJSON *call_new(const struct hp_model_call *call)
{
	cJSON *entry = cJSON_CreateObject();

	hp_json_whole(entry, "start_ns", call->start_ns);
	hp_json_whole(entry, "ns", call->ns);
	hp_json_whole(entry, "tid", call->tid);
	hp_json_text(entry, "result", call->result);
	return entry;
}

static void add_calls(struct hp_report *report, const void *row, cJSON *entry)
{
	const struct hp_model_function *f = row;
	struct hp_model_call last[HP_LAST_MAX];
	struct hp_call slowest[HP_SLOWEST];
	size_t count;
	cJSON *array;

	if (report->is_brief)
		return;
	hp_model_slowest(&report->model, f, slowest);
	count = hp_model_last_calls(&report->model, f, last, HP_LAST_MAX);
	array = cJSON_AddArrayToObject(entry, "slowest_calls");

	for (int i = 0; i < HP_SLOWEST && slowest[i].ticks; i++) {
		struct hp_model_call call = hp_model_call(&report->model, &slowest[i]);

		cJSON_AddItemToArray(array, call_new(&call));
	}
	array = cJSON_AddArrayToObject(entry, "last_calls");
	for (size_t i = 0; i < count; i++) {
		cJSON_AddItemToArray(array, call_new(&last[i]));
		free(last[i].result);
	}
}

/* --- the section --- */

const struct hp_section hp_functions_section = {
	.key = "functions-timing",
	.json = "functions_timing",
	.name = "timing",
	.help = "functions by time",
	.subject = HP_SUBJECT_TIMING,
	.columns = columns,
	.fill = fill,
	.limit = HP_MEMBER(hp_settings, functions_limit),
	.usual = HP_FUNCTIONS_LIMIT,
	.describe = describe,
	.note = note,
	.empty = hp_functions_empty,
	.is_on_top = true,
	.top = top,
	.extra = { .head = hp_functions_add_head,
		   .middle = hp_functions_add_middle,
		   .data = add_location,
		   .raw = add_calls,
		   .list_keys = HP_FUNCTIONS_KEYS,
		   .data_keys = "location:@location",
		   .raw_keys = "slowest_calls:[@call] last_calls:[@call]" },
	.tool = { .help = "Functions by time: calls, mean, percentiles, total, and share of the run. Only "
			  "functions compiled with the flags of `hotpath flags` are in it.",
		  .meaning =
			  "Wall time of each instrumented function's calls, measured at entry and "
			  "exit. All calls are counted; very frequent ones are sampled, and the total "
			  "is estimated from the samples. total includes callees: shares add up to "
			  "more than 100 %. Times are those of the program as compiled, minus "
			  "the hooks: without instrumentation the compiler "
			  "inlines more, and functions of a few ns take less.",
		  .next = "hot_path for the chain of calls; function_timing_logs for its slowest "
			  "calls; functions_cpu to tell computing from waiting, offcpu for where "
			  "it waits." },
	.has_own_ids = true,
};
