/* SPDX-License-Identifier: MIT */
/*
 * rank.c - see rank.h.
 *
 * Ranks are doubled, so that shared ones are whole numbers.  The number of choices
 * of a_count ranks for each sum is computed rank by rank, like the coin change
 * problem.
 */
#include "report/compare/rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"

struct value {
	double value;
	unsigned rank;	/* twice it */
	int is_a;
};

static int compare_values(const void *left, const void *right)
{
	const struct value *a = left, *b = right;

	return a->value < b->value ? -1 : a->value > b->value;
}

/* All values in order with their ranks, fresh; *ties gets the sum of t^3 - t. */
static struct value *ranks_of(const double *a, size_t a_count, const double *b, size_t b_count,
			      double *ties)
{
	size_t count = a_count + b_count;
	struct value *all = hp_xcalloc(count, sizeof(*all));

	for (size_t i = 0; i < count; i++)
		all[i] = (struct value){ .value = i < a_count ? a[i] : b[i - a_count],
					 .is_a = i < a_count };
	qsort(all, count, sizeof(*all), compare_values);
	*ties = 0;
	for (size_t i = 0, end; i < count; i = end) {
		double size;

		for (end = i + 1; end < count && !(all[i].value < all[end].value);)
			end++;
		for (size_t k = i; k < end; k++)
			all[k].rank = (unsigned)(i + end + 1);
		size = (double)(end - i);
		*ties += size * size * size - size;
	}
	return all;
}

/* How many choices of `chosen` of the ranks have each sum: [0 .. most], fresh. */
static double *sums_count(const struct value *all, size_t count, size_t chosen, size_t most)
{
	double *ways = hp_xcalloc((chosen + 1) * (most + 1), sizeof(*ways));
	double *last = hp_xcalloc(most + 1, sizeof(*last));

	ways[0] = 1;
	for (size_t i = 0; i < count; i++)
		for (size_t k = i + 1 < chosen ? i + 1 : chosen; k > 0; k--)
			for (size_t sum = all[i].rank; sum <= most; sum++)
				ways[k * (most + 1) + sum] +=
					ways[(k - 1) * (most + 1) + sum - all[i].rank];
	memcpy(last, &ways[chosen * (most + 1)], (most + 1) * sizeof(*last));
	free(ways);
	return last;
}

static double chance_exact(const struct value *all, size_t a_count, size_t b_count)
{
	size_t count = a_count + b_count, own = 0, most = 0;
	double below = 0, above = 0, whole = 0;
	double *ways;

	for (size_t i = 0; i < count; i++) {
		own += all[i].is_a ? all[i].rank : 0;
		most += i >= b_count ? all[i].rank : 0;
	}
	ways = sums_count(all, count, a_count, most);
	for (size_t sum = 0; sum <= most; sum++) {
		whole += ways[sum];
		below += sum <= own ? ways[sum] : 0;
		above += sum >= own ? ways[sum] : 0;
	}
	free(ways);
	return fmin(1, 2 * fmin(below, above) / whole);
}

static double chance_normal(const struct value *all, double a, double b, double ties)
{
	double count = a + b, sum = 0, variance;

	for (size_t i = 0; (double)i < count; i++)
		sum += all[i].is_a ? all[i].rank / 2.0 : 0;
	variance = a * b / 12 * (count + 1 - ties / (count * (count - 1)));
	if (!(variance > 0))
		return 1;
	/* Half a step towards the middle, since sums are whole numbers. */
	return erfc(fmax(0, fabs(sum - a * (count + 1) / 2) - 0.5) / sqrt(2 * variance));
}

double hp_rank_chance(const double *a, size_t a_count, const double *b, size_t b_count)
{
	struct value *all;
	double ties, chance;

	if (!a_count || !b_count)
		return 1;
	all = ranks_of(a, a_count, b, b_count, &ties);
	chance = a_count + b_count <= HP_RANK_MAX
			 ? chance_exact(all, a_count, b_count)
			 : chance_normal(all, (double)a_count, (double)b_count, ties);
	free(all);
	return chance;
}

double hp_rank_least(size_t a_count, size_t b_count)
{
	double choices = 1;

	for (size_t i = 1; i <= a_count; i++)
		choices = choices * (double)(b_count + i) / (double)i;
	return fmin(1, 2 / choices);
}

static int compare_numbers(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

double hp_rank_median(double *values, size_t count)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), compare_numbers);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

double hp_rank_median_of(const double *values, size_t count)
{
	double *copy = hp_xcalloc(count + 1, sizeof(*copy)), median;

	memcpy(copy, values, count * sizeof(*copy));
	median = hp_rank_median(copy, count);
	free(copy);
	return median;
}
