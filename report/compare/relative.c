/* SPDX-License-Identifier: MIT */
/*
 * relative.c - see relative.h.
 */
#include "report/compare/relative.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/compare/rank.h"

struct test {
	double chance;
	double change;	/* of the medians, a part of A's */
	double *values;	/* of all runs, by their factor */
};

struct relative {
	const struct hp_compare *compare;
	struct hp_compare_row **rows;
	double *middles;	/* parallel to the rows: their medians over all runs */
	bool *is_found;	/* beside the rows */
	size_t count;
};

/* For one run, from all rows except one; 0 = there are too few. */
static double factor_of(const struct relative *all, size_t run, size_t but)
{
	double *parts = hp_xcalloc(all->count + 1, sizeof(*parts)), factor = 0;
	size_t count = 0;

	for (size_t i = 0; i < all->count; i++)
		if (i != but && !all->is_found[i] && all->middles[i] > 0)
			parts[count++] = all->rows[i]->values[run] / all->middles[i];
	if (count + 1 >= HP_RELATIVE_MIN || (count >= 2 && all->count >= HP_RELATIVE_MIN))
		factor = hp_rank_median(parts, count);
	free(parts);
	return factor;
}

/* A chance of 1 without a factor. */
static void row_test(const struct relative *all, size_t row, struct test *test)
{
	size_t a = all->compare->a.count, b = all->compare->b.count;
	double before;

	test->chance = 1;
	test->change = 0;
	for (size_t run = 0; run < a + b; run++) {
		double factor = factor_of(all, run, row);

		if (!(factor > 0))
			return;
		test->values[run] = all->rows[row]->values[run] / factor;
	}
	before = hp_rank_median_of(test->values, a);
	if (!(before > 0))
		return;
	test->change = hp_rank_median_of(test->values + a, b) / before - 1;
	test->chance = hp_rank_chance(test->values, a, test->values + a, b);
}

/* The row with the smallest chance among those not found yet; its test remains in `best`. */
static size_t best_find(const struct relative *all, struct test *best, struct test *spare,
			double least)
{
	size_t place = all->count;

	best->chance = 1;
	for (size_t i = 0; i < all->count; i++) {
		if (all->is_found[i])
			continue;
		row_test(all, i, spare);
		if (fabs(spare->change) >= least &&
		    (spare->chance < best->chance ||
		     (spare->chance == best->chance && fabs(spare->change) > fabs(best->change)))) {
			struct test swap = *best;

			*best = *spare;
			*spare = swap;
			place = i;
		}
	}
	return place;
}

static void found_mark(struct hp_compare_row *row, const struct test *test)
{
	if (hp_compare_is_change(row) && row->chance <= test->chance)
		return;
	row->chance = test->chance;
	row->relative = test->change;
	row->verdict = test->change > 0 ? HP_COMPARE_MORE : HP_COMPARE_LESS;
}

void hp_compare_relative_judge(const struct hp_compare *compare, struct hp_compare_row **rows,
			       size_t count, double most, double least)
{
	struct relative all = { .compare = compare, .rows = rows, .count = count };
	struct test best = { .values = hp_xcalloc(compare->run_count + 1, sizeof(double)) };
	struct test spare = { .values = hp_xcalloc(compare->run_count + 1, sizeof(double)) };

	all.middles = hp_xcalloc(count + 1, sizeof(*all.middles));
	all.is_found = hp_xcalloc(count + 1, sizeof(*all.is_found));
	for (size_t i = 0; i < count; i++)
		all.middles[i] = hp_rank_median_of(rows[i]->values, compare->run_count);
	for (size_t found = 0; found < count / 2; found++) {
		size_t place = best_find(&all, &best, &spare, least);

		if (place == count || best.chance >= most)
			break;
		all.is_found[place] = true;
		found_mark(rows[place], &best);
	}
	free(all.middles);
	free(all.is_found);
	free(best.values);
	free(spare.values);
}
