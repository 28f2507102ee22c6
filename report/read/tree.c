/* SPDX-License-Identifier: MIT */
/*
 * tree.c - merges rows by path and estimates untimed calls, with an interval.
 *
 * Own time. Of the N = calls - timed untimed calls of a row, n were sampled at
 * random. Their mean stands for all N. Its 95 % interval comes from the sample
 * variance, smaller as n nears N (finite population; Cochran, Sampling
 * Techniques, ch. 2).
 *
 * Stalls. Sampled calls far above the running mean are kept separately (the
 * "tail"). While there are few, each counts once: one observed stall must not
 * be multiplied by HP_SAMPLED. Stalls that were not sampled are then missing, so
 * the upper end of the interval is raised by their expected time: from those
 * seen in this row, or from those of all rows in proportion to own time,
 * whichever is more. The limit is the timed caller's apparent own time, which
 * contains any missed stall. When there are many, they are scaled like all
 * others.
 *
 * Doubt. The hooks' cost is known to a few ns per call. That error is the same
 * in each call, so it does not average out (see hp_tree_sum.doubt).
 *
 * settle.c reconciles the estimates of all nodes.
 */
#include "report/read/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/read/open.h"

#define FINE ((double)(1 << HP_FINE_BITS))
#define AHEAD 16	/* rows prefetched while one is counted */
#define TAIL_FEW 16	/* from this many on, stalls are scaled */
#define TAIL_RARE 32	/* or if one in this many sampled calls is a stall */
#define DOUBT_SHARE 2	/* part of the hooks' cost besides clock reads, see doubts_of, */
#define DOUBT_CLOCK (1 / 256.0)	/* and this part of a clock read, */
#define DOUBT_NS 3	/* but at most this per call, */
#define DOUBT_EXACT_NS 5	/* or this, if clock reads are not serialising */
#define FIRST_HIGH_NS 4000	/* the excess of a thread's first gaps may be so much larger, */
#define FIRST_CALLS 64	/* and this many calls may have taken twice as long, */
#define FIRST_LOW_NS 1000	/* or it may be so much smaller, */
#define FIRST_FEW 16384	/* if the thread has at most so many calls, */
#define FIRST_SHARE (1 / 16.0)	/* or the function this part of them */

/* A row's numbers, forced to be consistent whatever was read. */
struct facts {
	double calls;
	double timed;
	double running;	/* calls that had not ended */
	double others;	/* neither of these nor nested */
	double sampled;
	double tail_count;
	double tail_ticks;
	double body_ticks;
	double body_squares;
	double self_ticks;	/* of the timed */
	double outer_ticks;	/* of the timed */
	bool is_apart;	/* the tail has exactly the calls that would be gap events */
	double below_ticks;	/* of the others */
};

static uint64_t least_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* `open`: its open calls, with their times so far. */
static struct facts facts_of(const struct hp_row *row, const struct hp_open *open)
{
	uint64_t timed = least_of(row->timed, row->calls);
	uint64_t others = row->calls - timed - least_of(row->nested, row->calls - timed);
	uint64_t running = least_of((uint64_t)open->calls, others);
	uint64_t sampled = least_of(row->sampled, others - running);
	/* More than 2^32 of them would take hours. */
	uint64_t tail = least_of(row->tail_carry, UINT32_MAX) << 32 | row->tail_count;
	bool is_number = isfinite(row->square_sampled) && row->square_sampled >= 0;

	return (struct facts){
		.calls = (double)row->calls,
		.timed = (double)timed,
		.running = (double)running,
		.others = (double)(others - running),
		.sampled = (double)sampled,
		.tail_count = (double)least_of(tail, sampled),
		.tail_ticks = (double)row->tail_ticks,
		.body_ticks = (double)row->self_sampled / FINE,
		.body_squares = is_number ? row->square_sampled : 0,
		.self_ticks = (double)row->self_timed / FINE + open->self,
		.outer_ticks = (double)row->outer_timed + open->outer,
		.below_ticks = (double)row->below / FINE,
	};
}

/* Student's t for n - 1 degrees of freedom over the normal quantile, near enough. */
static double small_sample(double n)
{
	return n > 2 ? 1 + 1.3 / (n - 1.5) : 4;
}

/* Variance of the sum over `others` calls, estimated from the sampled calls without the tail. */
static double body_variance(const struct facts *f)
{
	double n = f->sampled - f->tail_count;
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

static void add_sampled(struct hp_tree *tree, struct hp_tree_sum *sum,
			struct hp_model_function *function, const struct facts *f)
{
	double n = f->sampled - f->tail_count;
	double weight = f->others / f->sampled;
	bool is_rare =
		f->is_apart || (f->tail_count < TAIL_FEW && f->tail_count * TAIL_RARE < f->sampled);
	double self;

	if (is_rare)
		self = (n > 0 ? f->body_ticks / n * (f->others - f->tail_count) : 0) +
		       f->tail_ticks;
	else
		self = weight * (f->body_ticks + f->tail_ticks);
	sum->self += self;
	sum->outer += self;
	sum->variance += body_variance(f);
	sum->sampled += f->sampled - f->tail_count;
	sum->slow += f->tail_count;
	sum->is_apart = f->is_apart;
	if (f->tail_count > 0 && !f->is_apart) {
		double mean = f->tail_ticks / f->tail_count;

		if (is_rare)
			sum->tail_missing += (weight - 1) * f->tail_ticks;
		sum->tail_variance += weight * (weight - 1) * f->tail_count * mean * mean;
	}
	function->body_ticks += f->body_ticks;
	function->body_squares += f->body_squares;
	function->body_count += n;
	tree->sampled += f->sampled;
	tree->body_ticks += f->body_ticks;
	if (f->is_apart)
		return;
	tree->tail_count += f->tail_count;
	if (f->tail_ticks > 0 && f->tail_count > 0)
		tree->tail_logs += f->tail_count * log(f->tail_ticks / f->tail_count);
}

static void add_facts(struct hp_tree *tree, const struct hp_model *model, uint32_t place,
		      const struct facts *f)
{
	struct hp_model_node *node = &model->nodes[place];
	struct hp_model_function *function = &model->functions[node->function];
	struct hp_tree_sum *sum = &tree->sums[place];
	double before = (double)node->calls;

	sum->self += f->self_ticks;
	function->timed_ticks += f->self_ticks;
	function->timed_count += f->timed + f->running;
	sum->outer += f->outer_ticks + f->below_ticks;
	sum->outer_measured += f->outer_ticks;
	sum->others += f->others;
	sum->doubt += f->timed * tree->doubt_timed + (f->calls - f->timed) * tree->doubt_counted;
	if (f->calls > 0)
		sum->timed_share = (float)((sum->timed_share * before + f->timed + f->running) /
					   (before + f->calls));
	if (f->sampled > 0) {
		add_sampled(tree, sum, function, f);
	} else {
		sum->pending += (uint32_t)fmin(f->others, UINT32_MAX / 2);
		sum->pending_outer += (uint32_t)fmin(f->others, UINT32_MAX / 2);
		function->pending_count += f->others;
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
	tree->rows[tree->row_count++] =
		(struct hp_tree_row){ .offset = offset, .node = node, .record = record };
	return true;
}

static bool is_apart(const struct hp_model *model, struct hp_model_record *record)
{
	struct hp_reader reader = model->reader;	/* not released: the model's */

	if (!record->is_apart)
		record->is_apart =
			hp_reader_word(&reader, record->offset, sizeof(struct hp_function),
				       offsetof(struct hp_function, slow_least)) != 0;
	return record->is_apart;
}

static void add_row(struct hp_tree *tree, struct hp_model *model, struct hp_tree_row *place,
		    const struct hp_opens *opens)
{
	struct hp_model_record *record = &model->records[place->record];
	struct hp_model_function *function = &model->functions[record->function];
	const struct hp_row *there = hp_reader_see(&model->reader, place->offset, sizeof(*there));
	static const struct hp_open none;
	const struct hp_open *open;
	struct hp_row row;
	struct facts facts;
	uint64_t stamp;

	place->others = 0;
	if (!there)
		return;
	memcpy(&row, there, sizeof(row));
	open = hp_opens_find(opens, place->offset);
	facts = facts_of(&row, open ? open : &none);
	if (facts.sampled > 0)
		facts.is_apart = is_apart(model, record);
	if (open) {
		tree->sums[place->node].late_self += open->late_self;
		tree->sums[place->node].late_outer += open->late_outer;
	}
	add_facts(tree, model, place->node, &facts);
	place->others = (float)facts.others;
	place->mean = (float)(facts.sampled > 0 ? facts.body_ticks / facts.sampled : 0);
	model->nodes[place->node].calls += row.calls;
	function->calls += row.calls;
	function->sampled += (uint64_t)facts.sampled;
	function->measured += (uint64_t)(facts.timed + facts.sampled);
	stamp = row.calls + row.timed + row.nested + row.sampled + row.tail_count;
	record->stamp += stamp;
	model->blocks[record->block].stamp += stamp;
	model->blocks[record->block].calls += row.calls;
}

/*
 * The cost of a pair of hooks depends on how much the processor overlaps it
 * with the surrounding code: from almost nothing to twice the calibrated cost.
 * Clock reads are not overlapped, so the doubt concerns the rest.
 */
static void doubts_of(struct hp_tree *tree, const struct hp_model *model)
{
	const struct hp_header *header = &model->reader.header;
	double most = (header->timing == HP_TIMING_EXACT ? DOUBT_EXACT_NS : DOUBT_NS) /
		      model->ns_per_tick;
	double counted = header->cost_counted / FINE;
	double timed = (header->cost_timed - 2.0 * header->cost_clock) / FINE;

	/* A sampled call contains two clock reads, which are known that well. */
	tree->doubt_counted =
		fmin(most, DOUBT_SHARE * counted + DOUBT_CLOCK * header->cost_clock / FINE);
	tree->doubt_timed = fmin(most, DOUBT_SHARE * fmax(timed, counted));
}

/*
 * The first gaps of a thread have only a guess of the usual time of a call (pace_guess in
 * preload/call/leave.c), so their excess may be too small, or too small to be noticed. It is unknown whose
 * calls these were: of a function with a large share of the thread's calls, probably.
 */
static void doubt_first(struct hp_tree *tree, const struct hp_model *model)
{
	double ns = 1 / model->ns_per_tick;

	for (size_t i = 0; i < tree->row_count; i++) {
		const struct hp_tree_row *row = &tree->rows[i];
		struct hp_tree_sum *sum = &tree->sums[row->node];
		double calls = (double)model->blocks[model->records[row->record].block].calls;

		if (row->others <= 0 || (calls > FIRST_FEW && row->others < FIRST_SHARE * calls))
			continue;
		sum->slack_high += FIRST_HIGH_NS * ns + fmin(row->others, FIRST_CALLS) * row->mean;
		sum->slack_low += FIRST_LOW_NS * ns;
	}
}

void hp_tree_count(struct hp_tree *tree, struct hp_model *model, uint64_t now)
{
	struct hp_opens opens;

	hp_opens_init(&opens, model, now);
	tree->tail_count = tree->tail_logs = tree->body_ticks = tree->sampled = 0;
	doubts_of(tree, model);
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
		add_row(tree, model, &tree->rows[i], &opens);
	}
	hp_opens_release(&opens);
	doubt_first(tree, model);
}
