/* SPDX-License-Identifier: MIT */
/*
 * export.h - the samples of a run in the formats of other tools.
 */
#ifndef HP_REPORT_EXPORT_H
#define HP_REPORT_EXPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "report/cpu.h"

/* Writes to the descriptor.  Returns 0 or -errno. */
typedef int (*hp_export_writer)(struct hp_report *report, int fd);

/* NULL = there is no format of this name. */
hp_export_writer hp_export_find(const char *format);

/* Names of the formats, with | between them. */
extern const char hp_export_formats[];

int hp_export_folded(struct hp_report *report, int fd);	/* export_folded.c */
int hp_export_pprof(struct hp_report *report, int fd);	/* export_pprof.c */
int hp_export_firefox(struct hp_report *report, int fd);	/* export_firefox.c */

#endif
