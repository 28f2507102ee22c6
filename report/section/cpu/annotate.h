/* SPDX-License-Identifier: MIT */
/*
 * annotate.h - the source lines of a function with the samples in them:
 * `hotpath report --annotate NAME`.
 *
 * A separate section, which replaces the report's.  Lines come from the
 * debug information, or from the kept run; their text from the source file, if it
 * is still there.
 */
#ifndef HP_REPORT_SECTION_CPU_ANNOTATE_H
#define HP_REPORT_SECTION_CPU_ANNOTATE_H

#include <stdbool.h>

#include "report/section/core/section.h"

struct hp_annotation_line {
	int line;
	char *text;	/* of the source; NULL = not known */
	uint64_t self_ns;	/* of samples whose innermost function is this one */
	uint64_t total_ns;	/* of samples with this line on the stack */
	uint64_t self_samples;
	uint64_t total_samples;
};

struct hp_annotation {
	char *describe;
	char *note;
	struct hp_annotation_line *lines;	/* in order */
	size_t count;
	uint64_t total_ns;	/* of the function, 100 % of the column */
};

/*
 * Makes that section the report's answer. `name` is a function's name, full or short, or a
 * part of it; the one with the most samples is chosen, and others are listed. False = none
 * exists, or its lines are not known, which is reported too.
 */
bool hp_annotation_init(struct hp_report *report, const char *name, hp_complain complain,
			void *context);

#endif
