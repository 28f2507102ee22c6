/* SPDX-License-Identifier: MIT */
/*
 * gap.c - see gap.h.
 *
 * Known facts. For a function whose calls are sampled, k slow calls were timed.
 * There are also events: gaps below a caller that took longer than their calls
 * usually take (segment/FORMAT.md). An event is an untimed slow call of the
 * function or something else: a slow call of another function, or the caller's
 * own time.
 *
 * The share. Let t be the function's share of all these. A slow call of it is
 * timed with the probability p of its mode, so an event is seen with
 * probability 1 - t p, and a timed slow call with one proportional to t. The
 * likelihood of the observations is
 *
 *   L(t) = t^k  product over the events of (1 - t p)
 *
 * The interval of t is where log L is within 2.2 of its largest value, which is that of 96 % by
 * the likelihood ratio (Wilks, Ann.  Math.  Statist. 9, 1938), or within 3 where k is so small
 * that the ratio is far from its limit.  The estimate is the mean of t weighted by L. If no slow
 * call was timed, L says almost nothing; then the function's share is that of its time, as for
 * stalls caused by the machine.
 *
 * The time. Of events with share t, a fraction t (1 - p) / (1 - t p) belongs to
 * the function, with binomial variation. Which events these are is unknown, so
 * the upper end takes the longest ones and the lower end the shortest.
 *
 * CPU samples. Of the longest gaps, the record has the time. The function of each CPU sample in
 * them is known once the program's functions have names (report/section/cpu/gap_samples.c); then
 * the claim is narrowed to the function's part of these samples.
 *
 * Nothing else is known about untimed calls. The caller's own time has the
 * rest, so its interval mirrors this one.
 */
#include "report/read/gap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/binomial.h"
#include "report/base/memory.h"

#define STEPS 200	/* of the share, from 0 to 1 */
#define WITHIN 2.2
#define WITHIN_FEW 3.0
#define FEW 5
#define CHANCE 2	/* standard deviations of a binomial number */
/* Part of the function's time; beyond it, the whole is the interval */
#define NEXT_TO_NOTHING 0.002
#define BOOST_P (1 / 8.0)
#define BEYOND 0.0125	/* probability of a share beyond each end, by samples */
#define COVERED_MIN 0.5	/* part of the long gaps' time that samples stand for */
#define GRAIN_CLOCKS 8.0	/* clock readings: the error of one event's excess */

/* Events below a node, and below those above it whose calls were not all timed. */
struct set {
	double events[HP_GAP_MODES];
	double ticks[HP_GAP_MODES];
	double size_events[HP_GAP_SIZES];
	double size_ticks[HP_GAP_SIZES];
	double claimed;	/* ticks of these attributed to functions */
	uint32_t above;	/* set of a caller further up, which is included; 0 = none */
	double long_excess_ns;	/* of the longest of them */
	double long_ns;	/* their whole length */
};

/* A node's part of them. */
struct claim {
	double ticks;
	double low;
	double high;
};

struct gaps {
	struct hp_model *model;
	const struct hp_tree *tree;
	struct set *sets;
	size_t count;
	size_t room;
	uint32_t *at;	/* of each node: place + 1 of its set of callees; 0 = none */
	struct claim *claims;	/* of each node */
};

/* --- recorded data --- */

static uint32_t set_new(struct gaps *g)
{
	g->sets = hp_xgrow(g->sets, g->count, &g->room, sizeof(*g->sets));
	memset(&g->sets[g->count], 0, sizeof(*g->sets));
	return (uint32_t)++g->count;
}

static void set_add(struct set *to, const struct set *from)
{
	for (int i = 0; i < HP_GAP_MODES; i++) {
		to->events[i] += from->events[i];
		to->ticks[i] += from->ticks[i];
	}
	for (int i = 0; i < HP_GAP_SIZES; i++) {
		to->size_events[i] += from->size_events[i];
		to->size_ticks[i] += from->size_ticks[i];
	}
	to->long_excess_ns += from->long_excess_ns;
	to->long_ns += from->long_ns;
}

static void record_add(struct set *to, const struct hp_gaps *from)
{
	for (int i = 0; i < HP_GAP_MODES; i++) {
		to->events[i] += (double)from->events[i];
		to->ticks[i] += (double)from->ticks[i];
	}
	for (int i = 0; i < HP_GAP_SIZES; i++) {
		to->size_events[i] += (double)from->sizes[i].events;
		to->size_ticks[i] += (double)from->sizes[i].ticks;
	}
}

static uint32_t node_at(const struct hp_model *model, uint32_t row)
{
	uint32_t place = row < model->place_count ? model->places[row] : 0;

	return place & HP_PLACE_ROW ? place & ~HP_PLACE_ROW : 0;
}

static uint64_t clock_ns(const struct hp_model *model, uint64_t ticks)
{
	const struct hp_moment *start = &model->reader.header.start;

	return start->ns + (uint64_t)((double)(ticks - start->ticks) * model->ns_per_tick);
}

/* False = unused, being written, or damaged. */
static bool is_whole(const struct hp_model *model, const struct hp_long_gap *gap)
{
	return gap->excess && gap->excess <= gap->ticks &&
	       gap->start >= model->reader.header.start.ticks && gap->start <= model->end_ticks &&
	       gap->ticks <= model->end_ticks - gap->start;
}

static void long_gaps_read(struct hp_model *model, const struct hp_gaps *gaps, uint32_t node)
{
	struct hp_long_gap all[HP_LONG_GAPS];

	if (!gaps->longest ||
	    !hp_reader_copy(&model->reader, (uint64_t)gaps->longest * HP_LINE, all, sizeof(all)))
		return;
	for (int i = 0; i < HP_LONG_GAPS; i++) {
		if (!is_whole(model, &all[i]))
			continue;
		model->gaps = hp_xgrow(model->gaps, model->gap_count, &model->gap_room,
				       sizeof(*model->gaps));
		model->gaps[model->gap_count++] = (struct hp_model_gap){
			.start_ns = clock_ns(model, all[i].start),
			.end_ns = clock_ns(model, all[i].start + all[i].ticks),
			.excess_ns = (double)all[i].excess * model->ns_per_tick,
			.tid = all[i].tid,
			.node = node
		};
	}
}

static void records_read(struct gaps *g)
{
	struct hp_reader *reader = &g->model->reader;
	struct hp_gaps gaps;

	hp_reader_restart(reader, 1);
	for (size_t i = 0; i < g->model->record_count; i++)
		for (uint64_t at = (uint64_t)g->model->records[i].gaps * HP_LINE;
		     hp_reader_step(reader, at, &gaps, sizeof(gaps));
		     at = (uint64_t)gaps.next * HP_LINE) {
			uint32_t node = node_at(g->model, gaps.row);

			if (!g->at[node])
				g->at[node] = set_new(g);
			record_add(&g->sets[g->at[node] - 1], &gaps);
			if (!g->model->gap_shares)
				long_gaps_read(g->model, &gaps, node);
		}
}

static int by_start(const void *a, const void *b)
{
	const struct hp_model_gap *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static void long_gaps_add(struct gaps *g)
{
	struct hp_model *model = g->model;

	if (model->gap_count)
		qsort(model->gaps, model->gap_count, sizeof(*model->gaps), by_start);
	for (size_t i = 0; i < model->gap_count; i++) {
		struct set *set = &g->sets[g->at[model->gaps[i].node] - 1];

		set->long_excess_ns += model->gaps[i].excess_ns;
		set->long_ns += (double)(model->gaps[i].end_ns - model->gaps[i].start_ns);
	}
}

/*
 * From the root down: events below a caller whose calls were not all timed are
 * also below its own caller.
 */
static void sets_inherit(struct gaps *g)
{
	for (size_t i = 1; i < g->model->node_count; i++) {
		uint32_t above = g->at[g->model->nodes[i].parent];

		if (!above || g->tree->sums[i].others == 0)
			continue;
		if (!g->at[i])
			g->at[i] = above;
		else {
			set_add(&g->sets[g->at[i] - 1], &g->sets[above - 1]);
			g->sets[g->at[i] - 1].above = above;
		}
	}
}

/* --- the share --- */

struct share {
	double mean;
	double low;
	double high;
};

static double log_likelihood(const struct set *set, double slow, double p, double t)
{
	double sum = slow > 0 ? slow * log(t) : 0;

	sum += set->events[HP_GAP_USUAL] * log1p(-t * p);
	sum += set->events[HP_GAP_BOOST] * log1p(-t * BOOST_P);
	return set->events[HP_GAP_ALL] > 0 ? sum + set->events[HP_GAP_ALL] * log1p(-t) : sum;
}

/* `slow`: its timed slow calls; `p`: the usual probability that one was timed. */
static struct share share_of(const struct set *set, double slow, double p)
{
	double logs[STEPS], most = -INFINITY, whole = 0, sum = 0;
	double within = slow < FEW ? WITHIN_FEW : WITHIN;
	struct share share = { .low = 1, .high = 0 };

	for (int i = 0; i < STEPS; i++) {
		logs[i] = log_likelihood(set, slow, p, (i + 0.5) / STEPS);
		most = fmax(most, logs[i]);
	}
	for (int i = 0; i < STEPS; i++) {
		double weight = exp(logs[i] - most);

		whole += weight;
		sum += weight * (i + 0.5) / STEPS;
		if (logs[i] < most - within)
			continue;
		share.low = fmin(share.low, (double)i / STEPS);
		share.high = fmax(share.high, (i + 1.0) / STEPS);
	}
	share.mean = sum / whole;
	return share;
}

/* --- the time --- */

/* The probability that an event belongs to the function. */
static double part_of(double t, double p)
{
	return t >= 1 ? 1 : t * (1 - p) / (1 - t * p);
}

static double number_of(const struct set *set, double t, double p)
{
	return set->events[HP_GAP_USUAL] * part_of(t, p) +
	       set->events[HP_GAP_BOOST] * part_of(t, BOOST_P);
}

/* `number` of the events, the longest ones, or the shortest. */
static double ticks_of(const struct set *set, double number, bool are_longest)
{
	double sum = 0;

	for (int i = 0; i < HP_GAP_SIZES && number > 0; i++) {
		int size = are_longest ? HP_GAP_SIZES - 1 - i : i;
		double events = set->size_events[size];

		if (events <= 0)
			continue;
		sum += set->size_ticks[size] * fmin(1, number / events);
		number -= events;
	}
	return sum;
}

static double chance_of(double number, double t)
{
	return CHANCE * sqrt(number * fmax(1 - t, 0));
}

/* `grain`: by how much the usual time of a gap may be wrong, ticks. */
static struct claim claim_of(const struct set *set, const struct hp_tree_sum *sum, double grain)
{
	double p = fmin(fmax(sum->sampled / sum->others, 1 / 1024.0), 1);
	double whole = set->ticks[HP_GAP_USUAL] + set->ticks[HP_GAP_BOOST];
	struct claim claim = { .high = whole };
	struct share share;
	double fewest, most;

	if (whole <= NEXT_TO_NOTHING * sum->self) {
		claim.ticks = whole / 2;
		return claim;
	}
	share = share_of(set, sum->slow, p);
	fewest = number_of(set, share.low, p);
	most = fmin(number_of(set, share.high, p), sum->others - sum->sampled);
	claim.low = ticks_of(set, fewest - chance_of(fewest, share.low), false);
	claim.high = ticks_of(set, fmin(most + chance_of(most, share.high), sum->others), true) +
		     most * grain;
	claim.ticks = set->ticks[HP_GAP_USUAL] * part_of(share.mean, p) +
		      set->ticks[HP_GAP_BOOST] * part_of(share.mean, BOOST_P);
	claim.ticks = fmin(fmax(claim.ticks, claim.low), claim.high);
	return claim;
}

/* Without a timed slow call: by the share of the time. */
static void claim_by_time(const struct hp_tree_sum *sum, double whole, struct claim *claim)
{
	if (sum->slow > 0 || whole <= 0)
		return;
	claim->ticks *= fmin(fmax(sum->self, 0) / whole, 1);
	claim->low = fmin(claim->low, claim->ticks);
}

/* Some of its calls were not timed. */
static bool is_candidate(const struct hp_tree_sum *sum)
{
	return sum->sampled > 0 ? sum->is_apart : sum->pending > 0;
}

static double sampled_of(const struct gaps *g, uint32_t set)
{
	double sum = 0;

	for (size_t i = 1; i < g->model->node_count; i++)
		if (g->at[g->model->nodes[i].parent] == set && is_candidate(&g->tree->sums[i]))
			sum += fmax(g->tree->sums[i].self, 0);
	return sum;
}

/* --- CPU samples --- */

/* CPU samples in the long gaps of a set, ns. */
struct seen {
	double all;
	double squares;
	double own;	/* in the function */
	double unknown;	/* in no instrumented function: may be in this one */
};

static bool set_includes(const struct gaps *g, uint32_t set, uint32_t part)
{
	while (set && set != part)
		set = g->sets[set - 1].above;
	return set != 0;
}

static struct seen seen_of(const struct gaps *g, uint32_t set, uint32_t function)
{
	struct seen seen = { .all = 0 };

	for (size_t i = 0; i < g->model->gap_share_count; i++) {
		const struct hp_model_gap_share *share = &g->model->gap_shares[i];

		if (!set_includes(g, set, g->at[share->node]))
			continue;
		seen.all += share->ns;
		seen.squares += share->squares;
		if (share->function == HP_NONE)
			seen.unknown += share->ns;
		else if (share->function == function)
			seen.own += share->ns;
	}
	return seen;
}

/* A sample of a function that has several nodes here may be in any of them. */
static bool is_alone(const struct gaps *g, uint32_t set, size_t node)
{
	for (size_t i = 1; i < g->model->node_count; i++)
		if (i != node && g->at[g->model->nodes[i].parent] == set &&
		    g->model->nodes[i].function == g->model->nodes[node].function &&
		    is_candidate(&g->tree->sums[i]))
			return false;
	return true;
}

/*
 * A sample is in the function with the probability of its part of the long gaps' time. What these
 * take usually may be anyone's. Nothing is known of the other gaps.
 */
static void claim_by_samples(const struct gaps *g, uint32_t at, size_t node, struct claim *claim)
{
	const struct set *set = &g->sets[at - 1];
	struct seen seen = { .all = 0 };
	double whole = set->ticks[HP_GAP_USUAL] + set->ticks[HP_GAP_BOOST];
	double scale = g->model->ns_per_tick, long_ticks = set->long_excess_ns / scale, n, low,
	       high;

	if (set->long_ns > 0)
		seen = seen_of(g, at, g->model->nodes[node].function);
	if (seen.squares <= 0 || seen.all < COVERED_MIN * set->long_ns || long_ticks > whole)
		return;
	n = floor(seen.all * seen.all / seen.squares);
	low = hp_binomial_low(floor(n * seen.own / seen.all), n, BEYOND);
	high = hp_binomial_high(ceil(n * fmin((seen.own + seen.unknown) / seen.all, 1)), n, BEYOND);
	low = fmax(low * set->long_ns / scale - (set->long_ns / scale - long_ticks), 0);
	high = fmin(high * set->long_ns / scale, long_ticks) + whole - long_ticks;
	if (low > 0 && !is_alone(g, at, node))
		low = 0;
	if (low > claim->high || high < claim->low)
		return;
	claim->low = fmax(claim->low, low);
	claim->high = fmin(claim->high, high);
	if (low > 0)
		claim->ticks =
			seen.own / seen.all * long_ticks + claim->ticks * (1 - long_ticks / whole);
	claim->ticks = fmin(fmax(claim->ticks, claim->low), claim->high);
}

static void claims_find(struct gaps *g)
{
	double *wholes = hp_xmalloc((g->count + 1) * sizeof(*wholes));
	double grain = GRAIN_CLOCKS * g->model->reader.header.cost_clock / (1 << HP_FINE_BITS);

	for (size_t i = 0; i <= g->count; i++)
		wholes[i] = -1;
	for (size_t i = 1; i < g->model->node_count; i++) {
		const struct hp_tree_sum *sum = &g->tree->sums[i];
		uint32_t at = g->at[g->model->nodes[i].parent];

		if (!at || !is_candidate(sum))
			continue;
		if (wholes[at] < 0)
			wholes[at] = sampled_of(g, at);
		g->claims[i] = claim_of(&g->sets[at - 1], sum, grain);
		claim_by_time(sum, wholes[at], &g->claims[i]);
		claim_by_samples(g, at, i, &g->claims[i]);
		g->sets[at - 1].claimed += g->claims[i].ticks;
	}
	free(wholes);
}

/* All functions together must not exceed the total. */
static void claims_add(const struct gaps *g)
{
	for (size_t i = 1; i < g->model->node_count; i++) {
		uint32_t at = g->at[g->model->nodes[i].parent];
		struct hp_tree_sum *sum = &g->tree->sums[i];
		struct claim *claim = &g->claims[i];
		const struct set *set = at ? &g->sets[at - 1] : NULL;
		double whole = set ? set->ticks[HP_GAP_USUAL] + set->ticks[HP_GAP_BOOST] : 0;

		if (claim->high <= 0)
			continue;
		if (set->claimed > whole)
			claim->ticks *= whole / set->claimed;
		sum->self += claim->ticks;
		sum->outer += claim->ticks;
		sum->slack_low += fmax(claim->ticks - claim->low, 0);
		sum->slack_high += fmax(claim->high - claim->ticks, 0);
	}
}

void hp_gaps_settle(const struct hp_tree *tree, struct hp_model *model)
{
	struct gaps g = { .model = model, .tree = tree };

	g.at = hp_xcalloc(model->node_count, sizeof(*g.at));
	records_read(&g);
	if (g.count) {
		g.claims = hp_xcalloc(model->node_count, sizeof(*g.claims));
		long_gaps_add(&g);
		sets_inherit(&g);
		claims_find(&g);
		claims_add(&g);
	}
	free(g.at);
	free(g.sets);
	free(g.claims);
}
