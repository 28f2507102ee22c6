/* SPDX-License-Identifier: MIT */
/*
 * clears.c - memory is cleared again and again, mostly a large buffer for a small item.
 */
#include <stddef.h>

#include "report/section/finding/again.h"
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"

static void find(struct hp_survey *survey)
{
	static const struct hp_pattern pattern = {
		.rule = &hp_rule_clears,
		.mark = HP_SIGN_CLEAR,
		.of_cpu = 0.3,
		.of_function = 0.4,
		.confidence = HP_LIKELY,
		.advice = "clears memory again and again: clear only what was used, or use it "
			  "without clearing.",
		.what = "in memset and calloc, without first touches of pages",
	};
	const struct hp_cost *most = hp_cost_most(survey, HP_SIGN_CLEAR);

	if (most &&
	    hp_again_marked(survey, most->function, HP_SIGN_BIT(HP_SIGN_CLEAR)) >= HP_AGAIN_MIN)
		hp_pattern_find(survey, &pattern);
}

static const struct hp_rule_over over[] = { { "alloc-churn", true }, { NULL, false } };

const struct hp_rule hp_rule_clears = {
	.key = "clears",
	.find = find,
	.over = over,
	.pattern =
		"At least 30% of the CPU time, and 40% of the function's, is spent in memset or calloc "
		"on memory that was touched before, in at least 5 separate pieces.  If that is 60% of "
		"the function, the gain is all of its CPU time.",
	.wrong = "All of the memory must be zero each time, for instance because all of it is "
		 "then read.",
	.verify = "Compare the size of the buffer to what each item uses of it.  Clear that part "
		  "only, or keep the buffer, and compare both with hotpath compare.",
};
