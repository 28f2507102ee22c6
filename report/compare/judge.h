/* SPDX-License-Identifier: MIT */
/*
 * judge.h - decides the differences to report: the rule of `hotpath compare`.
 *
 * Counts that are the same in all runs of each side: any difference is reported, even
 * with one run per side. With one run per side of a program with several threads it is
 * unknown whether the count varies, so a small difference is unsure.  Counts that vary are
 * reported if the ranges of both sides do not overlap, and if that is beyond chance: as a
 * rank sum, for as many varying counts as there are, or because the gap is several times
 * the larger range.
 *
 * Times, with HP_COMPARE_RUNS_MIN runs a side: refused if threads waited for a core, or if
 * the runs did not alternate. Otherwise a rank-sum test; its chance must be below
 * HP_JUDGE_ROWS divided by the number of rows that are judged, or below HP_JUDGE_TOTALS for
 * wall and CPU, and the medians have to differ by HP_JUDGE_MIN.  Own times are tested against
 * each other as well (relative.h). The samples of a function whose own time is judged are only a second
 * test: they show a change if the own time does, and do not count as a row.  Only rows with at least HP_JUDGE_SHARE of the CPU
 * time are judged, sampled ones if they have HP_JUDGE_SAMPLED_NS.
 */
#ifndef HP_REPORT_COMPARE_JUDGE_H
#define HP_REPORT_COMPARE_JUDGE_H

#include "report/compare/compare.h"

#define HP_JUDGE_ROWS 0.03
#define HP_JUDGE_TOTALS 0.0125
#define HP_JUDGE_MIN 0.02
#define HP_JUDGE_SHARE 0.01
#define HP_JUDGE_SAMPLED_NS 20e6
#define HP_JUDGE_READY 0.10	/* of the time that threads wanted a core, without one */
#define HP_JUDGE_READY_APART 0.05	/* between the sides */

/* When all runs are added: sets verdicts, medians, chances and refusals, and puts rows in order. */
void hp_compare_judge(struct hp_compare *compare);

#endif
