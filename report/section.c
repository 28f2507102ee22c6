/* SPDX-License-Identifier: MIT */
/*
 * section.c - the table of sections, their rows and their columns.
 */
#include "report/section.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/alloc_section.h"
#include "report/bound.h"
#include "report/channel_section.h"
#include "report/cpu.h"
#include "report/format.h"
#include "report/lock_section.h"
#include "report/memory.h"
#include "report/offcpu.h"
#include "report/thread.h"

#define THREADS_LIMIT 5
#define PATH_LEAST 0.005 /* the hot path ends where less of its start is left */

/* --- lists --- */

/* Most specific first: HOTPATH_<SECTION>_LIMIT, HOTPATH_LIMIT, built-in; 0 = all. */
static size_t limit_of(const struct hp_report *report, uint64_t own, size_t usual)
{
	uint64_t limit = own != HP_LIMIT_UNSET ? own : report->settings->limit;

	if (limit == HP_LIMIT_UNSET)
		limit = usual;
	return limit ? (size_t)limit : SIZE_MAX;
}

static void list_cut(struct hp_list *list, size_t limit)
{
	list->shown = list->total < limit ? list->total : limit;
}

void hp_list_cut(struct hp_list *list, const struct hp_report *report, uint64_t own, size_t usual)
{
	list_cut(list, limit_of(report, own, usual));
}

/* --- functions --- */

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

static void functions_fill(struct hp_report *report, struct hp_list *list)
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
	list_cut(list, limit_of(report, report->settings->functions_limit, HP_FUNCTIONS_LIMIT));
}

static const char *functions_describe(const struct hp_report *report)
{
	return report->settings->is_exclusive
		       ? "Exclusive time of functions; percentiles are of whole calls."
		       : "Function execution time metrics.";
}

static const char *functions_empty(struct hp_report *report)
{
	if (report->has_functions)
		return "no function passes HOTPATH_FOCUS";
	return "no instrumented function was called; compile with -finstrument-functions";
}

#define FUNCTION(name) \
	static void name(struct hp_report *report, const void *row, double percentile, \
			 struct hp_value *value)
#define UNUSED(x) (void)(x)

FUNCTION(function_id)
{
	const struct hp_model_function *f = row;
	const struct hp_model *model = &report->model;
	size_t place = f == &report->life ? model->function_count : (size_t)(f - model->functions);

	UNUSED(percentile);
	value->number = report->function_ids ? report->function_ids[place] : (double)place + 1;
}

static void name_set(struct hp_report *report, const struct hp_model_function *f,
		     struct hp_value *value)
{
	value->text = hp_report_name(report, f);
	value->is_label = hp_report_is_label(report, f);
}

FUNCTION(function_name)
{
	UNUSED(percentile);
	name_set(report, row, value);
}

FUNCTION(function_calls)
{
	UNUSED(report), UNUSED(percentile);
	value->number = (double)((const struct hp_model_function *)row)->calls;
}

FUNCTION(function_measured)
{
	UNUSED(report), UNUSED(percentile);
	value->number = (double)((const struct hp_model_function *)row)->measured;
}

FUNCTION(function_running)
{
	UNUSED(report), UNUSED(percentile);
	value->number = (double)((const struct hp_model_function *)row)->running;
}

FUNCTION(function_average)
{
	const struct hp_model_function *f = row;

	UNUSED(percentile);
	value->number = hp_report_average(report, f);
	if (report->settings->is_exclusive && f != &report->life && value->number >= 0)
		value->number = f->self_ns / (double)f->calls;
	value->is_unknown = value->number < 0;
	value->is_estimated = f->is_sampled;
}

FUNCTION(function_percentile)
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

FUNCTION(function_total)
{
	const struct hp_model_function *f = row;

	UNUSED(percentile);
	value->number = sum_of(report, f);
	value->is_estimated = is_total_estimated(report, f);
	value->is_bound = f->running && f != report->wrapper;
	value->is_unknown = !f->measured && value->number <= 0;
}

FUNCTION(function_share)
{
	double whole = report->whole_ns;

	function_total(report, row, percentile, value);
	value->number = whole > 0 ? 100 * value->number / whole : 0;
}

/* The wider half of the interval, as a share of the estimate. */
FUNCTION(function_error)
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

FUNCTION(function_low)
{
	UNUSED(report), UNUSED(percentile);
	value->number = ((const struct hp_model_function *)row)->total_low_ns;
}

FUNCTION(function_high)
{
	UNUSED(report), UNUSED(percentile);
	value->number = ((const struct hp_model_function *)row)->total_high_ns;
}

FUNCTION(function_inclusive)
{
	UNUSED(report), UNUSED(percentile);
	value->number = ((const struct hp_model_function *)row)->total_ns;
}

FUNCTION(function_self)
{
	const struct hp_model_function *f = row;

	UNUSED(percentile);
	value->number = f->self_ns;
	value->is_unknown = f == &report->life;
}

FUNCTION(function_self_error)
{
	UNUSED(report), UNUSED(percentile);
	value->number = ((const struct hp_model_function *)row)->self_error_ns;
}

static const struct hp_column function_columns[] = {
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

/* --- threads --- */

static int compare_doubles(double a, double b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

/* Highest peak first. */
static int compare_threads(const void *left, const void *right)
{
	const struct hp_model_thread *a = *(const struct hp_model_thread *const *)left;
	const struct hp_model_thread *b = *(const struct hp_model_thread *const *)right;
	int order = compare_doubles(a->percent_max, b->percent_max);

	if (!order)
		order = compare_doubles(a->percent_average, b->percent_average);
	if (!order)
		order = compare_doubles((double)a->cpu_ns, (double)b->cpu_ns);
	if (!order)
		order = strcmp(a->name, b->name);
	return order ? order : a->tid < b->tid ? -1 : a->tid > b->tid;
}

static void threads_fill(struct hp_report *report, struct hp_list *list)
{
	struct hp_model *model = &report->model;

	list->total = model->thread_count;
	list->rows = hp_xcalloc(list->total, sizeof(*list->rows));
	for (size_t i = 0; i < list->total; i++)
		list->rows[i] = &model->threads[i];
	qsort(list->rows, list->total, sizeof(*list->rows), compare_threads);
	list_cut(list, limit_of(report, report->settings->threads_limit, THREADS_LIMIT));
}

static const char *threads_describe(const struct hp_report *report)
{
	UNUSED(report);
	return "Thread CPU and memory statistics.";
}

static const char *threads_note(struct hp_report *report)
{
	struct hp_text_cell cell;

	char *alloc = hp_alloc_threads_note(report);

	if (!report->model.peak_rss_kb && !alloc)
		return NULL;
	free(report->text);
	report->text =
		hp_xprintf("%s%s%s%s", report->model.peak_rss_kb ? "Max RSS: " : "",
			   report->model.peak_rss_kb
				   ? hp_format_bytes(&cell, report->model.peak_rss_kb * 1024)
				   : "",
			   report->model.peak_rss_kb && alloc ? ", " : "", alloc ? alloc : "");
	free(alloc);
	return report->text;
}

static const char *threads_empty(struct hp_report *report)
{
	if (report->model.reader.header.sampler_area)
		return "no thread lived long enough to be looked at";
	return "threads were not watched: the helper process did not come up before the end";
}

FUNCTION(thread_name)
{
	const struct hp_model_thread *thread = row;
	char *whole;

	UNUSED(percentile);
	free(report->text);
	if (!thread->name[0])
		whole = hp_xprintf("thread_%u", thread->tid);
	else if (thread->folded)
		whole = hp_xprintf("%s (\303\227%u)", thread->name, thread->folded + 1);
	else
		whole = hp_xstrdup(thread->name);
	report->text = hp_text_clean(whole);
	free(whole);
	value->text = report->text;
}

FUNCTION(thread_tid)
{
	UNUSED(report), UNUSED(percentile);
	value->number = ((const struct hp_model_thread *)row)->tid;
}

FUNCTION(thread_pid)
{
	UNUSED(report), UNUSED(percentile);
	value->number = ((const struct hp_model_thread *)row)->pid;
}

struct state {
	const char *letters;
	const char *text;
};

static const struct state states[] = {
	{ "R", "Running" },  { "S", "Sleeping" }, { "D", "Blocked" },  { "Z", "Zombie" },
	{ "Tt", "Stopped" }, { "X", "Dead" },	  { "K", "Wakekill" }, { "W", "Waking" },
	{ "P", "Parked" },   { "I", "Idle" },	  { "x", "Exited" },
};

FUNCTION(thread_status)
{
	char letter = ((const struct hp_model_thread *)row)->state;

	UNUSED(report), UNUSED(percentile);
	value->text = "Unknown";
	for (size_t i = 0; letter && i < sizeof(states) / sizeof(states[0]); i++)
		if (strchr(states[i].letters, letter))
			value->text = states[i].text;
}

FUNCTION(thread_status_code)
{
	char letter = ((const struct hp_model_thread *)row)->state;

	UNUSED(percentile);
	free(report->text);
	report->text = hp_xprintf("%c", letter > ' ' && letter < 127 ? letter : '?');
	value->text = report->text;
}

static void load(double percent, struct hp_value *value)
{
	value->number = percent;
	value->is_unknown = percent < 0;
}

FUNCTION(thread_last)
{
	UNUSED(report), UNUSED(percentile);
	load(((const struct hp_model_thread *)row)->percent_last, value);
}

FUNCTION(thread_max)
{
	UNUSED(report), UNUSED(percentile);
	load(((const struct hp_model_thread *)row)->percent_max, value);
}

FUNCTION(thread_average)
{
	UNUSED(report), UNUSED(percentile);
	load(((const struct hp_model_thread *)row)->percent_average, value);
}

FUNCTION(thread_cpu)
{
	UNUSED(report), UNUSED(percentile);
	value->number = (double)((const struct hp_model_thread *)row)->cpu_ns;
}

/* What the thread allocated and freed; NULL = not known. */
static const struct hp_alloc_thread *thread_alloc(struct hp_report *report, const void *row,
						  struct hp_value *value)
{
	const struct hp_model_thread *thread = row;
	const struct hp_alloc_thread *alloc =
		thread->folded ? NULL : hp_alloc_thread_of(report, thread->pid, thread->tid);

	value->is_unknown = alloc == NULL;
	return alloc;
}

FUNCTION(thread_allocated)
{
	const struct hp_alloc_thread *alloc = thread_alloc(report, row, value);

	UNUSED(percentile);
	value->number = alloc ? (double)alloc->bytes : 0;
}

FUNCTION(thread_freed)
{
	const struct hp_alloc_thread *alloc = thread_alloc(report, row, value);

	UNUSED(percentile);
	value->number = alloc ? (double)alloc->freed_bytes : 0;
}

FUNCTION(thread_difference)
{
	const struct hp_alloc_thread *alloc = thread_alloc(report, row, value);

	UNUSED(percentile);
	value->number = alloc ? (double)(int64_t)(alloc->bytes - alloc->freed_bytes) : 0;
}

FUNCTION(thread_wait)
{
	UNUSED(report), UNUSED(percentile);
	value->number = (double)((const struct hp_model_thread *)row)->wait_ns;
}

FUNCTION(thread_life)
{
	UNUSED(report), UNUSED(percentile);
	value->number = (double)((const struct hp_model_thread *)row)->life_ns;
}

FUNCTION(thread_count)
{
	UNUSED(report), UNUSED(percentile);
	value->number = ((const struct hp_model_thread *)row)->folded + 1.0;
}

static const struct hp_column thread_columns[] = {
	{ "Thread", "name", "name", HP_UNIT_NAME, thread_name, false, false },
	{ NULL, "os_tid", "os_tid", HP_UNIT_NUMBER, thread_tid, false, false },
	{ .raw = "pid", .unit = HP_UNIT_NUMBER, .get = thread_pid },
	{ "State", "status", NULL, HP_UNIT_TEXT, thread_status, false, false },
	{ NULL, "status_code", "status_code", HP_UNIT_TEXT, thread_status_code, false, false },
	{ NULL, "cpu_percent", NULL, HP_UNIT_LOAD, thread_last, false, false },
	{ "Max%", "cpu_percent_max", "cpu_percent_max", HP_UNIT_LOAD, thread_max, false, false },
	{ "Avg%", "cpu_percent_avg", "cpu_percent_avg", HP_UNIT_LOAD, thread_average, false,
	  false },
	{ "CPU", NULL, "cpu_ns", HP_UNIT_TIME, thread_cpu, false, false },
	{ "Alloc", "alloc_bytes", "alloc_bytes", HP_UNIT_BYTES, thread_allocated, false,
	  HP_NEED_KNOWN },
	{ "Dealloc", "dealloc_bytes", "dealloc_bytes", HP_UNIT_BYTES, thread_freed, false,
	  HP_NEED_KNOWN },
	{ "Diff", "mem_diff", "mem_diff", HP_UNIT_DIFFERENCE, thread_difference, false,
	  HP_NEED_KNOWN },
	{ .raw = "wait_ns", .unit = HP_UNIT_NUMBER, .get = thread_wait },
	{ .raw = "life_ns", .unit = HP_UNIT_NUMBER, .get = thread_life },
	{ .raw = "threads", .unit = HP_UNIT_NUMBER, .get = thread_count },
};

/* --- calltree --- */

/* The node to go through: the heaviest one that the focus lets through. */
static uint32_t path_through(struct hp_report *report)
{
	const struct hp_model *model = &report->model;
	uint32_t best = 0;

	if (!report->focus.part && !report->focus.is_regex)
		return 0;
	for (uint32_t i = 1; i < model->node_count; i++) {
		const struct hp_model_function *f = &model->functions[model->nodes[i].function];

		if (f != report->wrapper &&
		    (!best || model->nodes[i].inclusive_ns > model->nodes[best].inclusive_ns) &&
		    hp_report_lets(report, f))
			best = i;
	}
	return best;
}

static unsigned depth_of(const struct hp_model *model, uint32_t node)
{
	unsigned depth = 0;

	for (; node; node = model->nodes[node].parent)
		depth++;
	return depth;
}

/* Heaviest callee of each node. */
static uint32_t *heaviest(const struct hp_model *model)
{
	uint32_t *best = hp_xcalloc(model->node_count, sizeof(*best));

	for (uint32_t i = 1; i < model->node_count; i++) {
		uint32_t *place = &best[model->nodes[i].parent];

		if (!*place || model->nodes[i].inclusive_ns > model->nodes[*place].inclusive_ns)
			*place = i;
	}
	return best;
}

static void path_find(struct hp_report *report)
{
	const struct hp_model *model = &report->model;
	uint32_t *best = heaviest(model);
	uint32_t through = path_through(report);
	uint32_t node = through ? through : best[0];
	unsigned depth = depth_of(model, node);
	double least = model->nodes[node].inclusive_ns * PATH_LEAST;
	size_t room;

	for (uint32_t i = best[node]; i && model->nodes[i].inclusive_ns > least; i = best[i])
		depth++;
	room = depth;
	report->path = hp_xcalloc(room, sizeof(*report->path));
	depth = depth_of(model, node);
	for (uint32_t i = node; i; i = model->nodes[i].parent, depth--)
		report->path[depth - 1] =
			(struct hp_path_row){ .node = &model->nodes[i], .depth = depth - 1 };
	depth = depth_of(model, node);
	for (uint32_t i = best[node]; i && depth < room; i = best[i], depth++)
		report->path[depth] =
			(struct hp_path_row){ .node = &model->nodes[i], .depth = depth };
	report->path_count = depth;
	free(best);
}

static void path_fill(struct hp_report *report, struct hp_list *list)
{
	if (!report->path)
		path_find(report);
	list->total = report->path_count;
	list->rows = hp_xcalloc(list->total, sizeof(*list->rows));
	for (size_t i = 0; i < list->total; i++)
		list->rows[i] = &report->path[i];
	list_cut(list, limit_of(report, report->settings->functions_limit, HP_FUNCTIONS_LIMIT));
}

static bool path_has_data(const struct hp_report *report)
{
	return report->has_functions;
}

static const char *path_describe(const struct hp_report *report)
{
	UNUSED(report);
	return "Hot path, the heaviest chain of calls.";
}

static const struct hp_model_function *path_function(const struct hp_report *report,
						     const void *row)
{
	return &report->model.functions[((const struct hp_path_row *)row)->node->function];
}

FUNCTION(path_name)
{
	UNUSED(percentile);
	name_set(report, path_function(report, row), value);
	value->indent = ((const struct hp_path_row *)row)->depth;
}

FUNCTION(path_depth)
{
	UNUSED(report), UNUSED(percentile);
	value->number = ((const struct hp_path_row *)row)->depth;
}

FUNCTION(path_calls)
{
	UNUSED(report), UNUSED(percentile);
	value->number = (double)((const struct hp_path_row *)row)->node->calls;
}

FUNCTION(path_inclusive)
{
	UNUSED(percentile);
	value->number = ((const struct hp_path_row *)row)->node->inclusive_ns;
	value->is_estimated = path_function(report, row)->is_sampled;
}

FUNCTION(path_self)
{
	UNUSED(percentile);
	value->number = ((const struct hp_path_row *)row)->node->self_ns;
	value->is_estimated = path_function(report, row)->self_error_ns > 0;
}

FUNCTION(path_share)
{
	double whole = report->whole_ns;

	path_inclusive(report, row, percentile, value);
	value->number = whole > 0 ? 100 * value->number / whole : 0;
}

static const struct hp_column path_columns[] = {
	{ "Function", "name", "name", HP_UNIT_NAME, path_name, false, false },
	{ NULL, "depth", "depth", HP_UNIT_NUMBER, path_depth, false, false },
	{ "Calls", "calls", "calls", HP_UNIT_COUNT, path_calls, false, false },
	{ "Inclusive", "inclusive", "inclusive_ns", HP_UNIT_TIME, path_inclusive, false, false },
	{ "Self", "self", "self_ns", HP_UNIT_TIME, path_self, false, false },
	{ "% Total", "percent_total", "percent_total", HP_UNIT_SHARE, path_share, false, false },
};

/* --- the table --- */

#define COLUMNS(list) .columns = (list), .column_count = sizeof(list) / sizeof((list)[0])

#define LOCKS(name_, list, count, prefix, why_empty) \
	{ \
		.key = name_, .json = name_, .route = "/" name_, .name = name_, .columns = (list), \
		.column_count = (count), .is_quiet = true, .describe = prefix##_describe, \
		.fill = prefix##_fill, .has_data = prefix##_has_data, .empty = (why_empty) \
	}

const struct hp_section hp_section_table[] = {
	{ .key = "functions-timing",
	  .json = "functions_timing",
	  .route = "/functions_timing",
	  .name = "timing",
	  COLUMNS(function_columns),
	  .is_on_top = true,
	  .describe = functions_describe,
	  .fill = functions_fill,
	  .empty = functions_empty },
	{ .key = "calltree",
	  .json = "calltree",
	  .route = "/calltree",
	  .name = "calltree",
	  COLUMNS(path_columns),
	  .describe = path_describe,
	  .fill = path_fill,
	  .has_data = path_has_data,
	  .empty = functions_empty },
	{ .key = "functions-alloc",
	  .json = "functions_alloc",
	  .route = "/functions_alloc",
	  .name = "alloc",
	  COLUMNS(hp_alloc_function_columns),
	  .describe = hp_alloc_functions_describe,
	  .note = hp_alloc_note,
	  .fill = hp_alloc_functions_fill,
	  .has_data = hp_alloc_has_data,
	  .empty = hp_alloc_empty },
	{ .key = "alloc-callers",
	  .json = "alloc_callers",
	  .route = "/alloc_callers",
	  .name = "alloc-callers",
	  COLUMNS(hp_alloc_function_columns),
	  .is_quiet = true,
	  .describe = hp_alloc_callers_describe,
	  .note = hp_alloc_note,
	  .fill = hp_alloc_callers_fill,
	  .has_data = hp_alloc_callers_has_data,
	  .empty = hp_alloc_empty },
	{ .key = "alloc-sites",
	  .json = "alloc_sites",
	  .route = "/alloc_sites",
	  .name = "alloc-sites",
	  COLUMNS(hp_alloc_site_columns),
	  .describe = hp_alloc_sites_describe,
	  .note = hp_alloc_note,
	  .fill = hp_alloc_sites_fill,
	  .has_data = hp_alloc_has_data,
	  .empty = hp_alloc_empty,
	  .after = hp_alloc_sites_after },
	{ .key = "leaks",
	  .json = "leaks",
	  .route = "/leaks",
	  .name = "leaks",
	  COLUMNS(hp_leak_columns),
	  .describe = hp_leaks_describe,
	  .note = hp_leaks_note,
	  .fill = hp_leaks_fill,
	  .has_data = hp_leaks_has_data,
	  .empty = hp_leaks_empty },
	{ .key = "alloc-sizes",
	  .json = "alloc_sizes",
	  .route = "/alloc_sizes",
	  .name = "alloc-sizes",
	  COLUMNS(hp_size_columns),
	  .is_quiet = true,
	  .describe = hp_block_sizes_describe,
	  .fill = hp_block_sizes_fill,
	  .has_data = hp_blocks_has_data,
	  .empty = hp_blocks_empty,
	  .after = hp_blocks_after },
	{ .key = "alloc-lives",
	  .json = "alloc_lives",
	  .route = "/alloc_lives",
	  .name = "alloc-lives",
	  COLUMNS(hp_life_columns),
	  .is_quiet = true,
	  .describe = hp_block_lives_describe,
	  .fill = hp_block_lives_fill,
	  .has_data = hp_blocks_has_data,
	  .empty = hp_blocks_empty,
	  .after = hp_blocks_after },
	{ .key = "direct-maps",
	  .json = "direct_maps",
	  .route = "/direct_maps",
	  .name = "direct-maps",
	  COLUMNS(hp_direct_columns),
	  .is_quiet = true,
	  .describe = hp_direct_maps_describe,
	  .note = hp_direct_maps_note,
	  .fill = hp_direct_maps_fill,
	  .has_data = hp_direct_maps_has_data,
	  .empty = hp_direct_maps_empty,
	  .after = hp_direct_maps_after },
	{ .key = "functions-cpu",
	  .json = "functions_cpu",
	  .route = "/functions_cpu",
	  .name = "cpu",
	  .columns = hp_cpu_columns,
	  .column_count = HP_CPU_COLUMNS,
	  .is_on_top = true,
	  .describe = hp_cpu_describe,
	  .note = hp_cpu_note,
	  .fill = hp_cpu_fill,
	  .has_data = hp_cpu_has_data,
	  .empty = hp_cpu_empty,
	  .after = hp_cpu_after,
	  .is_failed = hp_cpu_is_failed },
	{ .key = "offcpu",
	  .json = "offcpu",
	  .route = "/offcpu",
	  .name = "offcpu",
	  .columns = hp_offcpu_columns,
	  .column_count = HP_OFFCPU_COLUMNS,
	  .is_on_top = true,
	  .describe = hp_offcpu_describe,
	  .note = hp_offcpu_note,
	  .fill = hp_offcpu_fill,
	  .has_data = hp_offcpu_has_data,
	  .empty = hp_offcpu_empty },
	{ .key = "bound",
	  .json = "bound",
	  .route = "/bound",
	  .name = "bound",
	  .columns = hp_bound_columns,
	  .column_count = HP_BOUND_COLUMNS,
	  .is_quiet = true,
	  .is_on_top = true,
	  .describe = hp_bound_describe,
	  .note = hp_bound_note,
	  .fill = hp_bound_fill,
	  .has_data = hp_bound_has_data,
	  .empty = hp_bound_empty },
	{ .key = "channels",
	  .json = "channels",
	  .route = "/channels",
	  .name = "channels",
	  .columns = hp_channel_columns,
	  .column_count = HP_CHANNEL_COLUMNS,
	  .is_quiet = true,
	  .describe = hp_channels_describe,
	  .note = hp_channels_note,
	  .fill = hp_channels_fill,
	  .has_data = hp_channels_has_data,
	  .empty = hp_channels_empty },
	{ .key = "channels-latency",
	  .with = "channels",
	  .json = "",
	  .route = "",
	  .name = "channels latency",
	  .columns = hp_latency_columns,
	  .column_count = HP_LATENCY_COLUMNS,
	  .is_quiet = true,
	  .describe = hp_latency_describe,
	  .fill = hp_latency_fill,
	  .has_data = hp_latency_has_data,
	  .empty = hp_channels_empty },
	{ .key = "streams", .json = "streams", .route = "/streams", .name = "streams" },
	{ .key = "futures", .json = "futures", .route = "/futures", .name = "futures" },
	LOCKS("rw_locks", hp_rwlock_columns, HP_RWLOCK_COLUMNS, hp_rw_locks, hp_locks_empty),
	LOCKS("mutexes", hp_mutex_columns, HP_MUTEX_COLUMNS, hp_mutexes, hp_locks_empty),
	LOCKS("conds", hp_cond_columns, HP_COND_COLUMNS, hp_conds, hp_locks_empty),
	LOCKS("sems", hp_sem_columns, HP_SEM_COLUMNS, hp_sems, hp_locks_empty),
	LOCKS("barriers", hp_barrier_columns, HP_BARRIER_COLUMNS, hp_barriers, hp_locks_empty),
	LOCKS("file_locks", hp_file_lock_columns, HP_FILE_LOCK_COLUMNS, hp_file_locks,
	      hp_locks_empty),
	LOCKS("waits", hp_wait_columns, HP_WAIT_COLUMNS, hp_waits, hp_waits_empty),
	LOCKS("lock_order", hp_order_columns, HP_ORDER_COLUMNS, hp_lock_order, hp_lock_order_empty),
	LOCKS("waiting", hp_waiting_columns, HP_WAITING_COLUMNS, hp_waiting, hp_waiting_empty),
	{ .key = "sql", .json = "sql", .route = "/sql", .name = "sql" },
	{ .key = "http", .json = "http", .route = "/http", .name = "http" },
	{ .key = "server", .json = "server", .route = "/server", .name = "server" },
	{ .key = "io", .json = "io", .route = "/io", .name = "io" },
	{ .key = "threads",
	  .json = "threads",
	  .route = "/threads",
	  .name = "threads",
	  COLUMNS(thread_columns),
	  .is_on_top = true,
	  .describe = threads_describe,
	  .note = threads_note,
	  .fill = threads_fill,
	  .empty = threads_empty },
	{ .key = "thread-states",
	  .json = "thread_states",
	  .route = "/thread_states",
	  .name = "thread-states",
	  .columns = hp_thread_state_columns,
	  .column_count = HP_THREAD_STATE_COLUMNS,
	  .is_quiet = true,
	  .describe = hp_thread_states_describe,
	  .fill = hp_thread_states_fill,
	  .has_data = hp_thread_states_has_data,
	  .empty = hp_thread_states_empty },
	{ .key = "debug", .json = "debug", .route = "/debug", .name = "debug" },
};

const size_t hp_section_count = sizeof(hp_section_table) / sizeof(hp_section_table[0]);

static_assert(sizeof(hp_section_table) / sizeof(hp_section_table[0]) <= HP_SECTIONS_MOST,
	      "struct hp_report has a flag for each");
