/* SPDX-License-Identifier: MIT */
/*
 * view.h - the views: each writes a complete report to a stream.
 *
 * A view gets a stream in memory, so that the terminal or file gets one write
 * and nothing is half-printed.
 *
 * Folder: report/view - a report as table, JSON and page, and the trees of
 *   its flame graphs
 * May use: report/section report/section/finding report/section/answer
 *   report/section/thread
 *   report/section/wait report/section/memory report/section/cpu
 *   report/section/timing report/section/core report/name report/read report/base segment
 *   segment/layout util
 */
#ifndef HP_REPORT_VIEW_VIEW_H
#define HP_REPORT_VIEW_VIEW_H

#include <stdbool.h>
#include <stdio.h>

#include "report/section/core/report.h"
#include "report/section/core/section.h"

struct hp_look {
	size_t width;	/* columns */
	bool is_coloured;
};

/* The descriptor's capabilities: COLUMNS or its terminal's width, else 80. */
struct hp_look hp_look_of(int fd, const struct hp_settings *settings);

/* brief.c: the default report, or if sections were requested, the tables */
void hp_text_write(struct hp_report *report, const struct hp_look *look, FILE *out);
void hp_brief_write(struct hp_report *report, const struct hp_look *look, FILE *out);

/* table.c */
void hp_table_write(struct hp_report *report, const struct hp_look *look, FILE *out);

/* head.c: the lines above the tables */
void hp_head_write(struct hp_report *report, const struct hp_look *look, FILE *out);

/* The root's end, if known, as in ", exit status 1"; fresh, "" = none. */
char *hp_head_ending(const struct hp_report *report);

/* Missing data and caveats: these lines of those above the tables. */
void hp_head_notes_write(struct hp_report *report, const struct hp_look *look, FILE *out);

/* A fresh line for the end: the next suggested command; NULL = none. */
char *hp_text_hint(struct hp_report *report, const struct hp_look *look);

/* The same below tables. */
char *hp_head_hint(struct hp_report *report, const struct hp_look *look);

/* json.c */
void hp_json_write(struct hp_report *report, bool is_pretty, FILE *out);

/* One section as shown there, fresh; report->is_brief leaves out details of single calls. */
struct cJSON *hp_json_section(struct hp_report *report, const struct hp_section *section);

#endif
