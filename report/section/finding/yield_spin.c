/* SPDX-License-Identifier: MIT */
/*
 * yield_spin.c - a thread repeatedly polls whether it may continue.
 */
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"

#define CPU_MIN 0.08

static void find(struct hp_survey *survey)
{
	const struct hp_cost *most = hp_cost_most(survey, HP_SIGN_YIELD);
	struct hp_finding *finding;
	struct hp_text_cell time, share;
	double ns, gain;
	char *where;

	if (!most)
		return;
	ns = (double)most->marked_ns[HP_SIGN_YIELD];
	if (!hp_survey_is_part(survey, ns, CPU_MIN))
		return;
	/* With a spare core, a spinning thread delays nobody. */
	gain = survey->is_full && !survey->is_serial ? hp_survey_worth(survey, ns) : 0;
	finding = hp_finding_add_function(survey, &hp_rule_yield_spin, most->function);
	where = hp_finding_where(finding);
	finding->advice = hp_xprintf("%s calls sched_yield until something happens: wait for a "
				     "condition or a semaphore.",
				     where);
	finding->facts = hp_xprintf("%s of CPU time (%s) below sched_yield",
				    hp_format_time(&time, ns), hp_survey_share(survey, ns, &share));
	finding->gain_ns = hp_survey_is_worth(survey, gain) ? gain : 0;
	finding->confidence = HP_MEASURED;
	hp_finding_evidence(finding, &hp_cpu_section, hp_survey_row(survey, most->function),
			    hp_xstrdup(finding->facts));
	free(where);
}

const struct hp_rule hp_rule_yield_spin = {
	.key = "yield-spin",
	.find = find,
	.pattern =
		"At least 8% of the CPU time is spent below sched_yield.  A gain in wall time is given "
		"only where all cores are in use; otherwise it is a fact.",
	.wrong = "The waits are shorter than sleeping and waking up.",
	.verify = "Use a condition variable, a semaphore or a futex, and compare the CPU time of "
		  "both with hotpath compare.",
};
