/* SPDX-License-Identifier: MIT */
/*
 * relative.h - own times against those of the other functions of the same run.
 *
 * If the clock rate of a core changes from run to run, all functions of a run are faster or slower
 * together, by more than the difference in question.  So each run gets a factor: the median,
 * over its functions, of their time divided by their median over all runs.  A function that
 * changed stands out against it.  The factor is robust as long as fewer than half of the
 * functions changed: changes that affect all functions alike are seen by the plain test only.
 */
#ifndef HP_REPORT_COMPARE_RELATIVE_H
#define HP_REPORT_COMPARE_RELATIVE_H

#include "report/compare/compare.h"

#define HP_RELATIVE_MIN 4	/* functions; with fewer, no factor */

/*
 * Tests the `count` rows and sets chance, unseen, relative and verdict of those whose chance is
 * below `most` and smaller than that of the plain test, and which differ by `least`.  Rows that
 * were found no longer count for the factor of the others.
 */
void hp_compare_relative_judge(const struct hp_compare *compare, struct hp_compare_row **rows,
			       size_t count, double most, double least);

#endif
