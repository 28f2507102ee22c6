/* SPDX-License-Identifier: MIT */
/*
 * pattern.h - shared parts of rules that search for one kind of work below one
 * function.
 */
#ifndef HP_REPORT_SECTION_FINDING_PATTERN_H
#define HP_REPORT_SECTION_FINDING_PATTERN_H

#include "report/section/finding/rule.h"

struct hp_pattern {
	const struct hp_rule *rule;
	enum hp_sign mark;
	double of_cpu; /* share of the CPU time that has the mark, at least */
	double of_function; /* and of the function's */
	enum hp_confidence confidence;
	const char *advice; /* after the function */
	const char *what; /* "searching": after the share of the CPU time */
};

/* Reports the function that spends most on it, if that is enough. */
void hp_pattern_find(struct hp_survey *survey, const struct hp_pattern *pattern);

/* The function that spends most on it; NULL = too few samples for a verdict, or it has no name. */
const struct hp_cost *hp_cost_most(const struct hp_survey *survey, enum hp_sign mark);

/* Code that the user can change: a function with a name. */
bool hp_cost_is_named(const struct hp_survey *survey, const struct hp_cost *cost);

/* True if the name contains one of the words as a whole word, such as "push" in Belt::pushBack. NULL ends the list. */
bool hp_name_has_word(const char *name, const char *const *words);

/* The same for the function's name. */
bool hp_cost_has_word(struct hp_survey *survey, const struct hp_cost *cost,
		      const char *const *words);

#endif
