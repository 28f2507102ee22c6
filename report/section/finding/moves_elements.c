/* SPDX-License-Identifier: MIT */
/*
 * moves_elements.c - elements of a vector are moved, one removal or insertion at a time.
 */
#include <stddef.h>

#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"

static void find(struct hp_survey *survey)
{
	static const struct hp_pattern pattern = {
		.rule = &hp_rule_moves_elements,
		.mark = HP_SIGN_MOVE,
		.of_cpu = 0.1,
		.of_function = 0.1,
		.confidence = HP_LIKELY,
		.advice =
			"moves all later elements for each insertion or removal: use a deque or a "
			"list, or remove many at once.",
		.what = "in insert and erase",
	};

	hp_pattern_find(survey, &pattern);
}

static const struct hp_rule_over over[] = { { "copies", true },
					    { "alloc-churn", true },
					    { NULL, false } };

const struct hp_rule hp_rule_moves_elements = {
	.key = "moves-elements",
	.find = find,
	.over = over,
	.pattern =
		"At least 10% of the CPU time is spent in insert or erase of std::vector, std::deque "
		"or std::string, below one function.",
	.wrong = "The elements must stay in order in contiguous memory for another reason.",
	.verify =
		"Use a std::deque as a queue, or std::remove_if and one erase, and compare both with "
		"hotpath compare.",
};
