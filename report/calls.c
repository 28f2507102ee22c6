/* SPDX-License-Identifier: MIT */
/*
 * calls.c - see calls.h.
 *
 * A function stands in the tree once for each path that leads to it.  Its
 * callers' table takes all these nodes together and goes up, level by level,
 * its callees' table goes down: a row is the set of the nodes that one function
 * has there.  A set's total is never more than that of the set it hangs on, so
 * when there are too many rows the heaviest are shown, with all they hang on.
 */
#include "report/calls.h"

#include <stdlib.h>
#include <string.h>

#include "report/annotate.h"
#include "report/format.h"
#include "report/memory.h"
#include "report/name.h"
#include "report/section.h"

#define ROWS_MOST 100000	/* found; fewer are shown */
#define ROWS_USUAL 30
#define TOLD_MOST 3	/* other functions that fit */

/* --- which function --- */

static bool is_called(const char *whole, const char *name, size_t depth)
{
	char *last = hp_name_short(whole, depth);
	bool is_it = strcmp(last, name) == 0;

	last[strcspn(last, "(")] = 0;
	is_it |= *last && strcmp(last, name) == 0;
	free(last);
	return is_it;
}

/* The name that is shown, the whole one, or the last part; parameters may be missing. */
static bool is_named(struct hp_report *report, const struct hp_model_function *f, const char *name)
{
	const char *whole = hp_report_name(report, f);

	if (hp_report_is_label(report, f))
		return strcmp(whole, name) == 0;
	return is_called(whole, name, 0) || is_called(whole, name, 1) ||
	       is_called(whole, name, (size_t)report->settings->name_depth);
}

enum fit { FIT_NOT = 0, FIT_PART, FIT_NAME };

static enum fit fit_of(struct hp_report *report, const struct hp_focus *focus,
		       const struct hp_model_function *f, const char *name)
{
	if (!f->calls)
		return FIT_NOT;
	if (is_named(report, f, name))
		return FIT_NAME;
	return hp_focus_lets(focus, hp_report_name(report, f)) ? FIT_PART : FIT_NOT;
}

/* What else was meant, perhaps. */
static void tell_others(struct hp_report *report, const uint32_t *others, size_t count,
			hp_complain complain, void *context)
{
	char *line = hp_xprintf("%zu other function%s fit%s:", count, count > 1 ? "s" : "",
				count > 1 ? "" : "s");

	for (size_t i = 0; i < count && i < TOLD_MOST; i++) {
		const struct hp_model_function *f = &report->model.functions[others[i]];
		char *longer =
			hp_xprintf("%s%s '%s'", line, i ? "," : "", hp_report_name(report, f));

		free(line);
		line = longer;
	}
	if (complain)
		complain(context, line);
	free(line);
}

/* The heaviest of those that fit best; HP_NONE = none does. */
static uint32_t find(struct hp_report *report, const char *name, hp_complain complain,
		     void *context)
{
	const struct hp_model *model = &report->model;
	uint32_t *fitting = hp_xcalloc(model->function_count, sizeof(*fitting));
	enum fit best = FIT_NOT;
	struct hp_focus focus;
	size_t count = 0;

	hp_focus_init(&focus, name, complain, context);
	for (uint32_t i = 0; i < model->function_count; i++) {
		enum fit fit = fit_of(report, &focus, &model->functions[i], name);

		if (fit == FIT_NOT || fit < best)
			continue;
		if (fit > best)
			count = 0;
		best = fit;
		fitting[count++] = i;
		/* The heaviest stays in front. */
		if (model->functions[i].total_ns > model->functions[fitting[0]].total_ns) {
			fitting[count - 1] = fitting[0];
			fitting[0] = i;
		}
	}
	hp_focus_release(&focus);
	uint32_t found = count ? fitting[0] : HP_NONE;
	if (count > 1)
		tell_others(report, fitting + 1, count - 1, complain, context);
	free(fitting);
	return found;
}

/* --- sets of nodes --- */

/* A node of the asked function, and where its path is by now. */
struct step {
	uint32_t function;	/* of `at`; HP_NONE = the top */
	uint32_t node;	/* whose time counts */
	uint32_t at;
};

/* A row whose next level is to be found: its steps. */
struct level {
	uint32_t row;	/* place in `rows`, HP_NONE = the first row is to be made */
	struct step *steps;
	size_t count;
};

struct search {
	struct hp_report *report;
	bool is_up;
	uint32_t *first;	/* of each node: its first callee, */
	uint32_t *next;	/* and the next one beside it; 0 = none */
	double least_ns;
	struct hp_calls_row *rows;
	size_t count;
	size_t room;
	struct level *levels;	/* still to be looked at */
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
	}
	if (search->count >= ROWS_MOST || row.calls <= 0 ||
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

/* --- order and choice --- */

/* What hangs on a row follows it at once, the heaviest first. */
struct order {
	const struct hp_calls_row *rows;
	uint32_t *first;
	uint32_t *next;
};

static int compare_totals(const void *left, const void *right, void *context)
{
	const struct hp_calls_row *rows = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	if (rows[a].total_ns < rows[b].total_ns || rows[a].total_ns > rows[b].total_ns)
		return rows[a].total_ns < rows[b].total_ns ? 1 : -1;
	return a < b ? -1 : a > b;
}

/* Places of the heaviest `most` rows; what they hang on is heavier, or comes earlier. */
static uint32_t *heaviest(const struct hp_calls_row *rows, size_t count)
{
	uint32_t *places = hp_xcalloc(count, sizeof(*places));

	for (uint32_t i = 0; i < count; i++)
		places[i] = i;
	if (count)
		qsort_r(places, count, sizeof(*places), compare_totals, (void *)(uintptr_t)rows);
	return places;
}

/* Puts the heaviest `shown` rows in the order of the table. */
static struct hp_calls_row *arranged(const struct hp_calls_row *rows, size_t count, size_t shown)
{
	uint32_t *places = heaviest(rows, count);
	uint32_t *first = hp_xcalloc(count + 1, sizeof(*first));
	uint32_t *next = hp_xcalloc(count, sizeof(*next));
	uint32_t *stack = hp_xcalloc(count + 1, sizeof(*stack));
	struct hp_calls_row *sorted = hp_xcalloc(shown, sizeof(*sorted));
	size_t depth = 0, done = 0;

	/* Lists by weight, places + 1; those without a row above hang on the last list. */
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

/* --- callers and callees --- */

static double percent_ns(double whole_ns, double percent)
{
	return whole_ns * percent / 100;
}

static void search_run(struct search *search)
{
	const struct hp_model *model = &search->report->model;
	uint32_t function = search->report->calls.function;
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
	search->least_ns = percent_ns(search->rows[0].total_ns, search->report->calls.least);
	while (search->level_count) {
		struct level level = search->levels[--search->level_count];

		level_expand(search, &level);
		free(level.steps);
	}
}

static void function_fill(struct hp_report *report)
{
	struct search search = { .report = report,
				 .is_up = report->calls.kind == HP_CALLS_CALLERS };

	callees_find(&search);
	search_run(&search);
	report->calls.rows = search.rows;
	report->calls.count = search.count;
	free(search.first);
	free(search.next);
	free(search.levels);
}

/* --- the tree --- */

/* Nodes whose path has a function that the focus lets through. */
static bool *focused(struct hp_report *report)
{
	const struct hp_model *model = &report->model;
	bool has_focus = report->focus.part || report->focus.is_regex;
	bool *is_in = hp_xcalloc(model->node_count, sizeof(*is_in));

	for (uint32_t i = 1; i < model->node_count; i++) {
		const struct hp_model_function *f = &model->functions[model->nodes[i].function];

		is_in[i] = !has_focus || is_in[model->nodes[i].parent] ||
			   (f != report->wrapper && hp_report_lets(report, f));
	}
	return is_in;
}

/* And those on the way there. */
static void focused_widen(const struct hp_model *model, bool *is_in)
{
	for (uint32_t i = (uint32_t)model->node_count; i-- > 1;)
		is_in[model->nodes[i].parent] |= is_in[i];
}

static void tree_fill(struct hp_report *report)
{
	const struct hp_model *model = &report->model;
	double least_ns = percent_ns(report->whole_ns, report->calls.least);
	uint32_t *places = hp_xcalloc(model->node_count, sizeof(*places));
	struct hp_calls *calls = &report->calls;
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
		};
	}
	free(places);
	free(is_in);
}

/* --- the sections --- */

static void calls_fill(struct hp_report *report, struct hp_list *list)
{
	struct hp_calls *calls = &report->calls;
	uint64_t limit = report->settings->limit;
	struct hp_calls_row *rows;

	if (limit == HP_LIMIT_UNSET)
		limit = calls->kind == HP_CALLS_TREE ? 0 : ROWS_USUAL;
	if (calls->kind == HP_CALLS_TREE)
		tree_fill(report);
	else
		function_fill(report);
	list->total = calls->count;
	list->shown = limit && limit < list->total ? (size_t)limit : list->total;
	rows = arranged(calls->rows, calls->count, list->shown);
	free(calls->rows);
	calls->rows = rows;
	list->rows = hp_xcalloc(list->shown, sizeof(*list->rows));
	for (size_t i = 0; i < list->shown; i++)
		list->rows[i] = &rows[i];
}

static const char *calls_describe(const struct hp_report *report)
{
	return report->calls.describe;
}

static const char *calls_empty(struct hp_report *report)
{
	if (report->has_functions)
		return "no path passes HOTPATH_FOCUS";
	return "no instrumented function was called; compile with -finstrument-functions";
}

#define CALLS(name) \
	static void name(struct hp_report *report, const void *row, double percentile, \
			 struct hp_value *value)

/* Whose time the row tells: callers have that of the function they call. */
static bool is_sampled(const struct hp_report *report, const struct hp_calls_row *row)
{
	uint32_t function =
		report->calls.kind == HP_CALLS_CALLERS ? report->calls.function : row->function;

	return report->model.functions[function].is_sampled;
}

CALLS(calls_name)
{
	const struct hp_calls_row *r = row;

	(void)percentile;
	value->text = "(begins here)";
	if (r->function != HP_NONE) {
		const struct hp_model_function *f = &report->model.functions[r->function];

		value->text = hp_report_name(report, f);
		value->is_label = hp_report_is_label(report, f);
	}
	value->indent = r->depth;
}

CALLS(calls_depth)
{
	(void)report, (void)percentile;
	value->number = ((const struct hp_calls_row *)row)->depth;
}

CALLS(calls_calls)
{
	(void)report, (void)percentile;
	value->number = ((const struct hp_calls_row *)row)->calls;
}

CALLS(calls_total)
{
	const struct hp_calls_row *r = row;

	(void)percentile;
	value->number = r->total_ns;
	value->is_estimated = is_sampled(report, r);
}

CALLS(calls_self)
{
	const struct hp_calls_row *r = row;

	(void)percentile;
	value->number = r->self_ns;
	value->is_estimated = is_sampled(report, r);
}

/* Of the function asked about, or of the run. */
CALLS(calls_share)
{
	double whole = report->calls.kind == HP_CALLS_TREE ? report->whole_ns
							   : report->calls.rows[0].total_ns;

	(void)percentile;
	value->number = whole > 0 ? 100 * ((const struct hp_calls_row *)row)->total_ns / whole : 0;
}

static const struct hp_column columns[] = {
	{ "Function", "name", "name", HP_UNIT_NAME, calls_name, false, false },
	{ NULL, "depth", "depth", HP_UNIT_NUMBER, calls_depth, false, false },
	{ "Calls", "calls", "calls", HP_UNIT_COUNT, calls_calls, false, false },
	{ "Total", "total", "total_ns", HP_UNIT_TIME, calls_total, false, false },
	{ "Self", "self", "self_ns", HP_UNIT_TIME, calls_self, false, false },
	{ "% Total", "percent_total", "percent_total", HP_UNIT_SHARE, calls_share, false, false },
};

#define SECTION(word) \
	{ \
		.key = word, .json = word, .route = "", .name = word, .columns = columns, \
		.column_count = sizeof(columns) / sizeof(columns[0]), .is_deep = true, \
		.describe = calls_describe, .fill = calls_fill, .empty = calls_empty \
	}

static const struct hp_section sections[] = {
	[HP_CALLS_CALLERS] = SECTION("callers"),
	[HP_CALLS_CALLEES] = SECTION("callees"),
	[HP_CALLS_TREE] = SECTION("tree"),
};

const struct hp_section *hp_calls_section(const struct hp_report *report)
{
	if (report->annotation)
		return hp_annotation_section();
	return report->calls.kind == HP_CALLS_NONE ? NULL : &sections[report->calls.kind];
}

static char *description(struct hp_report *report, enum hp_calls_kind kind)
{
	char *last = kind == HP_CALLS_TREE
			     ? hp_xstrdup("")
			     : hp_report_short_name(
				       report, &report->model.functions[report->calls.function]);
	char *text;

	if (kind == HP_CALLS_TREE)
		text = hp_xprintf("All paths with at least %g %% of the time.",
				  report->calls.least);
	else if (kind == HP_CALLS_CALLERS)
		text = hp_xprintf("Who calls %s, level by level: its calls and time from there.",
				  last);
	else
		text = hp_xprintf("What %s calls, level by level.", last);
	free(last);
	return text;
}

bool hp_calls_init(struct hp_report *report, enum hp_calls_kind kind, const char *name,
		   double least_percent, hp_complain complain, void *context)
{
	struct hp_calls calls = { .kind = kind, .function = HP_NONE, .least = least_percent };

	if (kind != HP_CALLS_TREE) {
		calls.function = find(report, name, complain, context);
		if (calls.function == HP_NONE && !report->has_functions) {
			if (complain)
				complain(context, calls_empty(report));
			return false;
		}
		if (calls.function == HP_NONE) {
			char *line = hp_xprintf("no function that was called fits '%s'; "
						"--sort=name --limit=0 shows them",
						name);

			if (complain)
				complain(context, line);
			free(line);
			return false;
		}
	}
	memset(report->is_shown, 0, sizeof(report->is_shown));
	report->calls = calls;
	report->calls.describe = description(report, kind);
	return true;
}

void hp_calls_ask(struct hp_report *report, enum hp_calls_kind kind, uint32_t function,
		  double least_percent, uint64_t limit)
{
	struct hp_calls *calls = &report->calls;
	struct hp_calls_row *rows;

	*calls = (struct hp_calls){ .kind = kind, .function = function, .least = least_percent };
	calls->describe = description(report, kind);
	function_fill(report);
	calls->found = calls->count;
	if (calls->count > limit)
		calls->count = limit;
	rows = arranged(calls->rows, calls->found, calls->count);
	free(calls->rows);
	calls->rows = rows;
}

void hp_calls_release(struct hp_calls *calls)
{
	free(calls->rows);
	free(calls->describe);
	*calls = (struct hp_calls){ .kind = HP_CALLS_NONE };
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
