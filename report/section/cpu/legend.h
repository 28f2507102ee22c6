/* SPDX-License-Identifier: MIT */
/*
 * legend.h - a kept run's names of the places of samples (report/name/places.h).
 */
#ifndef HP_REPORT_SECTION_CPU_LEGEND_H
#define HP_REPORT_SECTION_CPU_LEGEND_H

#include <stdio.h>

#include "report/section/core/report.h"

/* Writes the lines of all places of the report's samples. */
void hp_cpu_legend_write(struct hp_report *report, FILE *out);

#endif
