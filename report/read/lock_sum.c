/* SPDX-License-Identifier: MIT */
/*
 * lock_sum.c - see lock_sum.h.
 */
#include "report/read/lock_sum.h"

#include <math.h>
#include <stdlib.h>

#include "report/base/memory.h"
#include "segment/layout/lock.h"

#define Z 1.96	/* of a 95 % interval */
#define NONE_MAX 3.69	/* upper 95 % limit for the number of events when none was seen */
#define CLOSE 1.01	/* up to this factor of uncertainty the longest hold is reported */

/* --- untimed holds --- */

/*
 * Ends of the 95 % interval of a Poisson mean from `count` events: Wilson and
 * Hilferty's cube roots.
 */
static double poisson_low(double count)
{
	double root = 1 - 1 / (9 * count) - Z / (3 * sqrt(count));

	return count > 0 && root > 0 ? count * root * root * root : 0;
}

static double poisson_high(double count)
{
	double root = 1 - 1 / (9 * (count + 1)) + Z / (3 * sqrt(count + 1));

	return count > 0 ? (count + 1) * root * root * root : NONE_MAX;
}

static const struct hp_lock_rest *rest_of(const struct hp_lock_sum *sum)
{
	static const struct hp_lock_rest none;

	return sum->rest ? sum->rest : &none;
}

static struct hp_lock_rest *rest_have(struct hp_lock_sum *sum)
{
	if (!sum->rest)
		sum->rest = hp_xcalloc(1, sizeof(*sum->rest));
	return sum->rest;
}

/* First parts of the others, estimated from the sampled ones. */
static void add_shorts(struct hp_lock_rest *rest, const struct hp_use *use,
		       const struct hp_hold_sums *sums, double samples, double others)
{
	double weight = (double)use->sampled, mean, square, variance, effective;

	if (!sums || samples < 2 || weight < samples) {
		/* Unknown: anything up to that. */
		rest->shorts += others * HP_LOCK_SHORT / 2;
		rest->variance += others * others * HP_LOCK_SHORT * HP_LOCK_SHORT / 16;
		return;
	}
	mean = (double)sums->short_ticks / weight;
	square = (double)sums->short_squares / weight;
	variance = square > mean * mean ? square - mean * mean : 0;
	/* For weights 1 and HP_LOCK_RARE / HP_LOCK_SAMPLED with the sum `weight`. */
	effective =
		weight * weight / (weight + (weight - samples) * (HP_LOCK_RARE / HP_LOCK_SAMPLED));
	rest->shorts += others * mean;
	rest->variance += others * others * variance / effective;
	rest->skew += others * HP_LOCK_SHORT / effective;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static void add_looks(struct hp_lock_rest *rest, const struct hp_hold_sums *sums, double gap)
{
	if (sums && sums->looks) {
		gap = (double)sums->looks_gaps / (double)sums->looks;
		rest->gap_most = larger(rest->gap_most, (double)sums->looks_most);
	}
	rest->gap = larger(rest->gap, gap);
	rest->gap_most = larger(rest->gap_most, gap);
	if (!sums)
		return;
	rest->hits += (double)sums->hits;
	rest->gaps += (double)sums->gap_ticks;
	rest->more += (double)sums->more_ticks;
	rest->tail += (double)sums->tail_ticks;
	rest->known += (double)sums->known_ticks;
	rest->blind += (double)sums->blind_ticks;
	rest->most = larger(rest->most, (double)sums->most_most);
}

static void add_rest(struct hp_lock_sum *sum, const struct hp_use *use,
		     const struct hp_hold_sums *sums, uint64_t samples, double gap)
{
	uint64_t told = use->timed + samples;
	double others = use->count > told ? (double)(use->count - told) : 0;
	struct hp_lock_rest *rest = rest_have(sum);

	sum->is_estimated = true;
	if (!sums && use->sampled) {
		rest->known += (double)use->sampled_ticks / (double)use->sampled * (double)samples;
		rest->shorts += (double)use->sampled_ticks / (double)use->sampled * others;
		rest->is_unknown = true;
		return;
	}
	rest->count += others;
	rest->known += sums ? (double)sums->each_ticks : 0;
	add_looks(rest, sums, gap);
	if (sums && sums->least_most > sum->hold_most)
		sum->hold_most = sums->least_most;
	add_shorts(rest, use, sums, (double)samples, others);
}

void hp_lock_sum_add(struct hp_lock_sum *sum, const struct hp_use *use,
		     const struct hp_hold_sums *sums, uint64_t samples, double gap)
{
	sum->timed += use->timed;
	sum->sampled += samples;
	sum->hold_ticks += (double)use->timed_ticks;
	sum->hold_most = use->hold_most > sum->hold_most ? use->hold_most : sum->hold_most;
	if (use->sampled || use->is_sampled || sums)
		add_rest(sum, use, sums, samples, gap);
}

void hp_lock_sum_open(struct hp_lock_sum *sum, double ticks, bool is_timed)
{
	struct hp_lock_rest *rest = rest_have(sum);

	sum->is_estimated = true;
	rest->open += ticks;
	rest->open_most = larger(rest->open_most, ticks);
	rest->open_untimed += !is_timed;
}

/*
 * Adds holds that have not ended. The lower end excludes them: a lock that another thread
 * released looks as if it were still held.
 */
static void finish_open(struct hp_lock_sum *sum)
{
	const struct hp_lock_rest *rest = rest_of(sum);
	double gap = rest->open_untimed > 0 ? rest->gap_most + HP_LOCK_SHORT : 0;

	sum->hold_ticks += rest->open;
	if (sum->hold_high >= 0)
		sum->hold_high += rest->open + gap * rest->open_untimed;
	if (sum->hold_most_high >= 0)
		sum->hold_most_high = larger(sum->hold_most_high, rest->open_most + gap);
}

/* First parts beyond HP_LOCK_SHORT, estimated from the sampler's checks. */
struct range {
	double low;
	double ticks;
	double high;
};

static struct range looks_range(const struct hp_lock_rest *rest)
{
	double gap = rest->hits > 0 ? rest->gaps / rest->hits : rest->gap;
	double most = poisson_high(rest->hits);
	struct range range;

	/* It cannot exceed the total. */
	most = most < rest->count ? most : rest->count;
	range.ticks = rest->more + rest->gaps;
	range.low = larger(rest->tail, rest->more + gap * poisson_low(rest->hits));
	range.high = larger(range.ticks, rest->more + gap * most);
	return range;
}

static double both(double a, double b)
{
	return sqrt(a * a + b * b);
}

void hp_lock_sum_finish(struct hp_lock_sum *sum, double clock_ticks, double most_ticks)
{
	const struct hp_lock_rest *rest = rest_of(sum);
	double error = clock_ticks * ((double)(sum->timed + sum->sampled) + rest->count);
	double sure = sum->hold_ticks + rest->known, spread = Z * sqrt(rest->variance);
	struct range looks = looks_range(rest);
	double down = both(spread, looks.ticks - looks.low);
	double up = both(spread + NONE_MAX * rest->skew, looks.high - looks.ticks);

	sum->hold_ticks = sure + rest->shorts + looks.ticks;
	sum->hold_low = larger(sum->hold_ticks - down, sure + rest->tail) - error;
	sum->hold_low = larger(sum->hold_low, 0);
	sum->hold_high = sum->hold_ticks + up + rest->blind + error;
	sum->hold_most_high = (double)sum->hold_most;
	if (rest->count > 0)
		sum->hold_most_high = larger(sum->hold_most_high,
					     larger(rest->most, rest->gap_most + HP_LOCK_SHORT));
	if (rest->is_unknown || rest->blind > 0)
		sum->hold_most_high = -1;
	if (rest->is_unknown) {
		sum->hold_low = 0;
		sum->hold_high = -1;
	}
	if (rest->open > 0 || rest->open_untimed > 0)
		finish_open(sum);
	if (most_ticks > 0 && sum->hold_high > most_ticks)
		sum->hold_high = larger(most_ticks, sum->hold_ticks);
}

void hp_lock_sum_release(struct hp_lock_sum *sum)
{
	hp_histogram_release(&sum->waits);
	hp_histogram_release(&sum->holds);
	free(sum->rest);
	sum->rest = NULL;
}

bool hp_lock_sum_is_most_bound(const struct hp_lock_sum *sum)
{
	return sum->hold_most_high < 0 || sum->hold_most_high > CLOSE * (double)sum->hold_most;
}

/* --- histograms --- */

void hp_lock_spread_add(struct hp_model *model, struct hp_histogram *histogram, uint32_t place)
{
	struct hp_reader *reader = &model->reader;
	struct hp_spread spread;

	if (!place || !hp_reader_copy(reader, (uint64_t)place * HP_LINE, &spread, sizeof(spread)))
		return;
	for (unsigned group = 0; group < HP_GROUPS; group++) {
		const uint64_t *counters = hp_reader_see(
			reader, (uint64_t)spread.groups[group] * HP_LINE, HP_GROUP_SIZE * 8);

		bool is_new = !hp_histogram_counters(histogram, group);
		uint64_t *to;

		if (!counters || (is_new && !hp_reader_group(reader)))
			continue;
		to = hp_histogram_group(histogram, group);
		for (unsigned i = 0; i < HP_GROUP_SIZE; i++) {
			uint64_t count = *(const volatile uint64_t *)&counters[i];

			to[i] += count;
			histogram->total += count;
		}
	}
}

void hp_lock_few_add(struct hp_histogram *histogram, uint64_t count, uint64_t ticks, uint64_t most)
{
	if (!count || count > HP_FEW)
		return;
	hp_histogram_add(histogram, most);
	if (count == HP_FEW)
		hp_histogram_add(histogram, ticks > most ? ticks - most : 0);
}

/* Of this rank (from 1); < 0 = none. */
static double value_at(const struct hp_histogram *histogram, uint64_t rank)
{
	uint64_t value = hp_histogram_value(histogram, rank);

	return value == UINT64_MAX ? -1 : (double)value;
}

static uint64_t rank_of(uint64_t total, double percent)
{
	uint64_t rank = (uint64_t)ceil(percent / 100 * (double)total - 1e-6);

	return rank < 1 ? 1 : rank > total ? total : rank;
}

double hp_lock_wait_percentile(const struct hp_lock_sum *sum, double percent)
{
	uint64_t rank, at_once;
	double ticks;

	if (!sum->count)
		return -1;
	rank = rank_of(sum->count, percent);
	at_once = sum->count > sum->waits.total ? sum->count - sum->waits.total : 0;
	if (rank <= at_once)
		return 0;
	if (percent >= 100)
		return (double)sum->wait_most;
	ticks = value_at(&sum->waits, rank - at_once);
	return ticks < (double)sum->wait_most ? ticks : (double)sum->wait_most;
}

double hp_lock_hold_percentile(const struct hp_lock_sum *sum, double percent)
{
	double ticks;

	if (!sum->holds.total)
		return -1;
	if (percent >= 100)
		return (double)sum->hold_most;
	ticks = value_at(&sum->holds, rank_of(sum->holds.total, percent));
	return ticks < (double)sum->hold_most ? ticks : (double)sum->hold_most;
}
