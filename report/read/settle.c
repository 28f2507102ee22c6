/* SPDX-License-Identifier: MIT */
/*
 * settle.c - reconciles the measured and estimated times of rows.
 *
 * A row's figures are measured or estimated, each with its own error, so a callee may come out
 * longer than its caller.  Printed times must be consistent: a node's time is its own time plus
 * that of its callees, none is negative, and their total fits into the lifetimes of the threads.
 *
 * Upward pass. From the leaves up, each node gets a time. If all outermost
 * calls were timed, it is the measured time, and its own time is that minus its
 * callees: so a caller's own time has the errors of its callees' times, with
 * opposite sign. The time of any other node is its own sum and its callees'
 * times. If callees exceed the measured time, both sides are wrong, and both
 * are corrected in proportion to their errors.
 *
 * Downward pass. From the root down, callees are reduced by the excess over
 * their callers, in proportion to their errors. If the errors do not explain
 * it, the rest is cut in proportion to the times, and the intervals grow by it.
 *
 * Recursion.  Calls of a function that is on the path already are in that node (segment/FORMAT.md).
 * So below a recursive function a measured time may hold calls that stand further up in the tree;
 * there a node's time is the sum of own times, and only outermost calls count for a function's
 * total. A function takes at least its own time, and no more than the program.
 *
 * Inclusive errors.  Uncertainty of the hooks' cost adds up linearly over all
 * calls at a node and below.  Sampling variances are passed up in proportion to
 * untimed calls.
 */
#include "report/read/settle.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/memory.h"
#include "report/read/gap.h"

#define SURE 2.1	/* standard deviations; 1.96 would require exact variances */

/* A node's part in the whole, in ticks. */
struct part {
	double own;
	double whole;	/* own plus callees */
	double below;	/* callees */
	double risen;	/* excess of `whole` over the measured time, here and below */
	double lack;	/* amount to cut from `own` and `below` */
	double excess;	/* cut beyond the error */
	double own_give;	/* error available for cutting `own` */
	double give;	/* the same for `whole` */
	double below_give;	/* the same for all callees together */
	double below_doubt;	/* linear errors of all calls below, */
	double direct_doubt;	/* and of callees' own calls */
	double own_less;	/* uncertainty of `own` below and above: untimed slow calls */
	double own_more;
	double total;	/* of its function: outermost calls only, callees included */
	bool is_folded;	/* a function further up is recursive */
};

/*
 * Rows without a sampled call in their block use the function's mean, or that of its
 * first calls, with an error as large.
 */
static void settle_pending(const struct hp_tree *tree, const struct hp_model *model, size_t place)
{
	const struct hp_model_node *node = &model->nodes[place];
	const struct hp_model_function *f = &model->functions[node->function];
	struct hp_tree_sum *sum = &tree->sums[place];
	double mean = 0;

	if (f->body_count > 0)
		mean = fmax(f->body_ticks / f->body_count, 0);
	else if (f->timed_count > 0)
		mean = fmax(f->timed_ticks / f->timed_count, 0);
	sum->self += sum->pending * mean;
	sum->outer += sum->pending_outer * mean;
	sum->variance += (double)sum->pending * sum->pending * mean * mean;
}

/*
 * Stalls happen per time or per call, whichever gives more; a row without any
 * may have had some that were not sampled. The usual stall (geometric mean) is
 * caused by the machine and hits any row; one function's rare slow path does
 * not predict others'.
 */
static void settle_tail(const struct hp_tree *tree, const struct hp_model *model, size_t place,
			double room)
{
	const struct hp_model_node *node = &model->nodes[place];
	const struct hp_model_function *f = &model->functions[node->function];
	struct hp_tree_sum *sum = &tree->sums[place];
	double mean, expected;

	if (sum->is_apart || tree->tail_count <= 0 || tree->body_ticks <= 0 || f->sampled == 0 ||
	    sum->self <= 0)
		return;
	mean = exp(tree->tail_logs / tree->tail_count);
	expected = sum->self * (1 - sum->timed_share) * tree->tail_count / tree->body_ticks;
	expected = fmax(expected, (double)node->calls * (1 - sum->timed_share) * tree->tail_count /
					  tree->sampled);
	if (expected * mean > sum->tail_missing) {
		sum->tail_missing = expected * mean;
		sum->tail_variance = fmax(sum->tail_variance, expected * mean * mean);
	}
	if (sum->tail_missing + SURE * sqrt(sum->tail_variance) > room) {
		sum->tail_missing = fmax(room, 0);
		sum->tail_variance = 0;
	}
}

/* From the root down: the most that a node's time may exceed its estimate. */
static void settle_tails(const struct hp_tree *tree, const struct hp_model *model)
{
	double *room = hp_xmalloc(model->node_count * sizeof(*room));

	room[0] = INFINITY;
	for (size_t i = 1; i < model->node_count; i++) {
		uint32_t caller = model->nodes[i].parent;
		double own = fmax(tree->sums[caller].self, 0);
		bool is_measured = caller && tree->sums[caller].timed_share >= 1;

		room[i] = is_measured ? own : room[caller] + own;
		settle_tail(tree, model, i, room[i]);
	}
	free(room);
}

/* --- consistent times --- */

/* All of its outermost calls were timed. */
static bool is_measured(const struct hp_tree_sum *sum, const struct part *part)
{
	return sum->others == 0 && sum->timed_share > 0 && !part->is_folded;
}

static void folded_find(const struct hp_model *model, struct part *parts)
{
	for (size_t i = 1; i < model->node_count; i++) {
		uint32_t caller = model->nodes[i].parent;

		parts[i].is_folded =
			caller && (parts[caller].is_folded ||
				   model->functions[model->nodes[caller].function].is_recursive);
	}
}

/*
 * Callees took longer than their caller's measured time: both sides are wrong.
 * The excess subtraction from the caller also affected all nodes above it, so
 * their own times stay.
 */
static void rise_measured(const struct hp_tree_sum *sum, struct part *part)
{
	double doubt = sum->doubt + part->below_doubt;
	double remaining = sum->outer_measured + part->risen, measured = fmax(remaining, 0);
	double lack = part->below - measured, give = doubt + part->below_give;

	part->own = fmax(-lack, 0);
	part->own_give = 0;
	part->whole = measured;
	if (lack > 0 && give > 0)
		part->whole = measured + fmin(lack * doubt / give, doubt);
	/* More than all errors explain: the hooks' cost was overestimated here, not there. */
	if (lack > give && doubt > 0)
		part->whole = fmax(part->whole, part->below - part->below_give);
	/* Also if more was subtracted than was measured. */
	part->risen += part->whole - remaining;
	part->give = fmin(doubt, part->whole);
}

static void rise_summed(const struct hp_tree_sum *sum, struct part *part)
{
	double error = SURE * sqrt(sum->variance) + sum->doubt + sum->slack_low;

	part->own = fmax(sum->self, 0);
	part->whole = part->own + part->below;
	part->own_give = fmin(error, part->own);
	part->give = part->own_give + part->below_give;
}

/* From the leaves up; then `sums` hold the errors of inclusive times. */
static void rise(const struct hp_tree *tree, const struct hp_model *model, struct part *parts)
{
	for (size_t i = model->node_count; i-- > 1;) {
		const struct hp_tree_sum *sum = &tree->sums[i];
		struct part *part = &parts[i], *caller = &parts[model->nodes[i].parent];

		if (is_measured(sum, part))
			rise_measured(sum, part);
		else
			rise_summed(sum, part);
		caller->below += part->whole;
		caller->risen += part->risen;
		caller->below_give += part->give;
		caller->below_doubt += sum->doubt + part->below_doubt;
		caller->direct_doubt += sum->doubt;
	}
}

/* The cut of this part if `lack` must be cut from all parts together. */
static double cut(double lack, double value, double give, double all, double all_give)
{
	if (lack <= 0 || all <= 0)
		return 0;
	if (lack <= all_give)
		return lack * give / all_give;
	if (all - all_give <= 0)
		return value;
	return give + (lack - all_give) * (value - give) / (all - all_give);
}

/* `part` has its final time: cuts the excess from its own time, and the rest from its callees. */
static void fit_own(struct part *part)
{
	double all = part->own + part->below, all_give = part->own_give + part->below_give;
	double lack = fmin(fmax(all - part->whole, 0), all);
	double less = cut(lack, part->own, part->own_give, all, all_give);

	part->own -= less;
	part->lack = lack - less;
	part->excess += fmax(less - part->own_give, 0);
}

static void fit_below(const struct part *caller, struct part *part)
{
	double less = cut(caller->lack, part->whole, part->give, caller->below, caller->below_give);

	part->excess = fmax(less - part->give, 0);
	part->whole = fmax(part->whole - less, 0);
}

/* The total cannot exceed the lifetimes of the program's threads. */
static double life_of(const struct hp_model *model)
{
	return (double)model->elapsed_ns / model->ns_per_tick *
	       (model->block_count ? (double)model->block_count : 1);
}

/* From the root down. */
static void fit(const struct hp_tree *tree, const struct hp_model *model, struct part *parts)
{
	parts[0].whole = fmin(parts[0].below, life_of(model));
	fit_own(&parts[0]);
	for (size_t i = 1; i < model->node_count; i++) {
		struct part *part = &parts[i];

		fit_below(&parts[model->nodes[i].parent], part);
		fit_own(part);
		/* Its calls may all be below another node of the same function, and count there. */
		part->total = part->is_folded ? fmax(tree->sums[i].outer, 0) : part->whole;
	}
}

/* --- functions --- */

static void settle_function(const struct hp_model *model, const struct hp_model_node *node,
			    const struct hp_tree_sum *sum, const struct part *part)
{
	struct hp_model_function *f = &model->functions[node->function];

	f->self_ns += part->own;
	f->total_ns += part->total;
	f->self_error_ns +=
		sum->variance + sum->left_over;	/* a variance in ticks until settle_times */
	f->total_low_ns += sum->variance;
	f->total_high_ns += sum->tail_missing;
	f->tail_variance += sum->tail_variance;
	f->total_doubt += sum->doubt + part->below_doubt + part->excess;
	f->self_doubt += sum->doubt + part->direct_doubt + part->excess;
	f->total_less += sum->slack_low + sum->late_outer;
	f->total_more += sum->slack_high;
	f->self_less += part->own_less + sum->late_self;
	f->self_more += part->own_more;
}

static void settle_node(const struct hp_model *model, struct hp_model_node *node,
			const struct hp_tree_sum *sum, const struct part *part)
{
	double whole = SURE * sqrt(sum->variance + sum->tail_variance) + sum->doubt +
		       part->below_doubt + part->excess;
	double own = SURE * sqrt(sum->variance + sum->left_over + sum->tail_variance) + sum->doubt +
		     part->direct_doubt + part->excess;

	node->self_ns = part->own * model->ns_per_tick;
	node->inclusive_ns = part->whole * model->ns_per_tick;
	own += fmax(part->own_less + sum->late_self, sum->tail_missing + part->own_more);
	whole += fmax(sum->slack_low + sum->late_outer, sum->tail_missing + sum->slack_high);
	node->self_error_ns = own * model->ns_per_tick;
	node->inclusive_error_ns = whole * model->ns_per_tick;
}

/*
 * Time that untimed slow calls may have taken less is time that their caller
 * has more: own time for a timed caller, inclusive time for others.
 */
static void pass_slack(const struct hp_tree_sum *sum, struct hp_tree_sum *caller, struct part *part,
		       bool is_whole)
{
	if (is_whole) {
		part->own_less += sum->slack_high;
		part->own_more += sum->slack_low;
	} else {
		caller->slack_low += sum->slack_low;
		caller->slack_high += sum->slack_high;
	}
}

/* From the leaves up: uncertainty below is uncertainty here. */
static void settle_nodes(const struct hp_tree *tree, const struct hp_model *model,
			 struct part *parts)
{
	struct hp_model_node *nodes = model->nodes;
	struct hp_tree_sum *sums = tree->sums;

	for (size_t i = 1; i < model->node_count; i++) {
		parts[i].own_less = sums[i].slack_low;
		parts[i].own_more = sums[i].slack_high;
	}
	for (size_t i = model->node_count; i-- > 1;) {
		struct hp_tree_sum *caller = &sums[nodes[i].parent];
		bool is_whole = is_measured(caller, &parts[nodes[i].parent]);
		double passed = is_whole ? 0 : 1 - caller->timed_share;

		pass_slack(&sums[i], caller, &parts[nodes[i].parent], is_whole);
		settle_function(model, &nodes[i], &sums[i], &parts[i]);
		settle_node(model, &nodes[i], &sums[i], &parts[i]);
		caller->variance += sums[i].variance * passed;
		caller->left_over += sums[i].variance * (1 - passed);
		caller->tail_missing += sums[i].tail_missing * passed;
		caller->tail_variance += sums[i].tail_variance * passed;
	}
	nodes[0].inclusive_ns = parts[0].whole * model->ns_per_tick;
}

/* Sums in ticks become times in ns, variances become ends of the interval. */
static void settle_times(const struct hp_model *model, struct hp_model_function *f, double whole)
{
	double scale = model->ns_per_tick;
	/* Each end of an interval is a reading of the clock. */
	double grain = f->measured ? model->grain_ns / scale : 0;
	double low = SURE * sqrt(f->total_low_ns) + f->total_doubt + f->total_less + grain;
	double high = SURE * sqrt(f->total_low_ns + f->tail_variance) + f->total_high_ns +
		      f->total_doubt + f->total_more + grain;
	double own = fmax(0, f->self_ns);
	double total = fmax(own, fmin(f->total_ns, whole)), half;

	f->is_sampled = f->sampled > 0 || f->pending_count > 0;
	f->total_low_ns = fmax(0, total - low) * scale;
	f->total_high_ns = (total + high) * scale;
	f->total_ns = total * scale;
	half = SURE * sqrt(f->self_error_ns + f->tail_variance) + f->self_doubt + grain;
	f->self_low_ns = fmax(0, own - half - f->self_less) * scale;
	f->self_high_ns = (own + half + f->self_more) * scale;
	f->self_error_ns = (half + fmax(f->self_less, f->self_more)) * scale;
	f->self_ns = own * scale;
}

void hp_settle(const struct hp_tree *tree, struct hp_model *model)
{
	struct part *parts = hp_xcalloc(model->node_count, sizeof(*parts));

	for (size_t i = 1; i < model->node_count; i++)
		settle_pending(tree, model, i);
	settle_tails(tree, model);
	hp_gaps_settle(tree, model);
	folded_find(model, parts);
	rise(tree, model, parts);
	fit(tree, model, parts);
	settle_nodes(tree, model, parts);
	for (size_t i = 0; i < model->function_count; i++)
		settle_times(model, &model->functions[i], parts[0].whole);
	free(parts);
}
