/* SPDX-License-Identifier: MIT */
/*
 * export.h - the samples of a run in the formats of other tools.
 *
 * Folder: report/export - a report in the formats of other programs: pprof,
 *   Firefox Profiler, folded stacks, a flame graph
 * May use: report/view report/section/loop report/section/wait report/section/memory
 *   report/section/cpu report/section/core report/name report/read
 *   report/base segment segment/layout util
 */
#ifndef HP_REPORT_EXPORT_EXPORT_H
#define HP_REPORT_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "report/section/cpu/cpu.h"

struct hp_export {
	const char *name;
	int (*write)(struct hp_report *report, int fd);	/* 0 or -errno */
	/* Why there is nothing to write; NULL = there is something. */
	const char *(*missing)(struct hp_report *report);
};

/* NULL = unknown format. */
const struct hp_export *hp_export_find(const char *format);

/* Names of the formats, separated by |. */
extern const char hp_export_formats[];

int hp_export_folded(struct hp_report *report, int fd);	/* folded.c */
int hp_export_pprof(struct hp_report *report, int fd);	/* pprof_cpu.c */
int hp_export_firefox(struct hp_report *report, int fd);	/* firefox.c */
int hp_export_pprof_mutex(struct hp_report *report, int fd);	/* pprof_mutex.c */
int hp_export_flamegraph(struct hp_report *report, int fd);	/* flamegraph.c */

/* alloc.c: collapsed stacks of allocations by path, and a heap profile. */
int hp_export_folded_bytes(struct hp_report *report, int fd);
int hp_export_folded_count(struct hp_report *report, int fd);	/* blocks */
int hp_export_folded_live(struct hp_report *report, int fd);	/* bytes held at the end */
int hp_export_folded_peak(struct hp_report *report, int fd);	/* bytes held at the peak */
int hp_export_folded_temporary(struct hp_report *report, int fd);	/* blocks */
int hp_export_pprof_heap(struct hp_report *report, int fd);	/* default: held bytes */
int hp_export_pprof_allocs(struct hp_report *report,
			   int fd);	/* the same, default: allocated bytes */

#endif
