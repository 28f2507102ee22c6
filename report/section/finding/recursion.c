/* SPDX-License-Identifier: MIT */
/*
 * recursion.c - a function that calls itself very often, and may do the same work again.
 */
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/cpu/cpu.h"
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"

#define CALLS_MIN 1000000
#define SELF_MIN 0.15 /* of the wall time */
#define DEPTH_MIN 8

static const struct hp_model_function *counted(const struct hp_survey *survey,
					       const struct hp_cost *cost)
{
	uint32_t at = hp_report_cpu(survey->report)->functions[cost->function].instrumented;

	return at == HP_NONE ? NULL : &survey->report->model.functions[at];
}

static void find(struct hp_survey *survey)
{
	for (size_t i = 0; i < survey->cost_count; i++) {
		const struct hp_cost *cost = &survey->costs[i];
		const struct hp_model_function *f = counted(survey, cost);
		double gain = hp_survey_worth(survey, (double)cost->ns);
		struct hp_finding *finding;
		struct hp_text_cell calls;
		char *where;

		if (!f || !f->is_recursive || f->calls < CALLS_MIN || cost->depth < DEPTH_MIN ||
		    !hp_survey_has_samples(survey) ||
		    (double)cost->ns < SELF_MIN * survey->wall_ns ||
		    !hp_survey_is_worth(survey, gain))
			continue;
		finding = hp_finding_add_function(survey, &hp_rule_recursion, cost->function);
		where = hp_finding_where(finding);
		finding->advice = hp_xprintf("%s calls itself very often: if it is asked the same "
					     "again, remember the answers.",
					     where);
		finding->facts = hp_xprintf("%s calls, half of the samples at least %u deep",
					    hp_format_count(&calls, f->calls), cost->depth);
		finding->gain_ns = gain;
		finding->confidence = HP_POSSIBLE;
		hp_finding_evidence(finding, &hp_functions_section,
				    hp_xstrdup(hp_report_name(survey->report, f)),
				    hp_xstrdup(finding->facts));
		free(where);
	}
}

const struct hp_rule hp_rule_recursion = {
	.key = "recursion",
	.find = find,
	.pattern = "A function that calls itself has at least a million calls (counted, so only "
		   "where the program is compiled for it), takes CPU time of at least 15% of the "
		   "wall time, and is at least 8 times on the stack in half of its samples.",
	.wrong = "Each call has other arguments: a walk through a tree looks the same.",
	.verify = "Count how many different arguments there are.",
};
