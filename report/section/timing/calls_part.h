/* SPDX-License-Identifier: MIT */
/*
 * calls_part.h - private to the files of calls.h.
 */
#ifndef HP_REPORT_SECTION_TIMING_CALLS_PART_H
#define HP_REPORT_SECTION_TIMING_CALLS_PART_H

#include "report/section/timing/calls.h"

/*
 * calls_find.c: the heaviest of the functions that match `name` best; HP_NONE =
 * none. Other matches are listed.
 */
uint32_t hp_calls_find(struct hp_report *report, const char *name, hp_complain complain,
		       void *context);

/* calls_rows.c: rows of the callers or callees of the function. */
void hp_calls_function_fill(struct hp_report *report, struct hp_calls *calls);

/*
 * The heaviest `shown` of them in the order of the table: a row's children
 * follow it directly, the heaviest first.
 */
struct hp_calls_row *hp_calls_arranged(const struct hp_calls_row *rows, size_t count, size_t shown);

/* calls_tree.c: rows of all paths that have enough. */
void hp_calls_tree_fill(struct hp_report *report, struct hp_calls *calls);

#endif
