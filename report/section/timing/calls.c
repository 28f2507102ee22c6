/* SPDX-License-Identifier: MIT */
/*
 * calls.c - see calls.h: the sections that answer, and their columns.
 */
#include "report/section/timing/calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/section/timing/calls_part.h"
#include "report/section/timing/function.h"
#include "report/base/memory.h"

#define ROWS_USUAL 30

void hp_calls_release(struct hp_calls *calls)
{
	free(calls->rows);
	free(calls->describe);
	*calls = (struct hp_calls){ .kind = HP_CALLS_NONE };
}

static void calls_free(void *held)
{
	hp_calls_release(held);
	free(held);
}

static const struct hp_view_kind calls_kind = { .free = calls_free };

struct hp_calls *hp_calls_of(const struct hp_report *report)
{
	return hp_views_get(&report->views, &calls_kind);
}

static void calls_fill(struct hp_report *report, struct hp_list *list)
{
	struct hp_calls *calls = hp_calls_of(report);
	uint64_t limit = report->settings->limit;
	struct hp_calls_row *rows;

	if (limit == HP_LIMIT_UNSET)
		limit = calls->kind == HP_CALLS_TREE ? 0 : ROWS_USUAL;
	if (calls->kind == HP_CALLS_TREE)
		hp_calls_tree_fill(report, calls);
	else
		hp_calls_function_fill(report, calls);
	list->total = calls->count;
	list->shown = limit && limit < list->total ? (size_t)limit : list->total;
	rows = hp_calls_arranged(calls->rows, calls->count, list->shown);
	free(calls->rows);
	calls->rows = rows;
	list->rows = hp_xcalloc(list->shown, sizeof(*list->rows));
	for (size_t i = 0; i < list->shown; i++)
		list->rows[i] = &rows[i];
}

static const char *calls_describe(const struct hp_report *report)
{
	return hp_calls_of(report)->describe;
}

static const char *calls_empty(struct hp_report *report)
{
	if (report->has_functions)
		return "no path matches HOTPATH_FOCUS";
	return HP_NO_FUNCTIONS;
}

/* The function whose time the row shows: callers show that of the function they call. */
static bool is_sampled(const struct hp_report *report, const struct hp_calls_row *row)
{
	const struct hp_calls *calls = hp_calls_of(report);
	uint32_t function = calls->kind == HP_CALLS_CALLERS ? calls->function : row->function;

	return report->model.functions[function].is_sampled;
}

static void calls_name(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_calls_row *r = cell->row;

	value->text = "(begins here)";
	if (r->function != HP_NONE) {
		const struct hp_model_function *f = &cell->report->model.functions[r->function];

		value->text = hp_report_name(cell->report, f);
		value->is_label = hp_report_is_label(cell->report, f);
	}
	value->indent = r->depth;
}

static void calls_total(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_calls_row *r = cell->row;

	hp_cell_set_between(value, r->total_ns, r->total_ns - r->total_error_ns,
			    r->total_ns + r->total_error_ns);
	value->is_estimated |= is_sampled(cell->report, r);
}

static void calls_self(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_calls_row *r = cell->row;

	hp_cell_set_between(value, r->self_ns, r->self_ns - r->self_error_ns,
			    r->self_ns + r->self_error_ns);
	value->is_estimated |= is_sampled(cell->report, r);
}

static void calls_total_low(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_calls_row *r = cell->row;

	value->number = fmax(0, r->total_ns - r->total_error_ns);
}

static void calls_total_high(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_calls_row *r = cell->row;

	value->number = r->total_ns + r->total_error_ns;
}

static void calls_self_low(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_calls_row *r = cell->row;

	value->number = fmax(0, r->self_ns - r->self_error_ns);
}

static void calls_self_high(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_calls_row *r = cell->row;

	value->number = r->self_ns + r->self_error_ns;
}

/* Of the requested function, or of the run. */
static void calls_share(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_calls *calls = hp_calls_of(cell->report);
	double whole =
		calls->kind == HP_CALLS_TREE ? cell->report->whole_ns : calls->rows[0].total_ns;
	double part = whole > 0 ? 100 / whole : 0;

	calls_total(cell, value);
	value->is_estimated = false;
	value->number *= part;
	value->upper *= part;
}

static const struct hp_column columns[] = {
	{ "Function", "name", "name", HP_UNIT_NAME, .get = calls_name },
	{ NULL, "depth", "depth", HP_UNIT_NUMBER, .member = HP_MEMBER(hp_calls_row, depth) },
	{ "Calls", "calls", "calls", HP_UNIT_COUNT, .member = HP_MEMBER(hp_calls_row, calls) },
	{ "Total", "total", "total_ns", HP_UNIT_TIME, .get = calls_total },
	{ "Self", "self", "self_ns", HP_UNIT_TIME, .get = calls_self },
	{ "% Total", "percent_total", "percent_total", HP_UNIT_SHARE, .get = calls_share },
	{ .raw = "total_low_ns", .unit = HP_UNIT_NUMBER, .get = calls_total_low },
	{ .raw = "total_high_ns", .unit = HP_UNIT_NUMBER, .get = calls_total_high },
	{ .raw = "self_low_ns", .unit = HP_UNIT_NUMBER, .get = calls_self_low },
	{ .raw = "self_high_ns", .unit = HP_UNIT_NUMBER, .get = calls_self_high },
	{ 0 },
};

static const struct hp_section sections[] = {
	[HP_CALLS_CALLERS] = { .key = "callers",
			       .json = "callers",

			       .name = "callers",
			       .columns = columns,
			       .is_deep = true,
			       .describe = calls_describe,
			       .fill = calls_fill,
			       .empty = calls_empty },
	[HP_CALLS_CALLEES] = { .key = "callees",
			       .json = "callees",

			       .name = "callees",
			       .columns = columns,
			       .is_deep = true,
			       .describe = calls_describe,
			       .fill = calls_fill,
			       .empty = calls_empty },
	[HP_CALLS_TREE] = { .key = "tree",
			    .json = "tree",

			    .name = "tree",
			    .columns = columns,
			    .is_deep = true,
			    .describe = calls_describe,
			    .fill = calls_fill,
			    .empty = calls_empty },
};

static char *description(struct hp_report *report, const struct hp_calls *calls)
{
	char *last =
		calls->kind == HP_CALLS_TREE
			? hp_xstrdup("")
			: hp_report_short_name(report, &report->model.functions[calls->function]);
	char *text;

	if (calls->kind == HP_CALLS_TREE)
		text = hp_xprintf("All paths with at least %g %% of the time.", calls->least);
	else if (calls->kind == HP_CALLS_CALLERS)
		text = hp_xprintf("Callers of %s, level by level: its calls and time from each.",
				  last);
	else
		text = hp_xprintf("Callees of %s, level by level.", last);
	free(last);
	return text;
}

bool hp_calls_init(struct hp_report *report, enum hp_calls_kind kind, const char *name,
		   double least_percent, hp_complain complain, void *context)
{
	struct hp_calls calls = { .kind = kind, .function = HP_NONE, .least = least_percent };
	struct hp_calls *asked;

	if (kind != HP_CALLS_TREE) {
		calls.function = hp_calls_find(report, name, complain, context);
		if (calls.function == HP_NONE && !report->has_functions) {
			if (complain)
				complain(context, calls_empty(report));
			return false;
		}
		if (calls.function == HP_NONE) {
			char *line = hp_xprintf("no called function matches '%s'; "
						"--sort=name --limit=0 shows them",
						name);

			if (complain)
				complain(context, line);
			free(line);
			return false;
		}
	}
	asked = hp_views_add(&report->views, &calls_kind, hp_xcalloc(1, sizeof(*asked)));
	*asked = calls;
	asked->describe = description(report, asked);
	hp_report_answer(report, &sections[kind]);
	return true;
}

void hp_calls_ask(struct hp_report *report, struct hp_calls *calls, uint64_t limit)
{
	struct hp_calls_row *rows;

	calls->describe = description(report, calls);
	hp_calls_function_fill(report, calls);
	calls->found = calls->count;
	if (calls->count > limit)
		calls->count = limit;
	rows = hp_calls_arranged(calls->rows, calls->found, calls->count);
	free(calls->rows);
	calls->rows = rows;
}
