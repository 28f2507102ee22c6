/* SPDX-License-Identifier: MIT */
/*
 * path.c - the section of the heaviest chain of calls: from the root, or to and
 * from functions in focus, always to the heaviest callee.
 */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/json.h"
#include "report/base/memory.h"
#include "report/section/timing/function.h"
#include "report/section/core/list.h"

#define TREE_MAX 1000	/* nodes of the tree in JSON */
#define PATH_MIN 0.005	/* the path ends when less of its start is left */

/* The chain, the outermost first. */
struct path {
	struct hp_path_row *rows;
	size_t count;
};

/* The node to go through: the heaviest one that passes the focus. */
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
		    hp_report_allows(report, f))
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

static void path_find(struct hp_report *report, struct path *path)
{
	const struct hp_model *model = &report->model;
	uint32_t *best = heaviest(model);
	uint32_t through = path_through(report);
	uint32_t node = through ? through : best[0];
	unsigned depth = depth_of(model, node);
	double least = model->nodes[node].inclusive_ns * PATH_MIN;
	size_t room;

	for (uint32_t i = best[node]; i && model->nodes[i].inclusive_ns > least; i = best[i])
		depth++;
	room = depth;
	path->rows = hp_xcalloc(room, sizeof(*path->rows));
	depth = depth_of(model, node);
	for (uint32_t i = node; i; i = model->nodes[i].parent, depth--)
		path->rows[depth - 1] =
			(struct hp_path_row){ .node = &model->nodes[i], .depth = depth - 1 };
	depth = depth_of(model, node);
	for (uint32_t i = best[node]; i && depth < room; i = best[i], depth++)
		path->rows[depth] =
			(struct hp_path_row){ .node = &model->nodes[i], .depth = depth };
	path->count = depth;
	free(best);
}

static void path_free(void *held)
{
	struct path *path = held;

	free(path->rows);
	free(path);
}

static const struct path *path_of(struct hp_report *report)
{
	static const struct hp_view_kind kind = { .free = path_free };
	struct path *path = hp_views_get(&report->views, &kind);

	if (path)
		return path;
	path = hp_views_add(&report->views, &kind, hp_xcalloc(1, sizeof(*path)));
	path_find(report, path);
	return path;
}

static void fill(struct hp_report *report, struct hp_list *list)
{
	const struct path *path = path_of(report);

	list->total = path->count;
	list->rows = hp_xcalloc(list->total, sizeof(*list->rows));
	for (size_t i = 0; i < list->total; i++)
		list->rows[i] = &path->rows[i];
	hp_section_cut(&hp_calltree_section, report, list);
}

static bool has_data(const struct hp_report *report)
{
	return report->has_functions;
}

static const struct hp_model_function *path_function(const struct hp_report *report,
						     const void *row)
{
	return &report->model.functions[((const struct hp_path_row *)row)->node->function];
}

static void path_name(const struct hp_cell *cell, struct hp_value *value)
{
	hp_function_name_set(cell->report, path_function(cell->report, cell->row), value);
	value->indent = ((const struct hp_path_row *)cell->row)->depth;
}

static void path_calls(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = (double)((const struct hp_path_row *)cell->row)->node->calls;
}

static const struct hp_model_node *path_node(const struct hp_cell *cell)
{
	return ((const struct hp_path_row *)cell->row)->node;
}

static void path_inclusive(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_model_node *node = path_node(cell);

	hp_cell_set_between(value, node->inclusive_ns,
			    node->inclusive_ns - node->inclusive_error_ns,
			    node->inclusive_ns + node->inclusive_error_ns);
	value->is_estimated |= path_function(cell->report, cell->row)->is_sampled;
}

static void path_self(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_model_node *node = path_node(cell);

	hp_cell_set_between(value, node->self_ns, node->self_ns - node->self_error_ns,
			    node->self_ns + node->self_error_ns);
	value->is_estimated |= path_function(cell->report, cell->row)->is_sampled;
}

static void path_inclusive_low(const struct hp_cell *cell, struct hp_value *value)
{
	value->number =
		fmax(0, path_node(cell)->inclusive_ns - path_node(cell)->inclusive_error_ns);
}

static void path_inclusive_high(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = path_node(cell)->inclusive_ns + path_node(cell)->inclusive_error_ns;
}

static void path_self_low(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = fmax(0, path_node(cell)->self_ns - path_node(cell)->self_error_ns);
}

static void path_self_high(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = path_node(cell)->self_ns + path_node(cell)->self_error_ns;
}

static void path_share(const struct hp_cell *cell, struct hp_value *value)
{
	double whole = cell->report->whole_ns, part = whole > 0 ? 100 / whole : 0;

	path_inclusive(cell, value);
	value->number *= part;
	value->upper *= part;
}

static const struct hp_column columns[] = {
	{ "Function", "name", "name", HP_UNIT_NAME, .get = path_name },
	{ NULL, "depth", "depth", HP_UNIT_NUMBER, .member = HP_MEMBER(hp_path_row, depth) },
	{ "Calls", "calls", "calls", HP_UNIT_COUNT, .get = path_calls },
	{ "Inclusive", "inclusive", "inclusive_ns", HP_UNIT_TIME, .get = path_inclusive },
	{ "Self", "self", "self_ns", HP_UNIT_TIME, .get = path_self },
	{ "% Total", "percent_total", "percent_total", HP_UNIT_SHARE, .get = path_share },
	{ .raw = "inclusive_low_ns", .unit = HP_UNIT_NUMBER, .get = path_inclusive_low },
	{ .raw = "inclusive_high_ns", .unit = HP_UNIT_NUMBER, .get = path_inclusive_high },
	{ .raw = "self_low_ns", .unit = HP_UNIT_NUMBER, .get = path_self_low },
	{ .raw = "self_high_ns", .unit = HP_UNIT_NUMBER, .get = path_self_high },
	{ 0 },
};

/* --- JSON --- */

static int compare_heavy(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? 1 : a > b ? -1 : 0;
}

/* Nodes from here on are written; a caller is at least as heavy as its callees. */
static double tree_least(const struct hp_model *model)
{
	double *heavy = hp_xcalloc(model->node_count, sizeof(*heavy));
	double least;

	for (size_t i = 0; i < model->node_count; i++)
		heavy[i] = model->nodes[i].inclusive_ns;
	qsort(heavy, model->node_count, sizeof(*heavy), compare_heavy);
	least = model->node_count > TREE_MAX ? heavy[TREE_MAX] : -1;
	free(heavy);
	return least;
}

/* `parent` is the id of the caller's node; 0 = none. */
static void add_tree(struct hp_report *report, cJSON *list)
{
	const struct hp_model *model = &report->model;
	double least = tree_least(model);
	cJSON *array = cJSON_AddArrayToObject(list, "tree");

	for (size_t i = 1; i < model->node_count; i++) {
		const struct hp_model_node *node = &model->nodes[i];
		cJSON *entry;

		if (node->inclusive_ns <= least)
			continue;
		entry = cJSON_CreateObject();
		hp_json_whole(entry, "id", i);
		hp_json_whole(entry, "parent", node->parent);
		cJSON_AddStringToObject(entry, "name",
					hp_report_name(report, &model->functions[node->function]));
		hp_json_whole(entry, "calls", node->calls);
		hp_json_whole(entry, "inclusive_ns", hp_whole(rint(node->inclusive_ns)));
		hp_json_whole(entry, "self_ns", hp_whole(rint(node->self_ns)));
		hp_json_between(entry, "inclusive", node->inclusive_ns, node->inclusive_error_ns);
		hp_json_between(entry, "self", node->self_ns, node->self_error_ns);
		cJSON_AddItemToArray(array, entry);
	}
	hp_json_whole(list, "tree_total_count", model->node_count - 1);
}

/* --- the section --- */

const struct hp_section hp_calltree_section = {
	.key = "calltree",
	.json = "calltree",
	.name = "calltree",
	.help = "the hot path, and the call tree",
	.subject = HP_SUBJECT_TIMING,
	.columns = columns,
	.fill = fill,
	.limit = HP_MEMBER(hp_settings, functions_limit),
	.usual = HP_FUNCTIONS_LIMIT,
	.has_data = has_data,
	.about = "Hot path, the heaviest chain of calls.",
	.empty = hp_functions_empty,
	.extra = { .head = hp_functions_add_head,
		   .middle = hp_functions_add_middle,
		   .tail = add_tree,
		   .list_keys = HP_FUNCTIONS_KEYS " tree_total_count:i" },
	.tool = { .name = "hot_path",
		  .drop = "tree",
		  .help = "The chain of calls in which most time was spent, from the outermost function down.",
		  .meaning =
			  "From the outermost function down, the callee in which most time was spent.",
		  .next = "functions_timing with the name of its last function." },
};
