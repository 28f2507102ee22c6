/* SPDX-License-Identifier: MIT */
/*
 * formats_text.c - most of a function's work is formatting text that it does not write itself.
 */
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"

#define WRITTEN_MAX 0.005 /* of the function: it writes the text, so formatting is its task */

static void find(struct hp_survey *survey)
{
	static const struct hp_pattern pattern = {
		.rule = &hp_rule_formats_text,
		.mark = HP_SIGN_FORMAT,
		/* Below that, as a rule, the texts are used. */
		.of_cpu = 0.7,
		.of_function = 0.5,
		.confidence = HP_POSSIBLE,
		.advice =
			"formats text again and again: do it only where the text is used, as when "
			"a log level asks for it; or keep the stream or the buffer.",
		.what = "in string streams, snprintf and similar functions",
	};
	const struct hp_cost *most = hp_cost_most(survey, HP_SIGN_FORMAT);

	if (most && (double)most->marked_ns[HP_SIGN_WRITE] <= WRITTEN_MAX * (double)most->ns)
		hp_pattern_find(survey, &pattern);
}

const struct hp_rule hp_rule_formats_text = {
	.key = "formats-text",
	.find = find,
	.pattern =
		"At least 70% of the CPU time is spent in string streams, snprintf, std::to_string "
		"and similar functions below one function, which does little else, and does not write "
		"to a file itself.  If that is 60% of the function, the gain is all of its CPU time.",
	.wrong = "Each text is used.",
	.verify =
		"See what its callers do with the text.  Leave out what nobody reads, and compare "
		"both with hotpath compare.",
};
