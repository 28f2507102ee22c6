/* SPDX-License-Identifier: MIT */
/*
 * site.h - call paths that allocate, for rules.
 */
#ifndef HP_REPORT_SECTION_FINDING_SITE_H
#define HP_REPORT_SECTION_FINDING_SITE_H

#include "report/section/finding/rule.h"
#include "report/section/memory/sum.h"

struct hp_alloc_row;

enum hp_site_by { HP_SITE_BLOCKS, HP_SITE_PEAK, HP_SITE_LEFT };

/* The call path with most of it; NULL = no allocations were recorded. */
struct hp_alloc_row *hp_site_most(struct hp_survey *survey, enum hp_site_by by,
				  const struct hp_alloc_sum **sum);

/* Blocks of all paths that begin in the same function. */
uint64_t hp_site_function_blocks(struct hp_survey *survey, struct hp_alloc_row *row);

/* Blocks of these that lived for at most `life_ns`, estimated from the sampled ones. */
double hp_site_function_short(struct hp_survey *survey, struct hp_alloc_row *row, double life_ns);

/* Share of a path's freed blocks that lived for at most `life_ns`; below 0 = no ages are known. */
double hp_site_short_share(struct hp_survey *survey, const struct hp_alloc_row *row,
			   double life_ns);

/* All of them, for rules that check each. */
size_t hp_site_count(struct hp_survey *survey);
struct hp_alloc_row *hp_site_at(struct hp_survey *survey, size_t place,
				const struct hp_alloc_sum **sum);

/* Unreachable blocks were searched for at the end. */
bool hp_site_knows_lost(struct hp_survey *survey);

/* A function with a name, which the user can change. */
bool hp_site_is_named(struct hp_survey *survey, struct hp_alloc_row *row);

/* "push list.c:12 ← main" with at most three callers, fresh; and as in the table of paths. */
char *hp_site_name(struct hp_survey *survey, struct hp_alloc_row *row);
char *hp_site_row(struct hp_survey *survey, struct hp_alloc_row *row);

#endif
