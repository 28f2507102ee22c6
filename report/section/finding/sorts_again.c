/* SPDX-License-Identifier: MIT */
/*
 * sorts_again.c - a function sorts again and again, perhaps data that hardly changed.
 */
#include <stdlib.h>

#include "report/base/memory.h"
#include "report/section/finding/again.h"
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"

#define CPU_MIN 0.7 /* of the CPU time: what makes new data to sort takes its time, too */

/* One long sort is no waste. The comparisons that it calls are parts of it. */
static bool is_again(struct hp_survey *survey)
{
	const struct hp_owners *owners = hp_owners_of(survey->report);
	bool *is_sort = hp_xcalloc(owners->count + 1, sizeof(bool));
	uint64_t sorts;

	for (size_t i = 1; survey->stack_marks && i < owners->count; i++)
		is_sort[i] = survey->stack_marks[i] & HP_SIGN_BIT(HP_SIGN_SORT);
	sorts = hp_again_count(survey, is_sort);
	free(is_sort);
	return sorts >= HP_AGAIN_MIN;
}

/* Also what other functions seem to sort: a function that sorts last is not on the stack then. */
static double sorting_ns(const struct hp_survey *survey)
{
	double ns = 0;

	for (size_t i = 0; i < survey->cost_count; i++)
		ns += (double)survey->costs[i].marked_ns[HP_SIGN_SORT];
	return ns < survey->cpu_ns ? ns : survey->cpu_ns;
}

static void find(struct hp_survey *survey)
{
	static const struct hp_pattern pattern = {
		.rule = &hp_rule_sorts_again,
		.mark = HP_SIGN_SORT,
		.of_cpu = 0.25,
		.of_function = 0.4,
		.confidence = HP_POSSIBLE,
		.advice = "sorts again and again: if little changed since the last time, move only "
			  "what changed, or sort when the order is asked for.",
		.what = "in sorts, with the comparisons that they call",
	};

	size_t before = survey->findings->count;
	double gain = hp_survey_worth(survey, sorting_ns(survey));

	if (!hp_survey_is_part(survey, sorting_ns(survey), CPU_MIN) || !is_again(survey))
		return;
	hp_pattern_find(survey, &pattern);
	if (survey->findings->count > before && survey->findings->list[before].gain_ns < gain)
		survey->findings->list[before].gain_ns = gain;
}

const struct hp_rule hp_rule_sorts_again = {
	.key = "sorts-again",
	.find = find,
	.pattern =
		"At least 70% of the CPU time is spent in std::sort, qsort and similar functions, and in "
		"the comparisons that they call, most of it for one function that does little else; and "
		"samples show at least five sorts with other work between them.  If that is 60% of "
		"the function, the gain is all of its CPU time; at least that of all sorts.",
	.wrong = "Each sort is of other data, or most of them changed.",
	.verify = "Count the sorts, and what changed between two of them; insert or move single "
		  "elements, and compare both with hotpath compare.",
};
