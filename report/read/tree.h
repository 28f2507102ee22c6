/* SPDX-License-Identifier: MIT */
/*
 * tree.h - one calling-context tree out of the rows of all blocks, and the
 * estimates of what was not timed.
 *
 * Rows are taken in once; at each look they are counted, and the tree is finished.
 */
#ifndef HP_REPORT_READ_TREE_H
#define HP_REPORT_READ_TREE_H

#include "report/base/map.h"
#include "report/read/model.h"

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
	double doubt;	/* what the subtracted cost of our hooks may be wrong by, in sum; calls here only */
	double slack_low;	/* by how much less, or more, it may be: slow calls without a clock (gap.c) */
	double slack_high;
	double drawn;	/* outermost calls that were drawn */
	double slow;	/* of these, or timed beside them: far above the mean */
	float timed_share;	/* of the calls: all of them were timed */
	uint32_t pending;	/* calls without any sample in their block */
	uint32_t pending_outer;
	bool is_apart;	/* slow calls are those that would be events in gaps */
};

/* A row of a block, and where it belongs. */
struct hp_tree_row {
	uint64_t offset;
	uint32_t node;
	uint32_t record;	/* place in model->records */
};

struct hp_tree {
	struct hp_map children;	/* (parent node, function) -> node */
	struct hp_tree_row *rows;	/* of all blocks */
	size_t row_count;
	size_t row_room;
	struct hp_tree_sum *sums;	/* beside model->nodes */
	size_t room;
	size_t sum_room;
	double tail_count;	/* over all sampled rows */
	double tail_logs;	/* of it: sum of the logarithms of each row's mean tail */
	double body_ticks;
	double drawn;	/* over all sampled rows too */
	double doubt_counted;	/* ticks a call that has no clock, or was drawn, */
	double doubt_timed;	/* and one that was timed while all were */
};

void hp_tree_init(struct hp_tree *tree, struct hp_model *model);
void hp_tree_release(struct hp_tree *tree);

/* So many rows of one block will come. */
void hp_tree_reserve(struct hp_tree *tree, size_t count);

/* Takes in the row at `offset`; its parent and its function came before.  False = they did not. */
bool hp_tree_row(struct hp_tree *tree, struct hp_model *model, uint64_t offset);

/*
 * Adds up the counters of all rows as they are now, and calls that had not ended by the moment
 * `now`, in ticks; the counters of functions are zero before.
 */
void hp_tree_count(struct hp_tree *tree, struct hp_model *model, uint64_t now);

#endif
