/* SPDX-License-Identifier: MIT */
/*
 * flame.c - see flame.h.
 */
#include "report/view/flame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/section/memory/section.h"
#include "report/section/cpu/cpu.h"
#include "report/base/format.h"
#include "report/name/frame.h"
#include "report/base/memory.h"
#include "report/section/wait/offcpu.h"
#include "segment/layout/process.h"
#include "util/hash.h"

/* --- trees --- */

static bool is_name(const struct hp_flame *flame, uint32_t place, const char *name,
		    enum hp_flame_kind kind)
{
	return flame->kinds[place] == kind && strcmp(flame->names[place], name) == 0;
}

static uint32_t name_place(struct hp_flame *flame, const char *name, enum hp_flame_kind kind)
{
	uint64_t hash = kind + 1;
	uint32_t *place;
	bool is_new;

	hash = hp_hash_text(hash, name);
	for (hash |= 1;; hash += 2) {
		place = hp_map_at(&flame->by_name, hash, &is_new);
		if (is_new)
			break;
		if (is_name(flame, *place, name, kind))
			return *place;
	}
	*place = (uint32_t)flame->name_count;
	flame->names =
		hp_xgrow(flame->names, flame->name_count, &flame->name_room, sizeof(*flame->names));
	flame->kinds =
		hp_xgrow(flame->kinds, flame->name_count, &flame->kind_room, sizeof(*flame->kinds));
	flame->names[flame->name_count] = hp_xstrdup(name);
	flame->kinds[flame->name_count] = (uint8_t)kind;
	return (uint32_t)flame->name_count++;
}

/* Each of some thousand names is requested many times, usually at the same address. */
uint32_t hp_flame_name(struct hp_flame *flame, const char *name, enum hp_flame_kind kind)
{
	bool is_new;
	uint64_t key = (uint64_t)(uintptr_t)name << 2 | kind;
	uint32_t *place = hp_map_at(&flame->by_text, key, &is_new);

	if (is_new || !is_name(flame, *place, name, kind))
		*place = name_place(flame, name, kind);
	return *place;
}

uint32_t hp_flame_child(struct hp_flame_tree *tree, uint32_t parent, uint32_t name)
{
	bool is_new;
	/* A pair of places is its own key: no two are equal. */
	uint32_t *place = hp_map_at(&tree->children, ((uint64_t)parent << 32 | name) + 1, &is_new);

	if (!is_new)
		return *place;
	*place = (uint32_t)tree->count;
	tree->nodes = hp_xgrow(tree->nodes, tree->count, &tree->room, sizeof(*tree->nodes));
	tree->nodes[tree->count] = (struct hp_flame_node){ .parent = parent, .name = name };
	return (uint32_t)tree->count++;
}

/* At most `expected` nodes, or not many more. */
struct hp_flame_tree *hp_flame_tree_begin(struct hp_flame *flame, const char *root, size_t expected)
{
	struct hp_flame_tree *tree = &flame->trees[flame->tree_count];

	hp_map_reserve(&tree->children, expected);
	tree->nodes = hp_xgrow(NULL, 0, &tree->room, sizeof(*tree->nodes));
	tree->nodes[0] =
		(struct hp_flame_node){ .name = hp_flame_name(flame, root, HP_FLAME_OTHER) };
	tree->count = 1;
	return tree;
}

static double sum_of(const struct hp_flame_tree *tree, int measure)
{
	double sum = 0;

	for (size_t i = 0; i < tree->count; i++)
		sum += tree->nodes[i].self[measure];
	return sum;
}

/* Each node's share of the total, callees included: the largest of its measures. */
static double *shares_of(const struct hp_flame_tree *tree)
{
	double *shares = hp_xcalloc(tree->count, sizeof(*shares));
	double *totals = hp_xcalloc(tree->count, sizeof(*totals));

	for (int m = 0; m < HP_FLAME_MEASURES; m++) {
		double whole = sum_of(tree, m);

		if (whole <= 0)
			continue;
		for (size_t i = 0; i < tree->count; i++)
			totals[i] = tree->nodes[i].self[m];
		for (size_t i = tree->count; i-- > 1;)
			totals[tree->nodes[i].parent] += totals[i];
		for (size_t i = 0; i < tree->count; i++)
			shares[i] = fmax(shares[i], totals[i] / whole);
	}
	free(totals);
	return shares;
}

static int compare_shares(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? 1 : a > b ? -1 : 0;
}

/* A share that at most `most` nodes exceed. */
static double least_of(const double *shares, size_t count, size_t most)
{
	double *sorted = hp_xcalloc(count, sizeof(*sorted));
	double least;

	memcpy(sorted, shares, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare_shares);
	least = sorted[most];
	free(sorted);
	return least;
}

void hp_flame_prune(struct hp_flame *flame, struct hp_flame_tree *tree, size_t most)
{
	struct hp_flame_tree small = { .nodes = NULL };
	double *shares, least;
	uint32_t *places, rest;

	if (tree->count <= most)
		return;
	rest = hp_flame_name(flame, "(smaller ones)", HP_FLAME_OTHER);
	shares = shares_of(tree);
	least = least_of(shares, tree->count, most);
	places = hp_xcalloc(tree->count, sizeof(*places));
	small.nodes = hp_xgrow(NULL, 0, &small.room, sizeof(*small.nodes));
	small.nodes[0] = tree->nodes[0];
	small.count = 1;
	for (size_t i = 1; i < tree->count; i++) {
		const struct hp_flame_node *node = &tree->nodes[i];
		uint32_t parent = places[node->parent];

		/* A callee has no more than its caller, so none is kept below an omitted one. */
		if (small.nodes[parent].name == rest)
			places[i] = parent;
		else
			places[i] = hp_flame_child(&small, parent,
						   shares[i] > least ? node->name : rest);
		for (int m = 0; m < HP_FLAME_MEASURES; m++)
			small.nodes[places[i]].self[m] += node->self[m];
	}
	free(places);
	free(shares);
	free(tree->nodes);
	hp_map_release(&tree->children);
	*tree = small;
}

/* --- contents --- */

static void graph_add(struct hp_flame *flame, const struct hp_flame_graph *graph)
{
	const struct hp_flame_tree *tree = &flame->trees[flame->tree_count];
	struct hp_flame_graph *to = &flame->graphs[flame->graph_count];

	if (sum_of(tree, (int)graph->measure) < 1)
		return;
	*to = *graph;
	to->tree = (uint32_t)flame->tree_count;
	flame->graph_count++;
}

static void tree_end(struct hp_flame *flame, const struct hp_flame_graph *graphs, size_t count)
{
	size_t before = flame->graph_count;

	for (size_t i = 0; i < count; i++)
		graph_add(flame, &graphs[i]);
	hp_flame_prune(flame, &flame->trees[flame->tree_count], HP_FLAME_NODES);
	/* A tree without a measure is not written: the next one replaces it. */
	if (flame->graph_count > before) {
		flame->tree_count++;
		return;
	}
	free(flame->trees[flame->tree_count].nodes);
	hp_map_release(&flame->trees[flame->tree_count].children);
	memset(&flame->trees[flame->tree_count], 0, sizeof(flame->trees[0]));
}

static enum hp_flame_kind kind_of(const struct hp_model *model, uint32_t object)
{
	if (object == HP_NONE)
		return HP_FLAME_OTHER;
	if (model->objects[object].kind == HP_OBJECT_KERNEL)
		return HP_FLAME_KERNEL;
	return model->objects[object].is_program ||
			       model->objects[object].kind == HP_OBJECT_ANONYMOUS
		       ? HP_FLAME_PROGRAM
		       : HP_FLAME_LIBRARY;
}

static void time_add(struct hp_flame *flame, struct hp_report *report)
{
	static const struct hp_flame_graph graph = {
		"time",
		"Time",
		"ns",
		"Wall time of instrumented functions, by call path. Short functions are estimated.",
		0,
		0,
		NULL,
		0
	};
	const struct hp_model *model = &report->model;
	struct hp_flame_tree *tree;
	uint32_t *places;

	if (!report->has_functions)
		return;
	tree = hp_flame_tree_begin(flame, "all threads", model->node_count);
	places = hp_xcalloc(model->node_count, sizeof(*places));
	for (size_t i = 1; i < model->node_count; i++) {
		const struct hp_model_node *node = &model->nodes[i];
		const struct hp_model_function *f = &model->functions[node->function];
		uint32_t name =
			hp_flame_name(flame, hp_report_name(report, f), kind_of(model, f->object));

		places[i] = hp_flame_child(tree, places[node->parent], name);
		if (node->self_ns > 0)
			tree->nodes[places[i]].self[0] += node->self_ns;
	}
	free(places);
	tree_end(flame, &graph, 1);
}

/* The node of a stack: those of its callers, then the functions at its own place. */
static uint32_t stack_put(struct hp_flame *flame, struct hp_flame_tree *tree,
			  struct hp_report *report, uint32_t parent, uint32_t stack)
{
	const struct hp_cpu *cpu = hp_report_cpu(report);
	const struct hp_cpu_place *place = &cpu->places[cpu->of_stack[stack]];
	enum hp_flame_kind kind = kind_of(&report->model, place->object);

	for (uint32_t i = place->count; i-- > 0;) {
		const struct hp_cpu_function *f =
			&cpu->functions[cpu->frames[place->first + i].function];

		parent = hp_flame_child(tree, parent,
					hp_flame_name(flame, hp_cpu_name(report, f), kind));
	}
	return parent;
}

static void cpu_add(struct hp_flame *flame, struct hp_report *report)
{
	static const struct hp_flame_graph graphs[] = {
		{ "cpu", "CPU", "ns",
		  "CPU time, by samples of call stacks. 4 samples or fewer mean little.", 0, 0,
		  NULL, 0 },
		{ "offcpu", "Off-CPU", "ns",
		  "Time in which threads waited, by call stack; the last box is the cause.", 0, 1,
		  NULL, 0 },
	};
	const struct hp_model_sampling *sampling = &report->model.sampling;
	struct hp_flame_tree *tree;
	uint32_t *places;

	if (!sampling->is_there || !sampling->stack_count)
		return;
	hp_report_cpu(report);
	tree = hp_flame_tree_begin(flame, "all threads", sampling->stack_count);
	places = hp_xcalloc(sampling->stack_count, sizeof(*places));
	for (uint32_t i = 0; i < sampling->stack_count; i++) {
		const struct hp_model_stack *stack = &sampling->stacks[i];

		if (i)
			places[i] = stack_put(flame, tree, report, places[stack->parent], i);
		tree->nodes[places[i]].self[0] += (double)stack->cpu_ns;
		if (stack->blocked_ns && !hp_offcpu_is_profiler(report, i)) {
			uint32_t on =
				hp_flame_name(flame, i ? hp_offcpu_cause(report, i) : HP_NO_STACK,
					      HP_FLAME_OTHER);

			on = hp_flame_child(tree, places[i], on);
			tree->nodes[on].self[1] += (double)stack->blocked_ns;
		}
	}
	free(places);
	tree_end(flame, graphs, 2);
}

static uint32_t step_put(struct hp_flame *flame, struct hp_flame_tree *tree,
			 struct hp_report *report, uint32_t parent,
			 const struct hp_alloc_step *step)
{
	const struct hp_frame_place *place;

	if (step->mark)
		return hp_flame_child(tree, parent,
				      hp_flame_name(flame, hp_alloc_mark_name(step->mark),
						    HP_FLAME_OTHER));
	place = hp_frames_lines(hp_alloc_frames(report), step->object, step->address);
	for (size_t i = place->count; i-- > 0;)
		parent = hp_flame_child(tree, parent,
					hp_flame_name(flame, place->frames[i].name,
						      kind_of(&report->model, step->object)));
	return parent;
}

static void bytes_add(struct hp_flame *flame, struct hp_report *report)
{
	static const struct hp_flame_graph graphs[] = {
		{ "bytes", "Bytes", "bytes", "Bytes allocated, by call path.", 0, 0, NULL, 0 },
		{ "blocks", "Blocks", "count", "Blocks allocated, by call path.", 0, 1, NULL, 0 },
		{ "peak", "Peak", "bytes", "Bytes held at the process's peak.", 0, 2, NULL, 0 },
		{ "left", "Left", "bytes", "Bytes never freed.", 0, 3, NULL, 0 },
	};
	const struct hp_alloc *alloc = hp_alloc_of(report);
	struct hp_flame_tree *tree;
	uint32_t *places;

	if (!alloc)
		return;
	tree = hp_flame_tree_begin(flame, "all threads", alloc->count);
	places = hp_xcalloc(alloc->count, sizeof(*places));
	for (uint32_t i = 0; i < alloc->count; i++) {
		const struct hp_alloc_step *step = &alloc->steps[i];
		const struct hp_alloc_sum *own = hp_alloc_own(alloc, i);
		double *self;

		if (i)
			places[i] = step_put(flame, tree, report, places[step->caller], step);
		self = tree->nodes[places[i]].self;
		self[0] += (double)own->bytes;
		self[1] += (double)own->count;
		self[2] += own->peak_bytes > 0 ? (double)own->peak_bytes : 0;
		self[3] += own->live_bytes > 0 ? (double)own->live_bytes : 0;
	}
	free(places);
	tree_end(flame, graphs, 4);
}

void hp_flame_init(struct hp_flame *flame, struct hp_report *report)
{
	memset(flame, 0, sizeof(*flame));
	time_add(flame, report);
	cpu_add(flame, report);
	bytes_add(flame, report);
}

void hp_flame_release(struct hp_flame *flame)
{
	for (size_t i = 0; i < flame->name_count; i++)
		free(flame->names[i]);
	for (size_t i = 0; i < flame->tree_count; i++) {
		free(flame->trees[i].nodes);
		hp_map_release(&flame->trees[i].children);
	}
	free(flame->names);
	free(flame->kinds);
	hp_map_release(&flame->by_name);
	hp_map_release(&flame->by_text);
}

/* --- JSON --- */

/* Without < and >, nothing in it closes the page element that contains it. */
static void text_write(const char *text, FILE *out)
{
	char *clean = hp_text_clean(text);

	putc('"', out);
	for (const unsigned char *c = (const unsigned char *)clean; *c; c++) {
		if (*c < ' ' || *c == '<' || *c == '>' || *c == '&') {
			fprintf(out, "\\u%04x", *c);
			continue;
		}
		if (*c == '"' || *c == '\\')
			putc('\\', out);
		putc(*c, out);
	}
	putc('"', out);
	free(clean);
}

/* The next of a list of numbers; printf would take half of the total time. */
static void number_write(uint64_t number, bool is_first, FILE *out)
{
	char text[24], *at = &text[sizeof(text)];

	do
		*--at = (char)('0' + number % 10);
	while (number /= 10);
	if (!is_first)
		*--at = ',';
	fwrite(at, 1, (size_t)(&text[sizeof(text)] - at), out);
}

static void tree_write(const struct hp_flame_tree *tree, FILE *out)
{
	fputs("{\"parent\":[-1", out);
	for (size_t i = 1; i < tree->count; i++)
		number_write(tree->nodes[i].parent, false, out);
	fputs("],\"name\":[", out);
	for (size_t i = 0; i < tree->count; i++)
		number_write(tree->nodes[i].name, i == 0, out);
	fputs("]}", out);
}

static void selves_write(const struct hp_flame_tree *tree, uint32_t measure, FILE *out)
{
	for (size_t i = 0; i < tree->count; i++)
		number_write(hp_whole(rint(tree->nodes[i].self[measure])), i == 0, out);
}

static void graph_write(const struct hp_flame *flame, const struct hp_flame_graph *graph, FILE *out)
{
	const struct hp_flame_tree *tree = &flame->trees[graph->tree];

	fprintf(out,
		"{\"key\":\"%s\",\"title\":\"%s\",\"unit\":\"%s\",\"about\":\"%s\",\"tree\":%u,"
		"\"self\":[",
		graph->key, graph->title, graph->unit, graph->about, graph->tree);
	selves_write(tree, graph->measure, out);
	if (graph->side) {
		fprintf(out, "],\"side\":\"%s\",\"other\":[", graph->side);
		selves_write(tree, graph->other, out);
	}
	fputs("]}", out);
}

void hp_flame_titled_write(const struct hp_flame *flame, const char *title, FILE *out)
{
	fputs("{\"title\":", out);
	text_write(title, out);
	fputs(",\"names\":[", out);
	for (size_t i = 0; i < flame->name_count; i++) {
		if (i)
			putc(',', out);
		text_write(flame->names[i], out);
	}
	fputs("],\"kinds\":[", out);
	for (size_t i = 0; i < flame->name_count; i++)
		number_write(flame->kinds[i], i == 0, out);
	fputs("],\"trees\":[", out);
	for (size_t i = 0; i < flame->tree_count; i++) {
		if (i)
			putc(',', out);
		tree_write(&flame->trees[i], out);
	}
	fputs("],\"graphs\":[", out);
	for (size_t i = 0; i < flame->graph_count; i++) {
		if (i)
			putc(',', out);
		graph_write(flame, &flame->graphs[i], out);
	}
	fputs("]}", out);
}

void hp_flame_write(const struct hp_flame *flame, const struct hp_report *report, FILE *out)
{
	const struct hp_model *model = &report->model;
	const char *command = model->root == HP_NONE ? NULL : model->processes[model->root].command;

	hp_flame_titled_write(flame, command ? command : report->caller, out);
}
