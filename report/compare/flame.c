/* SPDX-License-Identifier: MIT */
/*
 * flame.c - see flame.h.
 */
#include "report/compare/flame.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"

#define NODES_EXPECTED 1000
#define ABOUT \
	"The mean of each side's runs. Colours show the difference, even if it may be due to " \
	"chance: see the tables above."

/* A tree for each; the entries of one run for it have the same key. */
static const struct kind {
	const char *key;
	const char *titles[2];	/* as wide as A, as wide as B */
	const char *unit;
} kinds[] = {
	{ "cpu", { "CPU, widths of A", "CPU, widths of B" }, "ns" },
	{ "time", { "Time, widths of A", "Time, widths of B" }, "ns" },
	{ "blocks", { "Blocks, widths of A", "Blocks, widths of B" }, "count" },
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

void hp_compare_flame_init(struct hp_compare_flame *flame)
{
	memset(flame, 0, sizeof(*flame));
	for (size_t i = 0; i < 2; i++)
		flame->sides[i].flame = flame;
	for (size_t i = 0; i < KINDS; i++) {
		hp_flame_tree_begin(&flame->both, "all threads", NODES_EXPECTED);
		flame->both.tree_count++;
	}
}

void hp_compare_flame_release(struct hp_compare_flame *flame)
{
	hp_flame_release(&flame->both);
}

static void graph_add(struct hp_flame *both, struct hp_flame_tree *to, size_t measure,
		      const struct hp_flame *flame, const struct hp_flame_graph *graph)
{
	const struct hp_flame_tree *from = &flame->trees[graph->tree];
	uint32_t *places = hp_xcalloc(from->count + 1, sizeof(*places));

	for (size_t i = 0; i < from->count; i++) {
		const struct hp_flame_node *node = &from->nodes[i];

		if (i)
			places[i] = hp_flame_child(
				to, places[node->parent],
				hp_flame_name(both, flame->names[node->name],
					      (enum hp_flame_kind)flame->kinds[node->name]));
		to->nodes[places[i]].self[measure] += node->self[graph->measure];
	}
	free(places);
}

void hp_compare_flame_add(void *context, struct hp_report *report)
{
	struct hp_compare_flame_side *side = context;
	struct hp_compare_flame *flame = side->flame;
	struct hp_flame one;

	hp_flame_init(&one, report);
	for (size_t i = 0; i < one.graph_count; i++)
		for (size_t k = 0; k < KINDS; k++)
			if (strcmp(one.graphs[i].key, kinds[k].key) == 0)
				graph_add(&flame->both, &flame->both.trees[k],
					  (size_t)(side - flame->sides), &one, &one.graphs[i]);
	hp_flame_release(&one);
	side->runs++;
}

static bool has_values(const struct hp_flame_tree *tree, size_t measure)
{
	double sum = 0;

	for (size_t i = 0; i < tree->count; i++)
		sum += tree->nodes[i].self[measure];
	return sum >= 1;
}

bool hp_compare_flame_settle(struct hp_compare_flame *flame)
{
	struct hp_flame *both = &flame->both;

	if (!flame->sides[0].runs || !flame->sides[1].runs)
		return false;
	for (size_t k = 0; k < KINDS; k++) {
		for (size_t i = 0; i < both->trees[k].count; i++)
			for (size_t side = 0; side < 2; side++)
				both->trees[k].nodes[i].self[side] /=
					(double)flame->sides[side].runs;
		hp_flame_prune(both, &both->trees[k], HP_FLAME_NODES);
		for (size_t side = 2; side-- > 0;)
			if (has_values(&both->trees[k], side))
				both->graphs[both->graph_count++] = (struct hp_flame_graph){
					.key = kinds[k].key,
					.title = kinds[k].titles[side],
					.unit = kinds[k].unit,
					.about = ABOUT,
					.tree = (uint32_t)k,
					.measure = (uint32_t)side,
					.side = side ? "B" : "A",
					.other = (uint32_t)!side,
				};
	}
	return both->graph_count > 0;
}
