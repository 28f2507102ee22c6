/* SPDX-License-Identifier: MIT */
/*
 * exceptions.c - C++ exceptions are thrown again and again.
 *
 * Each throw walks the stack twice and searches the tables of every function on it.  The functions
 * between the one that throws and the one that catches own a part of the time, so all are summed.
 */
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/again.h"
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"

#define CPU_MIN 0.1 /* of the CPU time, in all functions */
#define WHOLE_MIN 0.6 /* of a function: it does little else */

/* CPU time of exceptions, and with the rest of functions that do little else. */
static double thrown_ns(const struct hp_survey *survey, double *removed_ns)
{
	double ns = 0;

	*removed_ns = 0;
	for (size_t i = 0; i < survey->cost_count; i++) {
		const struct hp_cost *cost = &survey->costs[i];
		double marked = (double)cost->marked_ns[HP_SIGN_THROW];

		ns += marked;
		*removed_ns += marked >= WHOLE_MIN * (double)cost->ns ? (double)cost->ns : marked;
	}
	return ns;
}

static void find(struct hp_survey *survey)
{
	const struct hp_cost *most = hp_cost_most(survey, HP_SIGN_THROW);
	double removed, ns = most ? thrown_ns(survey, &removed) : 0, gain;
	struct hp_finding *finding;
	struct hp_text_cell time, share;
	char *where;

	if (!most || !hp_survey_is_part(survey, ns, CPU_MIN))
		return;
	gain = hp_survey_worth(survey, removed);
	if (!hp_survey_is_worth(survey, gain) ||
	    hp_again_marked(survey, most->function, HP_SIGN_BIT(HP_SIGN_THROW)) < HP_AGAIN_MIN)
		return;
	finding = hp_finding_add_function(survey, &hp_rule_exceptions, most->function);
	where = hp_finding_where(finding);
	finding->advice = hp_xprintf("%s throws exceptions again and again: return a value for "
				     "what happens often.",
				     where);
	finding->facts = hp_xprintf("%s of CPU time (%s) to throw and catch them",
				    hp_format_time(&time, ns), hp_survey_share(survey, ns, &share));
	finding->gain_ns = gain;
	finding->confidence = HP_LIKELY;
	hp_finding_evidence(
		finding, &hp_cpu_section, hp_survey_row(survey, most->function),
		hp_xprintf("%s of CPU time in __cxa_throw and similar functions",
			   hp_format_time(&time, (double)most->marked_ns[HP_SIGN_THROW])));
	free(where);
}

/* An exception is a block of its own. */
static const struct hp_rule_over over[] = { { "alloc-churn", true }, { NULL, false } };

const struct hp_rule hp_rule_exceptions = {
	.key = "exceptions",
	.find = find,
	.over = over,
	.pattern =
		"At least 10% of the CPU time is spent in throwing and catching C++ exceptions "
		"(__cxa_throw, _Unwind_RaiseException, _Unwind_Resume and similar functions), in at "
		"least 5 separate pieces.  The gain is that time, and all of a function's time if that "
		"is 60% of it.",
	.wrong = "The errors are rare in real use, and only this run has so many.",
	.verify =
		"Return an error code, std::optional or a similar value instead (std::from_chars "
		"instead of std::stoi, find instead of at), and compare both with hotpath compare.",
};
