/* SPDX-License-Identifier: MIT */
/*
 * tree.c - merges rows by path, estimates what was not timed, with an interval.
 *
 * Own time.  Of the calls of a row that were not all timed, N = calls - timed,
 * a random n were drawn.  Their mean stands for all N.  Its 95 % interval comes
 * from the variance of what was drawn, smaller as n nears N (finite population;
 * Cochran, Sampling Techniques, ch. 2).
 *
 * Stalls.  Drawn calls far above the running mean are kept apart (the "tail").
 * As long as there are few of them, each counts once: one seen stall must not
 * be multiplied by HP_DRAWN.  Then stalls that nobody drew are missing, so the upper
 * end of the interval goes up by what is to be expected of them: by those seen
 * in this row, or by those of all rows in proportion to own time, whichever is
 * more; but by no more than there is room for: a stall that was missed is part
 * of what the timed caller's own time seems to be.  When there are many they
 * are scaled like all others.
 *
 * Doubt.  The cost of the hooks that was subtracted is a constant, the true one
 * depends on how much of it the processor overlaps with the function.  That
 * error does not average out: it adds to both ends, for each call estimated.
 *
 * Sums.  A timed call says what all below it took together.  What the estimates
 * below add up to more, they are too long by (a drawn call is measured alone,
 * without the overlap with the code around it): so they are made to fit, from
 * the root down, the measured ones last; and by as much the interval grows.
 *
 * Inclusive time.  A timed call's is measured: right even if its callees are
 * estimates.  That of the others is own time plus what was charged for callees,
 * so the callees' uncertainty is passed up in proportion to such calls.  A
 * caller's own time is what its callees leave over: there it is passed up whole.
 */
#include "report/read/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"

#define FINE ((double)(1 << HP_FINE_BITS))
#define AHEAD 16 /* rows that are fetched while one is counted */
#define TAIL_FEW 16 /* from here on stalls are scaled */
#define TAIL_RARE 32 /* or if one in so many drawn calls is one */
#define SURE 2.1 /* standard deviations: 1.96 if they were known and not estimated too */
#define DOUBT 8 /* one part in so many of the hooks' cost may be wrong */

/* A row's numbers as claims that hold, whatever was read. */
struct facts {
	double calls;
	double timed;
	double others; /* calls that are neither timed nor nested */
	double drawn;
	double tail_count;
	double tail_ticks;
	double body_ticks;
	double body_squares;
	double self_ticks; /* of the timed */
	double outer_ticks; /* of the timed */
	double below_ticks; /* of the others */
};

static uint64_t least_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static struct facts facts_of(const struct hp_row *row)
{
	uint64_t timed = least_of(row->timed, row->calls);
	uint64_t others = row->calls - timed - least_of(row->nested, row->calls - timed);
	uint64_t drawn = least_of(row->sampled, others);
	/* More than 2^32 of them take hours. */
	uint64_t tail = least_of(row->tail_carry, UINT32_MAX) << 32 | row->tail_count;
	bool is_number = isfinite(row->square_sampled) && row->square_sampled >= 0;

	return (struct facts){
		.calls = (double)row->calls,
		.timed = (double)timed,
		.others = (double)others,
		.drawn = (double)drawn,
		.tail_count = (double)least_of(tail, drawn),
		.tail_ticks = (double)row->tail_ticks,
		.body_ticks = (double)row->self_sampled / FINE,
		.body_squares = is_number ? row->square_sampled : 0,
		.self_ticks = (double)row->self_timed / FINE,
		.outer_ticks = (double)row->outer_timed,
		.below_ticks = (double)row->below / FINE,
	};
}

/* Student's t for n - 1 degrees of freedom over the normal quantile, near enough. */
static double small_sample(double n)
{
	return n > 2 ? 1 + 1.3 / (n - 1.5) : 4;
}

/* Variance of the sum over `others` calls, estimated from the body of the drawn. */
static double body_variance(const struct facts *f)
{
	double n = f->drawn - f->tail_count;
	double mean = n > 0 ? f->body_ticks / n : 0;
	double spread;

	if (n < 2)
		return f->others * f->others * mean * mean;
	spread = (f->body_squares - n * mean * mean) / (n - 1);
	if (spread < 0 || f->others <= n)
		return 0;
	return f->others * f->others * spread / n * (1 - n / f->others) * small_sample(n) *
	       small_sample(n);
}

static void add_drawn(struct hp_tree *tree, struct hp_tree_sum *sum,
		      struct hp_model_function *function, const struct facts *f)
{
	double n = f->drawn - f->tail_count;
	double weight = f->others / f->drawn;
	bool is_rare = f->tail_count < TAIL_FEW && f->tail_count * TAIL_RARE < f->drawn;
	double self;

	if (is_rare)
		self = (n > 0 ? f->body_ticks / n * (f->others - f->tail_count) : 0) +
		       f->tail_ticks;
	else
		self = weight * (f->body_ticks + f->tail_ticks);
	sum->self += self;
	sum->outer += self;
	sum->variance += body_variance(f);
	sum->doubt += f->others * tree->doubt;
	if (f->tail_count > 0) {
		double mean = f->tail_ticks / f->tail_count;

		if (is_rare)
			sum->tail_missing += (weight - 1) * f->tail_ticks;
		sum->tail_variance += weight * (weight - 1) * f->tail_count * mean * mean;
	}
	function->body_ticks += f->body_ticks;
	function->body_squares += f->body_squares;
	function->body_count += n;
	tree->tail_count += f->tail_count;
	if (f->tail_ticks > 0 && f->tail_count > 0)
		tree->tail_logs += f->tail_count * log(f->tail_ticks / f->tail_count);
	tree->body_ticks += f->body_ticks;
	tree->drawn += f->drawn;
}

static void add_facts(struct hp_tree *tree, const struct hp_model *model, uint32_t place,
		      const struct facts *f)
{
	struct hp_model_node *node = &model->nodes[place];
	struct hp_model_function *function = &model->functions[node->function];
	struct hp_tree_sum *sum = &tree->sums[place];
	double before = (double)node->calls;

	sum->self += f->self_ticks;
	sum->outer += f->outer_ticks + f->below_ticks;
	sum->outer_measured += f->outer_ticks;
	sum->others += f->others;
	if (f->calls > 0)
		sum->timed_share =
			(float)((sum->timed_share * before + f->timed) / (before + f->calls));
	if (f->drawn > 0) {
		add_drawn(tree, sum, function, f);
	} else {
		sum->pending += (uint32_t)fmin(f->others, UINT32_MAX / 2);
		sum->pending_outer += (uint32_t)fmin(f->others, UINT32_MAX / 2);
	}
}

static uint32_t node_new(struct hp_tree *tree, struct hp_model *model, uint32_t parent,
			 uint32_t function)
{
	size_t place = model->node_count;

	model->nodes = hp_xgrow(model->nodes, place, &tree->room, sizeof(*model->nodes));
	tree->sums = hp_xgrow(tree->sums, place, &tree->sum_room, sizeof(*tree->sums));
	model->nodes[place] = (struct hp_model_node){ .parent = parent, .function = function };
	model->node_count++;
	return (uint32_t)place;
}

void hp_tree_init(struct hp_tree *tree, struct hp_model *model)
{
	memset(tree, 0, sizeof(*tree));
	node_new(tree, model, 0, HP_NONE);
}

void hp_tree_release(struct hp_tree *tree)
{
	hp_map_release(&tree->children);
	free(tree->sums);
	free(tree->rows);
}

void hp_tree_reserve(struct hp_tree *tree, size_t count)
{
	if (!tree->row_count)
		hp_map_reserve(&tree->children, count);
}

static uint32_t node_of(struct hp_tree *tree, struct hp_model *model, uint32_t parent,
			uint32_t function)
{
	bool is_new;
	uint32_t *place =
		hp_map_at(&tree->children, ((uint64_t)parent << 32) | (function + 1), &is_new);

	if (is_new)
		*place = node_new(tree, model, parent, function);
	return *place;
}

/* The node of the row at `offset`; the root for rows that are not known. */
static uint32_t node_at(const struct hp_model *model, uint64_t offset)
{
	uint32_t place =
		offset / HP_LINE < model->place_count ? model->places[offset / HP_LINE] : 0;

	return place & HP_PLACE_ROW ? place & ~HP_PLACE_ROW : 0;
}

bool hp_tree_row(struct hp_tree *tree, struct hp_model *model, uint64_t offset)
{
	struct hp_row row;
	uint32_t record, node;

	if (!hp_reader_copy(&model->reader, offset, &row, sizeof(row)))
		return false;
	if (!row.function)
		return true;
	record = hp_model_record_at(model, (uint64_t)row.function * HP_LINE);
	if (record == HP_NONE || offset / HP_LINE >= model->place_count)
		return false;
	node = node_of(tree, model, node_at(model, (uint64_t)row.parent * HP_LINE),
		       model->records[record].function);
	model->places[offset / HP_LINE] = HP_PLACE_ROW | node;
	tree->rows = hp_xgrow(tree->rows, tree->row_count, &tree->row_room, sizeof(*tree->rows));
	tree->rows[tree->row_count++] = (struct hp_tree_row){ offset, node, record };
	return true;
}

static void add_row(struct hp_tree *tree, struct hp_model *model, const struct hp_tree_row *place)
{
	struct hp_model_record *record = &model->records[place->record];
	struct hp_model_function *function = &model->functions[record->function];
	const struct hp_row *there = hp_reader_see(&model->reader, place->offset, sizeof(*there));
	struct hp_row row;
	struct facts facts;
	uint64_t stamp;

	if (!there)
		return;
	memcpy(&row, there, sizeof(row));
	facts = facts_of(&row);
	add_facts(tree, model, place->node, &facts);
	model->nodes[place->node].calls += row.calls;
	function->calls += row.calls;
	function->drawn += (uint64_t)facts.drawn;
	function->measured += (uint64_t)(facts.timed + facts.drawn);
	stamp = row.calls + row.timed + row.nested + row.sampled + row.tail_count;
	record->stamp += stamp;
	model->blocks[record->block].stamp += stamp;
	model->blocks[record->block].calls += row.calls;
}

void hp_tree_count(struct hp_tree *tree, struct hp_model *model)
{
	tree->tail_count = tree->tail_logs = tree->body_ticks = tree->drawn = 0;
	tree->doubt = model->reader.header.cost_inside / FINE / DOUBT;
	memset(tree->sums, 0, model->node_count * sizeof(*tree->sums));
	for (size_t i = 0; i < model->node_count; i++) {
		struct hp_model_node *node = &model->nodes[i];

		node->calls = 0;
		node->self_ns = node->inclusive_ns = 0;
	}
	for (size_t i = 0; i < tree->row_count; i++) {
		if (i + AHEAD < tree->row_count)
			hp_reader_soon(&model->reader, tree->rows[i + AHEAD].offset,
				       sizeof(struct hp_row));
		add_row(tree, model, &tree->rows[i]);
	}
}

/*
 * Calls of a row in whose block no call of that row was drawn: the function's
 * mean stands for them, with as large an error.  Without any sample of the
 * function they are calls that had not ended.
 */
static void settle_pending(const struct hp_tree *tree, const struct hp_model *model, size_t place)
{
	const struct hp_model_node *node = &model->nodes[place];
	const struct hp_model_function *f = &model->functions[node->function];
	struct hp_tree_sum *sum = &tree->sums[place];
	double mean = f->body_count > 0 ? f->body_ticks / f->body_count : 0;

	sum->self += sum->pending * mean;
	sum->outer += sum->pending_outer * mean;
	sum->variance += (double)sum->pending * sum->pending * mean * mean;
}

/*
 * Stalls happen per time or per call, whichever is more; a row without any may
 * have had some that were not drawn.  The usual stall (geometric mean) is what the machine does to any row;
 * a function's own rare slow path is no news about the others.
 */
static void settle_tail(const struct hp_tree *tree, const struct hp_model *model, size_t place,
			double room)
{
	const struct hp_model_node *node = &model->nodes[place];
	const struct hp_model_function *f = &model->functions[node->function];
	struct hp_tree_sum *sum = &tree->sums[place];
	double mean, expected;

	if (tree->tail_count <= 0 || tree->body_ticks <= 0 || f->drawn == 0 || sum->self <= 0)
		return;
	mean = exp(tree->tail_logs / tree->tail_count);
	expected = sum->self * (1 - sum->timed_share) * tree->tail_count / tree->body_ticks;
	expected = fmax(expected, (double)node->calls * (1 - sum->timed_share) * tree->tail_count /
					  tree->drawn);
	if (expected * mean > sum->tail_missing) {
		sum->tail_missing = expected * mean;
		sum->tail_variance = fmax(sum->tail_variance, expected * mean * mean);
	}
	if (sum->tail_missing + SURE * sqrt(sum->tail_variance) > room) {
		sum->tail_missing = fmax(room, 0);
		sum->tail_variance = 0;
	}
}

/* From the root down: how much more a node can have taken than it is said to. */
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

/* What a node and those below it may have, and what they say: in ticks. */
struct share {
	double said; /* the sum of own times from here down, but no more than was measured */
	double measured; /* of that, children that were measured */
	double estimated; /* own time and the other children */
	double given; /* the part of `said` that fits into what is above */
};

/* All of its outermost calls were timed. */
static bool is_measured(const struct hp_tree *tree, size_t place)
{
	return tree->sums[place].others == 0 && tree->sums[place].outer_measured > 0;
}

static void share_sum(const struct hp_tree *tree, const struct hp_model *model,
		      struct share *shares)
{
	for (size_t i = model->node_count; i-- > 0;) {
		struct share *here = &shares[i], *caller;

		here->estimated += fmax(tree->sums[i].self, 0);
		here->said = here->measured + here->estimated;
		if (i == 0)
			break;
		caller = &shares[model->nodes[i].parent];
		if (is_measured(tree, i)) {
			here->said = fmin(here->said, tree->sums[i].outer_measured);
			caller->measured += here->said;
		} else {
			caller->estimated += here->said;
		}
	}
	shares[0].given = shares[0].measured + shares[0].estimated;
}

/* The parts of what `share` consists of that fit into it. */
static double part_measured(const struct share *share)
{
	return share->measured > share->given ? share->given / share->measured : 1;
}

static double part_estimated(const struct share *share)
{
	double left = fmax(share->given - share->measured, 0);

	return share->estimated > left ? left / share->estimated : 1;
}

/* Estimates that add up to more than what was measured above them are made to fit. */
static void settle_shares(const struct hp_tree *tree, const struct hp_model *model)
{
	struct share *shares = hp_xcalloc(model->node_count, sizeof(*shares));

	share_sum(tree, model, shares);
	for (size_t i = 1; i < model->node_count; i++) {
		const struct share *caller = &shares[model->nodes[i].parent];
		struct hp_tree_sum *sum = &tree->sums[i];
		double part = is_measured(tree, i) ? part_measured(caller) : part_estimated(caller);
		double over = fmax(sum->outer - sum->outer_measured, 0) * (1 - part);

		shares[i].given = shares[i].said * part;
		sum->outer -= over;
		/* Of the function alone: `over` holds that of those below already. */
		if (model->nodes[i].function != HP_NONE)
			model->functions[model->nodes[i].function].doubt += over;
		/* Below 0 is chance, or one of many nodes of a function: let it add up. */
		if (sum->self > 0)
			sum->self *= part_estimated(&shares[i]);
	}
	free(shares);
}

static void settle_function(const struct hp_model *model, const struct hp_model_node *node,
			    const struct hp_tree_sum *sum)
{
	struct hp_model_function *f = &model->functions[node->function];

	f->self_ns += sum->self;
	f->total_ns += sum->outer;
	f->self_error_ns +=
		sum->variance + sum->left_over; /* a variance in ticks until hp_tree_finish */
	f->total_low_ns += sum->variance;
	f->total_high_ns += sum->tail_missing;
	f->tail_variance += sum->tail_variance;
	f->doubt += sum->doubt;
}

/* From the leaves up: what is uncertain below is uncertain here. */
static void settle_nodes(const struct hp_tree *tree, const struct hp_model *model)
{
	struct hp_model_node *nodes = model->nodes;
	struct hp_tree_sum *sums = tree->sums;

	for (size_t i = model->node_count; i-- > 1;) {
		struct hp_tree_sum *parent = &sums[nodes[i].parent];
		double passed = 1 - parent->timed_share;

		settle_function(model, &nodes[i], &sums[i]);
		nodes[i].self_ns = fmax(0, sums[i].self * model->ns_per_tick);
		nodes[i].inclusive_ns += nodes[i].self_ns;
		nodes[nodes[i].parent].inclusive_ns += nodes[i].inclusive_ns;
		parent->variance += sums[i].variance * passed;
		parent->doubt += sums[i].doubt * passed;
		parent->left_over += sums[i].variance * parent->timed_share;
		parent->tail_missing += sums[i].tail_missing * passed;
		parent->tail_variance += sums[i].tail_variance * passed;
	}
}

/* Sums in ticks become times in ns, variances become ends of the interval. */
static void settle_times(struct hp_model_function *f, double scale)
{
	double low = SURE * sqrt(f->total_low_ns) + f->doubt;
	double high = SURE * sqrt(f->total_low_ns + f->tail_variance) + f->total_high_ns + f->doubt;
	double total = fmax(0, f->total_ns);

	f->is_sampled = f->drawn > 0;
	f->total_low_ns = fmax(0, total - low) * scale;
	f->total_high_ns = (total + high) * scale;
	f->total_ns = total * scale;
	f->self_error_ns = (SURE * sqrt(f->self_error_ns + f->tail_variance) + f->doubt) * scale;
	f->self_ns = fmax(0, f->self_ns) * scale;
}

/*
 * Calls that had not ended are counted but have no time of their own yet; at
 * least what was recorded below them belongs to them.
 */
static void settle_running(struct hp_model *model)
{
	double *below = hp_xcalloc(model->function_count, sizeof(*below));

	for (size_t i = 1; i < model->node_count; i++)
		below[model->nodes[i].function] += model->nodes[i].inclusive_ns;
	for (size_t i = 0; i < model->function_count; i++) {
		struct hp_model_function *f = &model->functions[i];

		if (!f->running || f->total_ns >= below[i])
			continue;
		f->total_ns = f->total_low_ns = f->total_high_ns = below[i];
	}
	free(below);
}

void hp_tree_finish(const struct hp_tree *tree, struct hp_model *model)
{
	for (size_t i = 1; i < model->node_count; i++)
		settle_pending(tree, model, i);
	settle_tails(tree, model);
	settle_shares(tree, model);
	settle_nodes(tree, model);
	for (size_t i = 0; i < model->function_count; i++)
		settle_times(&model->functions[i], model->ns_per_tick);
	settle_running(model);
}
