/* SPDX-License-Identifier: MIT */
/*
 * page_faults.c - the kernel hands out memory, page by page, for a large part of the time.
 */
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"

#define CPU_LEAST 0.2 /* of the CPU time, in one function */
#define RUNS_MOST 10 /* processes: where many start, each one's pages are new */

static void find(struct hp_survey *survey)
{
	const struct hp_cost *most = NULL;
	struct hp_finding *finding;
	struct hp_text_cell time;
	double ns, gain;
	char *where;

	for (size_t i = 0; i < survey->cost_count; i++)
		if (!most ||
		    survey->costs[i].marked_ns[HP_SIGN_FAULT] > most->marked_ns[HP_SIGN_FAULT])
			most = &survey->costs[i];
	if (!most || !hp_survey_has_samples(survey) || !hp_cost_is_named(survey, most) ||
	    most->marked_samples[HP_SIGN_FAULT] < HP_RULE_SAMPLES_OF ||
	    survey->report->model.run_count > RUNS_MOST)
		return;
	ns = (double)most->marked_ns[HP_SIGN_FAULT];
	gain = hp_survey_worth(survey, ns);
	if (ns < CPU_LEAST * survey->cpu_ns || !hp_survey_is_worth(survey, gain))
		return;
	finding = hp_finding_add_function(survey, &hp_rule_page_faults, most->function);
	where = hp_finding_where(finding);
	finding->advice =
		hp_xprintf("%s touches new memory all the time: keep it and use it again.", where);
	finding->facts = hp_xprintf("%s of CPU time (%.0f%%) in page faults",
				    hp_format_time(&time, ns), 100 * ns / survey->cpu_ns);
	finding->gain_ns = gain;
	finding->confidence = HP_LIKELY;
	hp_finding_evidence(finding, &hp_cpu_section, hp_survey_row(survey, most->function),
			    hp_xstrdup(finding->facts));
	free(where);
}

const struct hp_rule hp_rule_page_faults = {
	.key = "page-faults",
	.find = find,
	.pattern = "At least 20% of the CPU time is spent in page faults below one function.",
	.wrong = "The memory is needed once, and is as large as it has to be.",
	.verify = "Look at minor_faults of the processes section.  Keep buffers instead of freeing "
		  "and allocating large ones, or ask for huge pages (madvise), and compare both "
		  "with hotpath compare.",
};
