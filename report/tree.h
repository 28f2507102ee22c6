/* SPDX-License-Identifier: MIT */
/*
 * tree.h - one calling-context tree out of the rows of all blocks, and the
 * estimates of what was not timed.
 *
 * First every block's rows are added, then the tree is finished once.
 */
#ifndef HP_REPORT_TREE_H
#define HP_REPORT_TREE_H

#include "report/map.h"
#include "report/model.h"

/* What a node needs until its times are settled. */
struct hp_tree_sum {
	double self;	/* ticks: what is known or estimated by now */
	double outer;	/* the same of inclusive time, outermost calls only */
	double outer_measured;	/* the part of it that was timed */
	double others;	/* outermost calls that were not */
	double variance;	/* of the latter; from sampling here, and passed up */
	double left_over;	/* variance of callees that adds to own time only */
	double tail_missing;	/* expected time of stalls that were not drawn, */
	double tail_variance;	/* and its variance */
	double doubt;	/* what the subtracted cost of our hooks may be wrong by, in sum */
	float timed_share;	/* of the calls: all of them were timed */
	uint32_t pending;	/* calls without any sample in their block */
	uint32_t pending_outer;
};

struct hp_tree {
	struct hp_model *model;
	struct hp_map children;	/* (parent node, function) -> node */
	uint32_t *places;	/* of rows: offset / HP_LINE -> node; 0 = the root, or not seen */
	size_t place_count;
	struct hp_tree_sum *sums;	/* beside model->nodes */
	size_t room;
	size_t sum_room;
	uint64_t *offsets;	/* of one block's rows */
	size_t offset_room;
	double tail_count;	/* over all sampled rows */
	double tail_logs;	/* of it: sum of the logarithms of each row's mean tail */
	double body_ticks;
	double drawn;	/* over all sampled rows too */
	double doubt;	/* ticks a call */
};

void hp_tree_init(struct hp_tree *tree, struct hp_model *model);

/*
 * Adds the rows that start at offset `first`.  `functions` leads from offset /
 * HP_LINE of a function to its place in model->functions, plus 1; it has
 * tree->place_count elements.  Returns the calls.
 */
uint64_t hp_tree_add(struct hp_tree *tree, uint64_t first, const uint32_t *functions);

/* Times of nodes and functions; frees what `tree` holds. */
void hp_tree_finish(struct hp_tree *tree);

#endif
