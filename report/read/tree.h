/* SPDX-License-Identifier: MIT */
/*
 * tree.h - one calling-context tree out of the rows of all blocks, and the
 * estimates for untimed calls.
 *
 * Rows are added once; at each refresh they are counted and the tree is
 * completed.
 */
#ifndef HP_REPORT_READ_TREE_H
#define HP_REPORT_READ_TREE_H

#include "report/base/map.h"
#include "report/read/model.h"

/* State of a node until its times are settled. */
struct hp_tree_sum {
	double self;	/* ticks: known or estimated */
	double outer;	/* the same for inclusive time, outermost calls only */
	double outer_measured;	/* timed part of it */
	double others;	/* untimed outermost calls */
	double variance;	/* of the latter; from sampling here, and passed up */
	double left_over;	/* variance of callees that adds to own time only */
	double tail_missing;	/* expected time of stalls that were not sampled, */
	double tail_variance;	/* and its variance */
	double doubt;	/* total uncertainty of the subtracted hook cost; calls here only */
	double slack_low;	/* uncertainty below and above: untimed slow calls (gap.c) */
	double slack_high;
	double late_self;	/* of open calls, after their process was killed, at most */
	double late_outer;
	double sampled;	/* sampled outermost calls */
	double slow;	/* of these, or timed along with them: far above the mean */
	float timed_share;	/* all of the calls were timed */
	uint32_t pending;	/* calls without any sample in their block */
	uint32_t pending_outer;
	bool is_apart;	/* slow calls are those that would be gap events */
};

/* A row of a block, and its node. */
struct hp_tree_row {
	uint64_t offset;
	uint32_t node;
	uint32_t record;	/* place in model->records */
	float others;	/* untimed calls, when they were last counted */
	float mean;	/* ticks of the sampled ones */
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
	double sampled;	/* over all sampled rows too */
	double doubt_counted;	/* ticks per untimed or sampled call, */
	double doubt_timed;	/* and per call that was timed while all were */
};

void hp_tree_init(struct hp_tree *tree, struct hp_model *model);
void hp_tree_release(struct hp_tree *tree);

/* Announces the number of rows of one block. */
void hp_tree_reserve(struct hp_tree *tree, size_t count);

/* Adds the row at `offset` after its parent and function. False = they are missing. */
bool hp_tree_row(struct hp_tree *tree, struct hp_model *model, uint64_t offset);

/*
 * Sums up the current counters of all rows and the calls open at `now`, in
 * ticks; the counters of functions must be zero before.
 */
void hp_tree_count(struct hp_tree *tree, struct hp_model *model, uint64_t now);

#endif
