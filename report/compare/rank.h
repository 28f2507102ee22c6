/* SPDX-License-Identifier: MIT */
/*
 * rank.h - the exact rank-sum test of Mann and Whitney, two-sided.
 *
 * It asks whether the values of one sample tend to be larger than those of
 * another, and assumes nothing about how they are distributed.  Times of runs
 * have a long tail on one side, so tests on means do not hold their error rate
 * with ten runs; this one does.
 */
#ifndef HP_REPORT_COMPARE_RANK_H
#define HP_REPORT_COMPARE_RANK_H

#include <stddef.h>

#define HP_RANK_MAX 64	/* values of both sides for which chances are exact */

/*
 * The chance that two samples of the same distribution differ at least as much,
 * 0 to 1.  Ties share their ranks, and the chance is that of these very ranks.
 * Beyond HP_RANK_MAX values it is approximated by a normal distribution.  1 if
 * a side is empty.
 */
double hp_rank_chance(const double *a, size_t a_count, const double *b, size_t b_count);

/* The smallest possible chance for samples of these sizes: that of no overlap. */
double hp_rank_least(size_t a_count, size_t b_count);

/* The median of the values, which are reordered; 0 if there are none. */
double hp_rank_median(double *values, size_t count);

/* The same, and the values keep their order. */
double hp_rank_median_of(const double *values, size_t count);

#endif
