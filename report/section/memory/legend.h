/* SPDX-License-Identifier: MIT */
/*
 * legend.h - the names that a kept file carries for the steps of
 * allocations' call paths.
 *
 * Lines of a legend, of the form that report/section/cpu/legend.h describes, with the letters
 * K, L and S for k, l and s.  The address is the return address less 1; the
 * last function of a place is the one whose symbol it is in.
 */
#ifndef HP_REPORT_SECTION_MEMORY_LEGEND_H
#define HP_REPORT_SECTION_MEMORY_LEGEND_H

#include <stdio.h>

#include "report/section/cpu/legend.h"
#include "report/section/core/report.h"

/* Writes the lines of all steps. */
void hp_alloc_legend_write(struct hp_report *report, FILE *out);

/* Takes a line's fields, if they are one of these. */
void hp_alloc_legend_read(struct hp_cpu_legend *legend, char *const *fields);

#endif
