/* SPDX-License-Identifier: MIT */
/*
 * oversubscribed.c - more runnable threads than cores.
 */
#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/rules.h"

#define THREADS_MIN 1.5	/* by the number of cores */
#define READY_MIN 0.3	/* of the threads' lifetimes */
#define FULL 0.85	/* of all cores */

static void find(struct hp_survey *survey)
{
	struct hp_finding *finding;
	struct hp_text_cell time;

	/* On a shared machine it is unknown for whom the threads waited. */
	if (!survey->answer->cores || (double)survey->busy < THREADS_MIN * survey->cores ||
	    survey->has_programs || survey->ready_ns < READY_MIN * survey->life_ns ||
	    survey->ran_ns < FULL * survey->cores * survey->wall_ns)
		return;
	finding = hp_finding_add(survey, &hp_rule_oversubscribed, hp_xstrdup("all threads"));
	finding->advice =
		hp_xprintf("%zu threads share %.0f cores: more threads don't make it faster.",
			   survey->busy, survey->cores);
	finding->facts = hp_xprintf("they were ready without a core for %s in all",
				    hp_format_time(&time, survey->ready_ns));
	finding->confidence = HP_MEASURED;
	hp_finding_evidence(finding, &hp_thread_states_section, hp_xstrdup("all"),
			    hp_xstrdup(finding->facts));
}

const struct hp_rule hp_rule_oversubscribed = {
	.key = "oversubscribed",
	.find = find,
	.pattern =
		"More than 1.5 threads a core are busy, they wait for a core for at least 30% of "
		"their lifetimes, and at least 85% of all cores are in use by this process.  This "
		"is a fact: fewer threads take less memory, but hardly less time.",
	.wrong = "Most of them wait for a disk or a peer at other times.",
	.verify =
		"Start as many threads as there are cores, and compare both with hotpath compare.",
};
