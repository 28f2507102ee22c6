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

#define CPU_MIN 0.2	/* of the CPU time, in one function */
#define WHOLE_MIN 0.6	/* of the function: it does little else */
#define AGAIN_MIN 3	/* times the peak RSS: memory brought in by all faults */
#define PAGE 4096.0
#define RUNS_MAX 10	/* processes: if many start, each one's pages are new */

/* Memory must be touched once; all of that together fits into the peak. */
static bool is_again(const struct hp_survey *survey)
{
	const struct hp_model *model = &survey->report->model;
	double faults = 0;

	for (size_t i = 0; i < model->run_count; i++)
		faults += (double)model->runs[i].minor_faults;
	return faults * PAGE >= AGAIN_MIN * 1024 * (double)model->peak_rss_kb;
}

static void find(struct hp_survey *survey)
{
	const struct hp_cost *most = hp_cost_most(survey, HP_SIGN_FAULT);
	struct hp_finding *finding;
	struct hp_text_cell time, share;
	double ns, gain;
	char *where;

	if (!most || survey->report->model.run_count > RUNS_MAX || !is_again(survey))
		return;
	ns = (double)most->marked_ns[HP_SIGN_FAULT];
	/* Mapping and unmapping the memory belongs to the faults. */
	gain = hp_survey_worth(survey, ns >= WHOLE_MIN * (double)most->ns ? (double)most->ns : ns);
	if (!hp_survey_is_part(survey, ns, CPU_MIN) || !hp_survey_is_worth(survey, gain))
		return;
	finding = hp_finding_add_function(survey, &hp_rule_page_faults, most->function);
	where = hp_finding_where(finding);
	finding->advice = hp_xprintf(
		"%s touches new memory again and again: allocate it once, and reuse it.", where);
	finding->facts = hp_xprintf("%s of CPU time (%s) in page faults", hp_format_time(&time, ns),
				    hp_survey_share(survey, ns, &share));
	finding->gain_ns = gain;
	finding->confidence = HP_LIKELY;
	hp_finding_evidence(finding, &hp_cpu_section, hp_survey_row(survey, most->function),
			    hp_xstrdup(finding->facts));
	free(where);
}

const struct hp_rule hp_rule_page_faults = {
	.key = "page-faults",
	.find = find,
	.pattern =
		"At least 20% of the CPU time is spent in page faults below one function, and all "
		"faults together brought in at least 3 times the peak RSS.  If that is 60% of the "
		"function, the gain is all of its CPU time.",
	.wrong = "All of the memory is needed, once.",
	.verify = "See minor_faults of the processes section.  Keep buffers instead of freeing "
		  "and allocating large ones, or ask for huge pages (madvise), and compare both "
		  "with hotpath compare.",
};
