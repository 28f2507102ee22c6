/* SPDX-License-Identifier: MIT */
/*
 * waits_for_children.c - a process starts one child after another, and waits for each.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/events.h"
#include "report/section/finding/rules.h"
#include "report/section/thread/process.h"
#include "report/section/wait/offcpu.h"

#define BLOCKED_MIN 0.15	/* of the wall time */
#define WAITS_MIN 4
#define CORES_MAX 1.15	/* cores in use: the children did not run in parallel */
#define LIVES_MAX \
	1.3	/* lifetimes of all other processes, relative to the waits: they had no children and no peers */

struct waits {
	const struct hp_survey *survey;
	uint32_t root;
	uint64_t count;
	double ns;
	uint32_t function;	/* of the longest */
	double longest_ns;
};

static void event_add(void *context, const struct hp_event *event)
{
	struct waits *waits = context;
	struct hp_report *report = waits->survey->report;

	if (event->pid != waits->root || !event->node ||
	    strcmp(hp_offcpu_cause(report, event->node), "child") != 0)
		return;
	waits->count++;
	waits->ns += (double)event->span_ns;
	if ((double)event->span_ns > waits->longest_ns) {
		waits->longest_ns = (double)event->span_ns;
		waits->function = hp_owners_of(report)->of_stack[event->node].function;
	}
}

/* Lifetimes of the children and their children. */
static double lives_of(const struct hp_model *model)
{
	double ns = 0;

	for (size_t i = 0; i < model->run_count; i++)
		if (!model->runs[i].is_root)
			ns += (double)model->runs[i].wall_ns;
	return ns;
}

/*
 * Most of the children's lifetimes are those of programs that run for several items.  A script
 * whose steps are different programs usually hands each one's output to the next.
 */
static bool is_repeated(const struct hp_survey *survey)
{
	const struct hp_programs *programs = hp_programs_of(survey->report);
	double all = 0, repeated = 0;

	for (size_t i = 0; i < programs->count; i++) {
		const struct hp_program *program = &programs->rows[i];
		double ns = (double)(program->wall_ns - program->root_wall_ns);

		all += ns;
		repeated += program->runs - program->root_runs >= WAITS_MIN ? ns : 0;
	}
	return repeated >= all / 2;
}

static void find(struct hp_survey *survey)
{
	struct waits waits = { .survey = survey,
			       .root = survey->report->model.reader.header.root_pid,
			       .function = HP_NONE };
	struct hp_finding *finding;
	struct hp_text_cell count, time;
	double gain;
	char *where;

	/* A script that prepares a program needs its children's output. */
	if (survey->answer->launch.ns > 0 || survey->cores < 2 ||
	    survey->ran_ns > CORES_MAX * survey->wall_ns)
		return;
	hp_survey_events(survey, event_add, &waits);
	/* The longest child takes as long beside the others. */
	gain = waits.ns * (1 - 1 / survey->cores);
	gain = waits.ns - waits.longest_ns < gain ? waits.ns - waits.longest_ns : gain;
	if (waits.count < WAITS_MIN || waits.ns < BLOCKED_MIN * survey->wall_ns ||
	    lives_of(&survey->report->model) > LIVES_MAX * waits.ns || !is_repeated(survey) ||
	    !hp_survey_is_worth(survey, gain))
		return;
	finding = waits.function == HP_NONE || !hp_owner_is_named(survey->report, waits.function)
			  ? hp_finding_add(survey, &hp_rule_waits_for_children,
					   hp_xstrdup("the first process"))
			  : hp_finding_add_function(survey, &hp_rule_waits_for_children,
						    waits.function);
	where = hp_finding_where(finding);
	finding->advice = hp_xprintf("Run the child processes in parallel: %s waits for one "
				     "after the other.",
				     where);
	finding->facts =
		hp_xprintf("%s waits for children, %s in all; %.2f of %.0f cores in use",
			   hp_format_count(&count, waits.count), hp_format_time(&time, waits.ns),
			   survey->ran_ns / survey->wall_ns, survey->cores);
	finding->gain_ns = gain;
	finding->confidence = HP_LIKELY;
	hp_finding_evidence(finding, &hp_offcpu_section,
			    waits.function == HP_NONE ? hp_xstrdup(HP_NO_STACK)
						      : hp_survey_row(survey, waits.function),
			    hp_xprintf("%s, blocked on child", finding->facts));
	free(where);
}

const struct hp_rule hp_rule_waits_for_children = {
	.key = "waits-for-children",
	.find = find,
	.pattern =
		"The first process waits for children for at least 15% of the wall time, at "
		"least 4 times, while at most 1.15 cores are in use and its children run one "
		"at a time and start none themselves; most of that time is for programs that run at "
		"least 4 times.  The gain is that time on all cores "
		"instead of one, at most all but the longest wait.",
	.wrong = "A child needs the previous one's output; or the children wait for one disk.",
	.verify = "Start two at a time (xargs -P2, make -j2), and compare both with hotpath "
		  "compare.",
};
