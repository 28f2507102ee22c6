/* SPDX-License-Identifier: MIT */
/*
 * gil.c - Python threads wait for the interpreter's lock.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/rules.h"
#include "report/section/wait/lock_section.h"
#include "report/section/wait/lock_view.h"

#define WAIT_MIN 0.3	/* of the wall time */
#define RAN_MAX 1.2	/* of it: one thread at a time */

static void find(struct hp_survey *survey)
{
	const struct hp_locks *locks = &hp_lock_view(survey->report)->locks;
	double cores =
		(double)survey->worked < survey->cores ? (double)survey->worked : survey->cores;
	struct hp_finding *finding;
	struct hp_text_cell count, time;
	uint64_t waits = 0;
	double ns = 0;

	if (survey->worked < 2 || survey->cores < 2 || survey->ran_ns > RAN_MAX * survey->wall_ns)
		return;
	for (size_t i = 0; i < locks->contest_count; i++) {
		const struct hp_lock_row *row = &locks->rows[locks->contests[i].lock];

		if (row->kind != HP_LOCK_COND ||
		    !strstr(hp_lock_name(survey->report, row), "_PyRuntime"))
			continue;
		waits += locks->contests[i].count;
		ns += (double)locks->contests[i].ticks * survey->report->model.ns_per_tick;
	}
	if (ns <= WAIT_MIN * survey->wall_ns ||
	    !hp_survey_is_worth(survey, survey->wall_ns * (1 - 1 / cores)))
		return;
	finding = hp_finding_add(survey, &hp_rule_gil, hp_xstrdup("_PyRuntime"));
	finding->advice = hp_xstrdup("Python's threads wait for the interpreter's lock (GIL): use "
				     "processes, or a library that releases it while it computes.");
	finding->facts = hp_xprintf("%s waits, %s in all; %.2f of %.0f cores in use",
				    hp_format_count(&count, waits), hp_format_time(&time, ns),
				    survey->ran_ns / survey->wall_ns, survey->cores);
	finding->gain_ns = survey->wall_ns * (1 - 1 / cores);
	finding->confidence = HP_LIKELY;
	hp_finding_evidence(finding, &hp_conds_section, hp_xstrdup("_PyRuntime"),
			    hp_xstrdup(finding->facts));
}

static const struct hp_rule_over over[] = { { "lock-contention", false },
					    { "lock-across-io", false },
					    { "imbalance", false },
					    { "one-busy-thread", false },
					    { NULL, false } };

const struct hp_rule hp_rule_gil = {
	.key = "gil",
	.find = find,
	.over = over,
	.pattern = "Threads wait for a condition of _PyRuntime for more than 30% of the wall time, "
		   "and no more than 1.2 cores are in use.",
	.wrong = "The work cannot be divided among processes, or would exchange too much data.",
	.verify = "Use multiprocessing or ProcessPoolExecutor, and compare both with hotpath "
		  "compare.",
};
