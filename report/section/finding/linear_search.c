/* SPDX-License-Identifier: MIT */
/*
 * linear_search.c - a container is searched element by element.
 */
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"

static void find(struct hp_survey *survey)
{
	static const struct hp_pattern pattern = {
		.rule = &hp_rule_linear_search,
		.mark = HP_SIGN_FIND,
		.of_cpu = 0.1,
		.of_function = 0.1,
		.is_function_wasted = false,
		.confidence = HP_LIKELY,
		.advice =
			"searches a container element by element: use a hash map, or keep it sorted.",
		.what = "in std::find and its like",
	};

	hp_pattern_find(survey, &pattern);
}

const struct hp_rule hp_rule_linear_search = {
	.key = "linear-search",
	.find = find,
	.pattern =
		"At least 10% of the CPU time is spent in std::find, std::find_if, std::count, lfind "
		"or their conditions, below one function.",
	.wrong = "The container is always short, so a hash map would be no faster; or the search "
		 "condition cannot be expressed by a key.",
	.verify = "Replace the container by one with a key, and compare both with hotpath compare.",
};
