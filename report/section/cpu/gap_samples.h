/* SPDX-License-Identifier: MIT */
/*
 * gap_samples.h - CPU samples in long gaps, which tell whose time these are (report/read/gap.c).
 */
#ifndef HP_REPORT_SECTION_CPU_GAP_SAMPLES_H
#define HP_REPORT_SECTION_CPU_GAP_SAMPLES_H

#include "report/section/core/report.h"

/* Estimates the times of functions again, if there are such samples. */
void hp_cpu_sample_gaps(struct hp_report *report);

#endif
