/* SPDX-License-Identifier: MIT */
/*
 * legend.h - a kept run's names of the steps of allocations' call paths
 * (report/name/places.h).
 */
#ifndef HP_REPORT_SECTION_MEMORY_LEGEND_H
#define HP_REPORT_SECTION_MEMORY_LEGEND_H

#include <stdio.h>

#include "report/section/core/report.h"

/* Writes the lines of all steps. */
void hp_alloc_legend_write(struct hp_report *report, FILE *out);

#endif
