/* SPDX-License-Identifier: MIT */
/*
 * function.h - what functions took, and the heaviest chain of their
 * calls: what report/section/sections.c's table names.
 */
#ifndef HP_REPORT_SECTION_TIMING_FUNCTION_H
#define HP_REPORT_SECTION_TIMING_FUNCTION_H

#include "report/section/core/section.h"

/* A row of the calltree section. */
struct hp_path_row {
	const struct hp_model_node *node;
	unsigned depth;
};

#define HP_NO_FUNCTIONS \
	"no instrumented function was called; compile with what `hotpath flags cc` prints"

/* Functions by time; a row is a struct hp_model_function. */
extern const struct hp_column hp_function_columns[];
const char *hp_functions_describe(const struct hp_report *report);
void hp_functions_fill(struct hp_report *report, struct hp_list *list);
const char *hp_functions_empty(struct hp_report *report);

/* The heaviest chain of calls, outermost first (path.c); a row is a struct hp_path_row. */
extern const struct hp_column hp_path_columns[];
const char *hp_path_describe(const struct hp_report *report);
void hp_path_fill(struct hp_report *report, struct hp_list *list);
bool hp_path_has_data(const struct hp_report *report);

/* The cell that names a function. */
void hp_function_name_set(struct hp_report *report, const struct hp_model_function *f,
			  struct hp_value *value);

#endif
