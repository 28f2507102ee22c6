/* SPDX-License-Identifier: MIT */
/*
 * path.c - the section of the heaviest chain of calls: from the root, or
 * to and from what the focus lets through, always to the heaviest callee.
 */
#include <stdlib.h>

#include "report/section/timing/function.h"
#include "report/base/memory.h"

#define PATH_LEAST 0.005	/* the path ends where less of its start is left */

#define CELL(name) \
	static void name(struct hp_report *report, const void *row, double percentile, \
			 struct hp_value *value)
#define UNUSED(x) (void)(x)

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

void hp_path_fill(struct hp_report *report, struct hp_list *list)
{
	if (!report->path)
		path_find(report);
	list->total = report->path_count;
	list->rows = hp_xcalloc(list->total, sizeof(*list->rows));
	for (size_t i = 0; i < list->total; i++)
		list->rows[i] = &report->path[i];
	hp_list_cut(list, report, report->settings->functions_limit, HP_FUNCTIONS_LIMIT);
}

bool hp_path_has_data(const struct hp_report *report)
{
	return report->has_functions;
}

const char *hp_path_describe(const struct hp_report *report)
{
	UNUSED(report);
	return "Hot path, the heaviest chain of calls.";
}

static const struct hp_model_function *path_function(const struct hp_report *report,
						     const void *row)
{
	return &report->model.functions[((const struct hp_path_row *)row)->node->function];
}

CELL(path_name)
{
	UNUSED(percentile);
	hp_function_name_set(report, path_function(report, row), value);
	value->indent = ((const struct hp_path_row *)row)->depth;
}

CELL(path_depth)
{
	UNUSED(report), UNUSED(percentile);
	value->number = ((const struct hp_path_row *)row)->depth;
}

CELL(path_calls)
{
	UNUSED(report), UNUSED(percentile);
	value->number = (double)((const struct hp_path_row *)row)->node->calls;
}

CELL(path_inclusive)
{
	UNUSED(percentile);
	value->number = ((const struct hp_path_row *)row)->node->inclusive_ns;
	value->is_estimated = path_function(report, row)->is_sampled;
}

CELL(path_self)
{
	UNUSED(percentile);
	value->number = ((const struct hp_path_row *)row)->node->self_ns;
	value->is_estimated = path_function(report, row)->self_error_ns > 0;
}

CELL(path_share)
{
	double whole = report->whole_ns;

	path_inclusive(report, row, percentile, value);
	value->number = whole > 0 ? 100 * value->number / whole : 0;
}

const struct hp_column hp_path_columns[HP_PATH_COLUMNS] = {
	{ "Function", "name", "name", HP_UNIT_NAME, path_name, false, false },
	{ NULL, "depth", "depth", HP_UNIT_NUMBER, path_depth, false, false },
	{ "Calls", "calls", "calls", HP_UNIT_COUNT, path_calls, false, false },
	{ "Inclusive", "inclusive", "inclusive_ns", HP_UNIT_TIME, path_inclusive, false, false },
	{ "Self", "self", "self_ns", HP_UNIT_TIME, path_self, false, false },
	{ "% Total", "percent_total", "percent_total", HP_UNIT_SHARE, path_share, false, false },
};
