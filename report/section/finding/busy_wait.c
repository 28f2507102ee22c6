/* SPDX-License-Identifier: MIT */
/*
 * busy_wait.c - a function whose name suggests waiting, but which computes.
 */
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"

#define CPU_MIN 0.1

static bool is_wait(struct hp_survey *survey, const struct hp_cost *cost)
{
	static const char *const words[] = { "wait",	 "spin",     "poll", "busy",
					     "spinlock", "busywait", NULL };

	return hp_cost_has_word(survey, cost, words);
}

static void find(struct hp_survey *survey)
{
	for (size_t i = 0; i < survey->cost_count; i++) {
		const struct hp_cost *cost = &survey->costs[i];
		struct hp_finding *finding;
		struct hp_text_cell time, share;
		double ns = (double)cost->leaf_ns;
		double gain = hp_survey_worth(survey, ns);
		char *where;

		if (!hp_survey_has_samples(survey) || cost->samples < HP_RULE_SAMPLES_OF ||
		    !hp_survey_is_part(survey, ns, CPU_MIN) || !hp_cost_is_named(survey, cost) ||
		    !is_wait(survey, cost))
			continue;
		finding = hp_finding_add_function(survey, &hp_rule_busy_wait, cost->function);
		where = hp_finding_where(finding);
		finding->advice = hp_xprintf("%s may be waiting in a loop: sleep until there is "
					     "something to do.",
					     where);
		finding->facts =
			hp_xprintf("%s of CPU time (%s) in its own code; its name "
				   "suggests that it waits",
				   hp_format_time(&time, ns), hp_survey_share(survey, ns, &share));
		/* With a spare core, a spinning thread delays nobody. */
		finding->gain_ns =
			survey->is_full && !survey->is_serial && hp_survey_is_worth(survey, gain)
				? gain
				: 0;
		finding->confidence = HP_GUESS;
		hp_finding_evidence(finding, &hp_cpu_section, hp_survey_row(survey, cost->function),
				    hp_xstrdup(finding->facts));
		free(where);
	}
}

const struct hp_rule hp_rule_busy_wait = {
	.key = "busy-wait",
	.find = find,
	.pattern = "At least 10% of the CPU time is spent in the own code of a function whose "
		   "name contains the word wait, spin, poll or busy.",
	.wrong = "The name means something else.",
	.verify = "Read the code with hotpath report --annotate.",
};
