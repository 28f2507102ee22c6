/* SPDX-License-Identifier: MIT */
/*
 * brief_part.h - shared by the files that write the default report.
 */
#ifndef HP_REPORT_VIEW_BRIEF_PART_H
#define HP_REPORT_VIEW_BRIEF_PART_H

#include "report/base/format.h"
#include "report/view/view.h"

/* "41%", "9.2%": a share of a whole, never above 100. */
const char *hp_part_share(struct hp_text_cell *cell, double part, double whole);

/* Fresh copies of texts that are at most `width` columns wide. */

/* Cut at its end. */
char *hp_part_text_fit(const char *text, size_t width);

/*
 * Cut after one of its pieces, "a.c:3  f 41%, g 9.2%, held by h (b.c:5)", or if more fits, with a
 * shorter name in the next one.  A figure is never cut.
 */
char *hp_part_remark_fit(const char *text, size_t width);

/* Whole functions of a call path, and a shorter first one if even that is too wide. */
char *hp_part_path_fit(const char *path, size_t width);

/* The command, its duration, where its time went, its CPU and memory. */
void hp_part_head_write(struct hp_report *report, const struct hp_look *look, FILE *out);

/* Recommendations: the findings with the largest gains, or a sentence without any. */
void hp_part_findings_write(struct hp_report *report, const struct hp_look *look, FILE *out);

/* A fresh line: the next suggested command; NULL = none. */
char *hp_brief_hint(struct hp_report *report, const struct hp_look *look);

/* Accuracy of the figures, and the next suggested command. */
void hp_part_quality_write(struct hp_report *report, const struct hp_look *look, FILE *out);

/*
 * Text in lines that fit, wrapped between words.  The first one continues a line with `indent`
 * columns, and the others are indented by as many blanks.
 */
void hp_part_wrapped_write(const char *text, int indent, const struct hp_look *look, FILE *out);

#endif
