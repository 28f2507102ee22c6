/* SPDX-License-Identifier: MIT */
/*
 * string_scan.c - strings are read to their end again and again.
 */
#include <stddef.h>

#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"

static void find(struct hp_survey *survey)
{
	static const struct hp_pattern pattern = {
		.rule = &hp_rule_string_scan,
		.mark = HP_SIGN_LENGTH,
		.of_cpu = 0.1,
		.of_function = 0.5,
		.confidence = HP_LIKELY,
		.advice =
			"reads strings to their end again and again: keep their length or their end.",
		.what = "in strlen, strcat and similar functions",
	};

	hp_pattern_find(survey, &pattern);
}

static const struct hp_rule_over over[] = { { "copies", true },
					    { "alloc-churn", true },
					    { NULL, false } };

const struct hp_rule hp_rule_string_scan = {
	.key = "string-scan",
	.find = find,
	.over = over,
	.pattern =
		"At least 10% of the CPU time, and half of the function's, is spent in strlen, strcat or similar functions.",
	.wrong = "Each string must be read, and is read once.",
	.verify =
		"Keep the string's length, or its end for appending, and compare both with hotpath compare.",
};
