/* SPDX-License-Identifier: MIT */
/*
 * ran.h - what ran in a long busy span, by CPU samples and by waits.
 */
#ifndef HP_REPORT_SECTION_LOOP_RAN_H
#define HP_REPORT_SECTION_LOOP_RAN_H

#include "report/section/core/report.h"
#include "report/section/loop/loop.h"

/* Names the spans that no call has named, and that have enough samples. */
void hp_loop_ran(struct hp_report *report, struct hp_loops *loops);

#endif
