/* SPDX-License-Identifier: MIT */
/*
 * calls_tree.c - the complete call tree: as rows, and as collapsed stacks.
 */
#include <stdlib.h>

#include "report/section/timing/calls_part.h"
#include "report/base/memory.h"

/* Nodes whose path has a function that passes the focus. */
static bool *focused(struct hp_report *report)
{
	const struct hp_model *model = &report->model;
	bool has_focus = report->focus.part || report->focus.is_regex;
	bool *is_in = hp_xcalloc(model->node_count, sizeof(*is_in));

	for (uint32_t i = 1; i < model->node_count; i++) {
		const struct hp_model_function *f = &model->functions[model->nodes[i].function];

		is_in[i] = !has_focus || is_in[model->nodes[i].parent] ||
			   (f != report->wrapper && hp_report_allows(report, f));
	}
	return is_in;
}

/* And those on the path to them. */
static void focused_widen(const struct hp_model *model, bool *is_in)
{
	for (uint32_t i = (uint32_t)model->node_count; i-- > 1;)
		is_in[model->nodes[i].parent] |= is_in[i];
}

void hp_calls_tree_fill(struct hp_report *report, struct hp_calls *calls)
{
	const struct hp_model *model = &report->model;
	double least_ns = report->whole_ns * calls->least / 100;
	uint32_t *places = hp_xcalloc(model->node_count, sizeof(*places));
	bool *is_in = focused(report);
	size_t room = 0;

	focused_widen(model, is_in);
	for (uint32_t i = 1; i < model->node_count; i++) {
		const struct hp_model_node *node = &model->nodes[i];
		uint32_t above = node->parent;

		if (!is_in[i] || !node->calls || node->inclusive_ns < least_ns ||
		    (above && !places[above]))
			continue;
		calls->rows = hp_xgrow(calls->rows, calls->count, &room, sizeof(*calls->rows));
		places[i] = (uint32_t)calls->count + 1;
		calls->rows[calls->count++] = (struct hp_calls_row){
			.function = node->function,
			.above = above ? places[above] - 1 : 0,
			.depth = above ? calls->rows[places[above] - 1].depth + 1 : 0,
			.calls = (double)node->calls,
			.total_ns = node->inclusive_ns,
			.self_ns = node->self_ns,
			.total_error_ns = node->inclusive_error_ns,
			.self_error_ns = node->self_error_ns,
		};
	}
	free(places);
	free(is_in);
}

/* --- collapsed stacks --- */

/* `;` separates, a line ends with its number; names have neither. */
static void frame_write(const char *name, FILE *out)
{
	for (; *name; name++)
		fputc(*name == ';' ? ':' : *name == '\n' ? ' ' : *name, out);
}

static void path_write(struct hp_report *report, uint32_t node, uint32_t *path, FILE *out)
{
	const struct hp_model *model = &report->model;
	size_t depth = 0;

	for (; node; node = model->nodes[node].parent)
		path[depth++] = model->nodes[node].function;
	while (depth-- > 0) {
		frame_write(hp_report_name(report, &model->functions[path[depth]]), out);
		if (depth)
			fputc(';', out);
	}
}

void hp_folded_write(struct hp_report *report, FILE *out)
{
	const struct hp_model *model = &report->model;
	uint32_t *path = hp_xcalloc(model->node_count, sizeof(*path));
	bool *is_in = focused(report);

	for (uint32_t i = 1; i < model->node_count; i++) {
		double ns = model->nodes[i].self_ns + 0.5;

		if (!is_in[i] || ns < 1)
			continue;
		path_write(report, i, path, out);
		fprintf(out, " %.0f\n", ns - 0.5);
	}
	free(path);
	free(is_in);
}
