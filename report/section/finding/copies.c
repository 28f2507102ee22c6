/* SPDX-License-Identifier: MIT */
/*
 * copies.c - most of a function's work is copying.
 */
#include <stddef.h>
#include <string.h>

#include "report/section/finding/owned.h"
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"

#define JOIN_MIN 0.6 /* of the function: text = text + more */
#define REST_MIN 0.6 /* of the function: text = text.substr(at) */

static bool is_rest(const struct hp_owned_call *call)
{
	const char *end = strstr(call->callee, "::substr");

	return end && !end[strlen("::substr")];
}

static void find(struct hp_survey *survey)
{
	struct hp_owned rest = hp_owned_most(survey, is_rest);
	const struct hp_cost *most = hp_cost_most(survey, HP_SIGN_COPY);
	struct hp_pattern pattern = {
		.rule = &hp_rule_copies,
		.mark = HP_SIGN_COPY,
		.of_cpu = 0.3,
		.of_function = 0.4,
		.confidence = HP_LIKELY,
		.advice =
			"spends its time copying memory: pass references, or move instead of copying.",
		.what = "in memcpy and memmove",
	};

	if (most && (double)most->marked_ns[HP_SIGN_JOIN] >= JOIN_MIN * (double)most->ns)
		pattern.advice =
			"copies both strings for each + of strings: append with += instead.";
	/* A line cut off the front copies all the text after it. */
	if (most && rest.function == most->function &&
	    (double)rest.ns >= REST_MIN * (double)most->ns)
		pattern.advice =
			"copies a large part of a string with each substr: keep a position in the "
			"string, or a std::string_view.";
	hp_pattern_find(survey, &pattern);
}

/* Copying into a fresh block also allocates it. */
static const struct hp_rule_over over[] = { { "alloc-churn", true },
					    { "page-faults", true },
					    { NULL, false } };

const struct hp_rule hp_rule_copies = {
	.key = "copies",
	.find = find,
	.over = over,
	.pattern =
		"At least 30% of the CPU time, and 40% of the function's, is spent in memcpy or memmove.",
	.wrong = "The copy is the purpose of the function, and each byte is copied once.",
	.verify =
		"Find its callers with hotpath report --callers, avoid the copy, and compare both with "
		"hotpath compare.",
};
