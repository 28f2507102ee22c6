/* SPDX-License-Identifier: MIT */
/*
 * again.h - was it one long piece of work, or many?
 *
 * A sample shows only what a thread does at one time. But if two samples of a thread are in such
 * work, and one between them is not, these were two pieces of it.
 */
#ifndef HP_REPORT_SECTION_FINDING_AGAIN_H
#define HP_REPORT_SECTION_FINDING_AGAIN_H

#include "report/section/finding/rule.h"

#define HP_AGAIN_MIN 5	/* pieces, for work that is done again and again */

/* Pieces of work whose stacks have `is_it`, at least; 0 = the samples' times are not known. */
uint64_t hp_again_count(struct hp_survey *survey, const bool *is_it);

/* The same of an owner's stacks with any of the kernel's or libraries' `marks` below it. */
uint64_t hp_again_marked(struct hp_survey *survey, uint32_t function, uint32_t marks);

#endif
