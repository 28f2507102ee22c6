/* SPDX-License-Identifier: MIT */
/*
 * copies_values.c - objects of the program's own class are copied again and again, as in a loop
 * that takes each element by value, or in a call that passes one.
 *
 * The copies are made and destroyed in the class's constructor and destructor, which the compiler
 * writes: the function to change is their caller.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"

#define CPU_MIN 0.25 /* of the CPU time, to make and to destroy the objects */
#define COPIED_MIN 0.2 /* of that: copying strings or containers inside */
#define GROWN_MIN 0.5 /* of the copying: into a vector's larger room */

/* "Zone" of "Zone::Zone"; fresh. */
static char *class_of(struct hp_survey *survey, uint32_t constructor)
{
	char *name = hp_answer_function(survey->report, constructor);

	for (char *at = name + strlen(name); at > name + 1; at--)
		if (at[-1] == ':' && at[-2] == ':') {
			at[-2] = 0;
			break;
		}
	return name;
}

static char *advice_of(const struct hp_cost *cost, const char *where, const char *class)
{
	if ((double)cost->marked_ns[HP_SIGN_GROW] >=
	    GROWN_MIN * (double)cost->marked_ns[HP_SIGN_COPIED])
		return hp_xprintf("%s copies every %s again when its vector grows: reserve the "
				  "vector's room, or declare a move constructor of %s noexcept.",
				  where, class, class);
	return hp_xprintf("%s copies a %s again and again: use a reference, such as const %s &, or "
			  "move it.",
			  where, class, class);
}

static void cost_add(struct hp_survey *survey, const struct hp_cost *cost, double ns)
{
	struct hp_finding *finding =
		hp_finding_add_function(survey, &hp_rule_copies_values, cost->function);
	char *where = hp_finding_where(finding), *class = class_of(survey, cost->value);
	struct hp_text_cell time, share;

	finding->advice = advice_of(cost, where, class);
	finding->facts = hp_xprintf("%s of CPU time (%s) making and destroying the copies",
				    hp_format_time(&time, ns), hp_survey_share(survey, ns, &share));
	finding->gain_ns = hp_survey_worth_hooked(survey, ns, (double)cost->value_hooks_ns);
	finding->confidence = HP_LIKELY;
	hp_finding_evidence(finding, &hp_cpu_section, hp_survey_row(survey, cost->value),
			    hp_xstrdup(finding->facts));
	free(class);
	free(where);
}

static void find(struct hp_survey *survey)
{
	const struct hp_cost *cost = hp_cost_most(survey, HP_SIGN_VALUE);
	double ns;

	if (!cost)
		return;
	ns = (double)cost->marked_ns[HP_SIGN_VALUE];
	if (hp_survey_is_part(survey, ns, CPU_MIN) &&
	    hp_survey_is_worth(survey, hp_survey_worth(survey, ns)) &&
	    (double)cost->marked_ns[HP_SIGN_COPIED] >= COPIED_MIN * ns)
		cost_add(survey, cost, ns);
}

static const struct hp_rule_over over[] = {
	{ "alloc-churn", false }, { "copies", false }, { "page-faults", true }, { NULL, false }
};

const struct hp_rule hp_rule_copies_values = {
	.key = "copies-values",
	.find = find,
	.over = over,
	.pattern =
		"At least 25% of the CPU time is spent in constructors and destructors of the "
		"program's classes that one function calls, and 20% of that in copying strings or "
		"containers inside them.  If half of that happens while a vector grows, the advice "
		"is for the vector.  The gain is the time of both, with allocating and freeing.",
	.wrong = "The function changes its copies, or needs them after the originals are gone.",
	.verify = "Take the elements by reference, and compare both with hotpath compare, which "
		  "counts blocks exactly.",
};
