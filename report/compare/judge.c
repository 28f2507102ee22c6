/* SPDX-License-Identifier: MIT */
/*
 * judge.c - see judge.h.
 */
#include "report/compare/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/compare/rank.h"
#include "report/compare/relative.h"

#define RUNS_VARYING 3	/* a side, to detect a varying count */
#define GAP 3	/* a gap of this many times the larger range is not due to chance */
#define THREADED_SHARE 0.2	/* of a count, in a program with threads and with one run a side */
#define THREADED_COUNT 50
#define LOOSE_SHARE 0.1	/* figures that the machine influences: smaller differences do not count */
#define LOOSE_CHANCE 0.003
#define ORDER_CHANCE 0.05
#define WAITS_LITTLE 1.5	/* own time of a function that is busy, as a multiple of its CPU time */
#define UNSEEN_MAX 10	/* tenfold */

static size_t least_runs(const struct hp_compare *compare)
{
	return compare->a.count < compare->b.count ? compare->a.count : compare->b.count;
}

/* --- counts --- */

struct range {
	double low, high;
};

static struct range range_of(const double *values, size_t count)
{
	struct range range = { values[0], values[0] };

	for (size_t i = 1; i < count; i++) {
		range.low = fmin(range.low, values[i]);
		range.high = fmax(range.high, values[i]);
	}
	return range;
}

static enum hp_compare_verdict direction(const struct hp_compare_row *row)
{
	if (row->a == 0 || row->b == 0)
		return row->a == 0 ? HP_COMPARE_NEW : HP_COMPARE_GONE;
	return row->b > row->a ? HP_COMPARE_MORE : HP_COMPARE_LESS;
}

static bool has_threads(const struct hp_compare *compare)
{
	for (size_t i = 0; i < compare->run_count; i++)
		if (compare->runs[i].threads > 1)
			return true;
	return false;
}

/*
 * With one run of threads the variation is unknown: a large difference counts anyway.
 */
static bool is_clear(const struct hp_compare *compare, const struct hp_compare_row *row)
{
	double change = fabs(row->b - row->a);

	return least_runs(compare) > 1 || !has_threads(compare) ||
	       (change >= THREADED_COUNT && change >= THREADED_SHARE * fmax(row->a, row->b));
}

/*
 * Peak RSS depends on other mappings and the kernel's readahead: 7 % between equal runs
 * on a busy machine.
 */
static bool is_loosely_clear(const struct hp_compare_row *row)
{
	return fabs(row->b - row->a) >= LOOSE_SHARE * fmax(row->a, row->b);
}

static enum hp_compare_verdict steady_verdict(const struct hp_compare *compare,
					      const struct hp_compare_row *row)
{
	if (row->a == row->b)
		return HP_COMPARE_SAME;
	if (row->measure->kind == HP_COMPARE_LOOSE && !is_loosely_clear(row))
		return HP_COMPARE_SAME;
	if (row->measure->kind == HP_COMPARE_LOOSE && least_runs(compare) < RUNS_VARYING)
		return HP_COMPARE_UNSURE;
	return is_clear(compare, row) ? direction(row) : HP_COMPARE_UNSURE;
}

static enum hp_compare_verdict varying_verdict(const struct hp_compare *compare,
					       const struct hp_compare_row *row, size_t varying)
{
	struct range a = range_of(row->values, compare->a.count);
	struct range b = range_of(row->values + compare->a.count, compare->b.count);
	double gap = fmax(b.low - a.high, a.low - b.high);
	double widest = fmax(a.high - a.low, b.high - b.low);
	double chance = hp_rank_least(compare->a.count, compare->b.count);
	double most = row->measure->kind == HP_COMPARE_LOOSE ? LOOSE_CHANCE
							     : HP_JUDGE_ROWS / (double)varying;

	if (gap <= 0)
		return HP_COMPARE_SAME;
	if (least_runs(compare) < RUNS_VARYING)
		return HP_COMPARE_UNSURE;
	if (row->measure->kind == HP_COMPARE_LOOSE && !is_loosely_clear(row))
		return HP_COMPARE_SAME;
	if (chance > most && gap < GAP * widest)
		return HP_COMPARE_UNSURE;
	return direction(row);
}

static bool is_varying(const struct hp_compare *compare, const struct hp_compare_row *row)
{
	struct range a = range_of(row->values, compare->a.count);
	struct range b = range_of(row->values + compare->a.count, compare->b.count);

	return a.low < a.high || b.low < b.high;
}

static bool is_known(const double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (isnan(values[i]))
			return false;
	return true;
}

static void counts_judge(struct hp_compare *compare)
{
	size_t varying = 0;

	for (size_t i = 0; i < compare->row_count; i++)
		varying += !hp_compare_is_time(compare->rows[i].measure) &&
			   compare->rows[i].is_varying;
	for (size_t i = 0; i < compare->row_count; i++) {
		struct hp_compare_row *row = &compare->rows[i];

		if (hp_compare_is_time(row->measure) || row->verdict == HP_COMPARE_UNKNOWN)
			continue;
		row->verdict = row->is_varying ? varying_verdict(compare, row, varying)
					       : steady_verdict(compare, row);
	}
}

/* --- times --- */

static double ready_median(const struct hp_compare_side *side)
{
	double *ready = hp_xcalloc(side->count + 1, sizeof(*ready)), median;
	size_t count = 0;

	for (size_t i = 0; i < side->count; i++)
		if (!isnan(side->runs[i].ready))
			ready[count++] = side->runs[i].ready;
	median = count ? hp_rank_median(ready, count) : NAN;
	free(ready);
	return median;
}

/* All of one side before the other: changes in between look like a change of the program. */
static bool is_in_turns(const struct hp_compare *compare)
{
	double *started = hp_xcalloc(compare->run_count + 1, sizeof(*started)), chance;

	for (size_t i = 0; i < compare->run_count; i++) {
		started[i] = compare->runs[i].started;
		if (isnan(started[i])) {
			free(started);
			return true;
		}
	}
	chance = hp_rank_chance(started, compare->a.count, started + compare->a.count,
				compare->b.count);
	free(started);
	return chance >= ORDER_CHANCE;
}

static char *refusal(const struct hp_compare *compare)
{
	double a = compare->a.ready, b = compare->b.ready;

	if (least_runs(compare) < HP_COMPARE_RUNS_MIN)
		return hp_xprintf("%zu run%s a side, and identical runs differ by up to 20%%; "
				  "only %d runs or more are judged",
				  least_runs(compare), least_runs(compare) == 1 ? "" : "s",
				  HP_COMPARE_RUNS_MIN);
	if (!is_in_turns(compare))
		return hp_xprintf("the runs of one side are older than those of the other; "
				  "--runs alternates them");
	if (!isnan(a) && !isnan(b) &&
	    (fmax(a, b) > HP_JUDGE_READY || fabs(a - b) > HP_JUDGE_READY_APART))
		return hp_xprintf(
			"threads waited for a core, %.0f%% of the time in A and %.0f%% in B: "
			"the machine is too busy",
			100 * a, 100 * b);
	return NULL;
}

static double total_median(const struct hp_compare *compare, const char *key, bool is_b)
{
	for (size_t i = 0; i < compare->row_count; i++)
		if (!compare->rows[i].measure->section &&
		    strcmp(compare->rows[i].measure->value, key) == 0)
			return is_b ? compare->rows[i].b : compare->rows[i].a;
	return 0;
}

/* Rows that are too small are not judged: each would reduce the power for the others. */
static bool is_weighty(const struct hp_compare *compare, const struct hp_compare_row *row)
{
	double most = fmax(row->a, row->b);
	double cpu =
		fmax(total_median(compare, "cpu_ns", false), total_median(compare, "cpu_ns", true));

	return most > 0 && most >= HP_JUDGE_SHARE * cpu &&
	       (row->measure->kind != HP_COMPARE_SAMPLED || most >= HP_JUDGE_SAMPLED_NS);
}

static bool is_beyond(const struct hp_compare *compare, const double *values, double factor,
		      double most)
{
	double *scaled = hp_xcalloc(compare->run_count, sizeof(*scaled));
	double chance;

	for (size_t i = 0; i < compare->run_count; i++)
		scaled[i] = values[i] * (i < compare->a.count ? 1 : factor);
	chance = hp_rank_chance(scaled, compare->a.count, scaled + compare->a.count,
				compare->b.count);
	free(scaled);
	return chance < most;
}

/* The smallest slowdown of B that would be reported. */
static double unseen_of(const struct hp_compare *compare, const struct hp_compare_row *row,
			double most)
{
	double level = row->b > 0 && row->a > 0 ? row->a / row->b : NAN, low = 1, high = UNSEEN_MAX;

	if (isnan(level) || !is_beyond(compare, row->values, level * high, most))
		return NAN;
	for (int i = 0; i < 12; i++) {
		double middle = (low + high) / 2;

		if (is_beyond(compare, row->values, level * middle, most))
			high = middle;
		else
			low = middle;
	}
	return fmax(high - 1, HP_JUDGE_MIN);
}

/*
 * The row with the own time of a sampled row's function; NULL = none that is judged, or the function
 * waits for most of it, so that it says little about the CPU time.
 */
static const struct hp_compare_row *own_time_of(const struct hp_compare *compare,
						const struct hp_compare_row *row)
{
	if (row->measure->kind != HP_COMPARE_SAMPLED)
		return NULL;
	for (size_t i = 0; i < compare->row_count; i++) {
		const struct hp_compare_row *own = &compare->rows[i];

		if (own->measure->section && own->measure->kind == HP_COMPARE_CLOCKED &&
		    own->verdict != HP_COMPARE_UNKNOWN && is_weighty(compare, own) &&
		    fmax(own->a, own->b) < WAITS_LITTLE * fmax(row->a, row->b) &&
		    strcmp(own->name, row->name) == 0)
			return own;
	}
	return NULL;
}

static void time_judge(const struct hp_compare *compare, struct hp_compare_row *row, double most)
{
	row->chance = hp_rank_chance(row->values, compare->a.count, row->values + compare->a.count,
				     compare->b.count);
	row->unseen = unseen_of(compare, row, most);
	row->verdict = HP_COMPARE_SAME;
	if (row->chance < most && fabs(row->b - row->a) >= HP_JUDGE_MIN * row->a)
		row->verdict = direction(row);
}

/* Own times that are judged; *rows gets them, fresh. */
static size_t own_times_list(const struct hp_compare *compare, struct hp_compare_row ***rows)
{
	size_t count = 0;

	*rows = hp_xcalloc(compare->row_count + 1, sizeof(**rows));
	for (size_t i = 0; i < compare->row_count; i++) {
		struct hp_compare_row *row = &compare->rows[i];

		if (row->measure->section && row->measure->kind == HP_COMPARE_CLOCKED &&
		    is_weighty(compare, row) && row->verdict != HP_COMPARE_UNKNOWN)
			(*rows)[count++] = row;
	}
	return count;
}

/* A second, less precise test of a change that the function's own time shows. */
static void samples_judge(const struct hp_compare *compare, struct hp_compare_row *row, double most)
{
	const struct hp_compare_row *own = own_time_of(compare, row);

	time_judge(compare, row, most);
	if (!own || own->verdict != row->verdict)
		row->verdict = HP_COMPARE_SAME;
}

static bool is_judged_first(const struct hp_compare *compare, const struct hp_compare_row *row)
{
	return row->measure->section && is_weighty(compare, row) && !own_time_of(compare, row);
}

/*
 * Own times are also tested against each other, if there are enough.  That test gets two thirds of
 * the chance, since it finds more: +10 % in 96 % of comparisons where the plain one found 81 %.
 */
static void rows_judge(struct hp_compare *compare)
{
	double most = HP_JUDGE_ROWS / (double)(compare->judged ? compare->judged : 1);
	struct hp_compare_row **own;
	size_t count = own_times_list(compare, &own);

	double relative = most * 2 / 3;
	if (count >= HP_RELATIVE_MIN)
		most -= relative;
	for (size_t i = 0; i < compare->row_count; i++) {
		struct hp_compare_row *row = &compare->rows[i];

		if (row->verdict == HP_COMPARE_UNJUDGED && is_judged_first(compare, row))
			time_judge(compare, row, most);
	}
	if (count >= HP_RELATIVE_MIN)
		hp_compare_relative_judge(compare, own, count, relative, HP_JUDGE_MIN);
	for (size_t i = 0; i < compare->row_count; i++) {
		struct hp_compare_row *row = &compare->rows[i];

		if (row->verdict == HP_COMPARE_UNJUDGED && row->measure->section &&
		    is_weighty(compare, row))
			samples_judge(compare, row, most);
	}
	free(own);
}

static void times_judge(struct hp_compare *compare)
{
	for (size_t i = 0; i < compare->row_count; i++) {
		struct hp_compare_row *row = &compare->rows[i];

		if (!hp_compare_is_time(row->measure) || row->verdict == HP_COMPARE_UNKNOWN)
			continue;
		row->verdict = HP_COMPARE_UNJUDGED;
		compare->judged += !compare->refused && is_judged_first(compare, row);
	}
	if (compare->refused)
		return;
	for (size_t i = 0; i < compare->row_count; i++)
		if (compare->rows[i].verdict == HP_COMPARE_UNJUDGED &&
		    !compare->rows[i].measure->section)
			time_judge(compare, &compare->rows[i], HP_JUDGE_TOTALS);
	rows_judge(compare);
}

/* --- the whole --- */

/* Those with a change first, large changes first. */
static int compare_rows(const void *left, const void *right)
{
	const struct hp_compare_row *a = left, *b = right;
	bool is_a = hp_compare_is_change(a), is_b = hp_compare_is_change(b);
	double change_a = fabs(a->b - a->a), change_b = fabs(b->b - b->a);

	if (a->measure != b->measure)
		return a->measure < b->measure ? -1 : 1;
	if (is_a != is_b)
		return is_a ? -1 : 1;
	if (change_a != change_b && !isnan(change_a) && !isnan(change_b))
		return change_a > change_b ? -1 : 1;
	if (isnan(change_a) != isnan(change_b))
		return isnan(change_a) ? 1 : -1;
	return strcmp(a->name, b->name);
}

static void middles_find(struct hp_compare *compare)
{
	for (size_t i = 0; i < compare->row_count; i++) {
		struct hp_compare_row *row = &compare->rows[i];
		const double *of_b = row->values + compare->a.count;
		bool is_whole = is_known(row->values, compare->run_count);

		row->a = is_known(row->values, compare->a.count)
				 ? hp_rank_median_of(row->values, compare->a.count)
				 : NAN;
		row->b = is_known(of_b, compare->b.count)
				 ? hp_rank_median_of(of_b, compare->b.count)
				 : NAN;
		row->is_varying = is_whole && is_varying(compare, row);
		row->verdict = is_whole ? HP_COMPARE_SAME : HP_COMPARE_UNKNOWN;
	}
}

void hp_compare_judge(struct hp_compare *compare)
{
	hp_compare_settle(compare);
	compare->a.ready = ready_median(&compare->a);
	compare->b.ready = ready_median(&compare->b);
	compare->refused = refusal(compare);
	compare->is_weak = least_runs(compare) < HP_COMPARE_RUNS_STRONG;
	middles_find(compare);
	counts_judge(compare);
	times_judge(compare);
	if (compare->row_count)
		qsort(compare->rows, compare->row_count, sizeof(*compare->rows), compare_rows);
}
