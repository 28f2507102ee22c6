/* SPDX-License-Identifier: MIT */
/*
 * calls_rows.c - a function's callers and callees, level by level.
 *
 * A function is in the tree once for each path that leads to it. Its
 * callers' table starts from all these nodes together and goes up, level by
 * level; its callees' table goes down: a row is the set of the nodes that one function
 * has there.  A set's total never exceeds that of its parent, so when rows are
 * too many the heaviest are shown, with all their ancestors.
 */
#include <stdlib.h>
#include <string.h>

#include "report/section/timing/calls_part.h"
#include "report/base/memory.h"

#define ROWS_MAX 100000	/* found; fewer are shown */

/* --- sets of nodes --- */

/* A node of the requested function, and the current end of its path. */
struct step {
	uint32_t function;	/* of `at`; HP_NONE = the top */
	uint32_t node;	/* whose time counts */
	uint32_t at;
};

/* A row whose next level must be found: its steps. */
struct level {
	uint32_t row;	/* place in `rows`, HP_NONE = the first row must be made */
	struct step *steps;
	size_t count;
};

struct search {
	struct hp_report *report;
	const struct hp_calls *asked;
	bool is_up;
	uint32_t *first;	/* of each node: its first callee, */
	uint32_t *next;	/* and its next sibling; 0 = none */
	double least_ns;
	struct hp_calls_row *rows;
	size_t count;
	size_t room;
	struct level *levels;	/* still to be processed */
	size_t level_count;
	size_t level_room;
};

static int compare_steps(const void *left, const void *right)
{
	const struct step *a = left, *b = right;

	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

static void callees_find(struct search *search)
{
	const struct hp_model *model = &search->report->model;

	search->first = hp_xcalloc(model->node_count, sizeof(*search->first));
	search->next = hp_xcalloc(model->node_count, sizeof(*search->next));
	for (uint32_t i = (uint32_t)model->node_count; i-- > 1;) {
		uint32_t parent = model->nodes[i].parent;

		search->next[i] = search->first[parent];
		search->first[parent] = i;
	}
}

static void level_push(struct search *search, uint32_t row, struct step *steps, size_t count)
{
	search->levels = hp_xgrow(search->levels, search->level_count, &search->level_room,
				  sizeof(*search->levels));
	search->levels[search->level_count++] = (struct level){ row, steps, count };
}

/* The row of steps that are at one function.  Takes over `steps`. */
static void row_push(struct search *search, uint32_t above, struct step *steps, size_t count)
{
	const struct hp_model_node *nodes = search->report->model.nodes;
	struct hp_calls_row row = { .function = steps[0].function };

	for (size_t i = 0; i < count; i++) {
		const struct hp_model_node *node = &nodes[steps[i].node];

		row.calls += (double)node->calls;
		row.total_ns += node->inclusive_ns;
		row.self_ns += node->self_ns;
		row.total_error_ns += node->inclusive_error_ns;
		row.self_error_ns += node->self_error_ns;
	}
	if (search->count >= ROWS_MAX || row.calls <= 0 ||
	    (search->count && row.total_ns < search->least_ns)) {
		free(steps);
		return;
	}
	row.above = above == HP_NONE ? 0 : above;
	row.depth = above == HP_NONE ? 0 : search->rows[above].depth + 1;
	search->rows = hp_xgrow(search->rows, search->count, &search->room, sizeof(*search->rows));
	search->rows[search->count++] = row;
	level_push(search, (uint32_t)search->count - 1, steps, count);
}

/* All callers, or all callees, of a level's steps: not grouped yet. */
static struct step *steps_on(const struct search *search, const struct level *level, size_t *count)
{
	const struct hp_model_node *nodes = search->report->model.nodes;
	struct step *steps = NULL;
	size_t room = 0;

	*count = 0;
	for (size_t i = 0; i < level->count; i++) {
		uint32_t at = level->steps[i].at;
		uint32_t on = search->is_up ? nodes[at].parent : search->first[at];

		for (; at && (on || search->is_up); on = search->next[on]) {
			steps = hp_xgrow(steps, *count, &room, sizeof(*steps));
			steps[(*count)++] = (struct step){
				.function = on ? nodes[on].function : HP_NONE,
				.node = search->is_up ? level->steps[i].node : on,
				.at = on,
			};
			if (search->is_up)
				break;
		}
	}
	return steps;
}

static void level_expand(struct search *search, const struct level *level)
{
	size_t count, end;
	struct step *steps = steps_on(search, level, &count);

	if (count)
		qsort(steps, count, sizeof(*steps), compare_steps);
	for (size_t from = 0; from < count; from = end) {
		struct step *group;

		for (end = from + 1; end < count; end++)
			if (steps[end].function != steps[from].function)
				break;
		group = hp_xcalloc(end - from, sizeof(*group));
		memcpy(group, steps + from, (end - from) * sizeof(*group));
		row_push(search, level->row, group, end - from);
	}
	free(steps);
}

static void search_run(struct search *search)
{
	const struct hp_model *model = &search->report->model;
	uint32_t function = search->asked->function;
	struct step *steps = NULL;
	size_t count = 0, room = 0;

	for (uint32_t i = 1; i < model->node_count; i++) {
		if (model->nodes[i].function != function)
			continue;
		steps = hp_xgrow(steps, count, &room, sizeof(*steps));
		steps[count++] = (struct step){ function, i, i };
	}
	if (!count)
		return;
	row_push(search, HP_NONE, steps, count);
	search->least_ns = search->rows[0].total_ns * search->asked->least / 100;
	while (search->level_count) {
		struct level level = search->levels[--search->level_count];

		level_expand(search, &level);
		free(level.steps);
	}
}

void hp_calls_function_fill(struct hp_report *report, struct hp_calls *calls)
{
	struct search search = { .report = report,
				 .asked = calls,
				 .is_up = calls->kind == HP_CALLS_CALLERS };

	callees_find(&search);
	search_run(&search);
	calls->rows = search.rows;
	calls->count = search.count;
	free(search.first);
	free(search.next);
	free(search.levels);
}

/* --- order and choice --- */

static int compare_totals(const void *left, const void *right, void *context)
{
	const struct hp_calls_row *rows = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	if (rows[a].total_ns < rows[b].total_ns || rows[a].total_ns > rows[b].total_ns)
		return rows[a].total_ns < rows[b].total_ns ? 1 : -1;
	return a < b ? -1 : a > b;
}

/* Places of the heaviest `most` rows; their parent is heavier, or earlier. */
static uint32_t *heaviest(const struct hp_calls_row *rows, size_t count)
{
	uint32_t *places = hp_xcalloc(count, sizeof(*places));

	for (uint32_t i = 0; i < count; i++)
		places[i] = i;
	if (count)
		qsort_r(places, count, sizeof(*places), compare_totals, (void *)(uintptr_t)rows);
	return places;
}

struct hp_calls_row *hp_calls_arranged(const struct hp_calls_row *rows, size_t count, size_t shown)
{
	uint32_t *places = heaviest(rows, count);
	uint32_t *first = hp_xcalloc(count + 1, sizeof(*first));
	uint32_t *next = hp_xcalloc(count, sizeof(*next));
	uint32_t *stack = hp_xcalloc(count + 1, sizeof(*stack));
	struct hp_calls_row *sorted = hp_xcalloc(shown, sizeof(*sorted));
	size_t depth = 0, done = 0;

	/* Lists by weight, places + 1; those without a parent are in the last list. */
	for (size_t i = shown; i-- > 0;) {
		uint32_t row = places[i];
		uint32_t *list = rows[row].depth ? &first[rows[row].above] : &first[count];

		next[row] = *list;
		*list = row + 1;
	}
	stack[depth++] = first[count];
	while (depth > 0) {
		uint32_t row = stack[depth - 1];

		if (!row) {
			depth--;
			continue;
		}
		stack[depth - 1] = next[row - 1];
		sorted[done++] = rows[row - 1];
		if (first[row - 1])
			stack[depth++] = first[row - 1];
	}
	free(places);
	free(first);
	free(next);
	free(stack);
	return sorted;
}
