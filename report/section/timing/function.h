/* SPDX-License-Identifier: MIT */
/*
 * function.h - shared by the sections of functions by time.
 *
 * Folder: report/section/timing - calls of instrumented functions: by
 *   function, the hot path, callers and callees
 * May use: report/section/core report/name report/read report/base
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

const char *hp_functions_empty(struct hp_report *report);

/* The orders that this table has besides its columns, up to NULL; whether a word is one of them. */
extern const char *const hp_functions_sorts[];
bool hp_functions_sorts_by(const char *word);

/* The function with the largest own time; NULL = none was called. */
const struct hp_model_function *hp_functions_busiest(struct hp_report *report);

/* JSON: the first members of lists of functions, and those after their description. */
struct cJSON;
#define HP_FUNCTIONS_KEYS \
	"profiling_mode:s time_elapsed:s total_elapsed_ns:i caller_name:s percentiles:[n]"
void hp_functions_add_head(struct hp_report *report, struct cJSON *list);
void hp_functions_add_middle(struct hp_report *report, struct cJSON *list);

/* The cell that names a function. */
void hp_function_name_set(struct hp_report *report, const struct hp_model_function *f,
			  struct hp_value *value);

#endif
