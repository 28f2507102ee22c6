/* SPDX-License-Identifier: MIT */
/*
 * sleeps.c - the program waits for a timer again and again.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/pattern.h"
#include "report/section/finding/rules.h"
#include "report/section/wait/offcpu.h"

#define SLEEPS_MIN 20
#define BLOCKED_MIN 0.15	/* of the wall time */
#define OTHERS_MAX 0.5	/* of it: another thread that computes meanwhile needs the time anyway */

/* The first thread's: another one that sleeps, such as a timer, delays nobody. */
static const struct hp_thread_row *first_thread(const struct hp_survey *survey)
{
	uint32_t root = survey->report->model.reader.header.root_pid;

	for (size_t i = 0; i < survey->threads->count; i++)
		if (survey->threads->rows[i].thread->tid == root)
			return &survey->threads->rows[i];
	return NULL;
}

static const struct hp_stall *most_of(const struct hp_survey *survey)
{
	const struct hp_stall *most = NULL;

	for (size_t i = 0; i < survey->stall_count; i++)
		if (strcmp(survey->stalls[i].on, "sleep") == 0 &&
		    survey->stalls[i].function != HP_NONE &&
		    (!most || survey->stalls[i].ns > most->ns))
			most = &survey->stalls[i];
	return most;
}

static double others_ns(const struct hp_survey *survey, const struct hp_thread_row *first)
{
	double most = 0;

	for (size_t i = 0; i < survey->threads->count; i++)
		if (&survey->threads->rows[i] != first && survey->threads->rows[i].ran_ns > most)
			most = survey->threads->rows[i].ran_ns;
	return most;
}

static void find(struct hp_survey *survey)
{
	const struct hp_thread_row *first = first_thread(survey);
	const struct hp_stall *stall = most_of(survey);
	struct hp_finding *finding;
	struct hp_text_cell count, time;
	double ns;
	char *where;

	if (!first || !stall || stall->waits < SLEEPS_MIN ||
	    !hp_owner_is_named(survey->report, stall->function) ||
	    others_ns(survey, first) > OTHERS_MAX * survey->wall_ns)
		return;
	ns = first->waits_ns[HP_THREAD_SLEEP] < (double)stall->ns ? first->waits_ns[HP_THREAD_SLEEP]
								  : (double)stall->ns;
	if (ns < BLOCKED_MIN * survey->wall_ns || !hp_survey_is_worth(survey, ns))
		return;
	finding = hp_finding_add_function(survey, &hp_rule_sleeps, stall->function);
	where = hp_finding_where(finding);
	finding->advice = hp_xprintf("%s sleeps again and again: wait for the event itself, or "
				     "sleep less.",
				     where);
	finding->facts = hp_xprintf("%s%s sleeps, %s%s in all", hp_stall_mark(stall),
				    hp_format_count(&count, stall->waits), hp_stall_mark(stall),
				    hp_format_time(&time, (double)stall->ns));
	finding->gain_ns = ns;
	finding->confidence = hp_stall_is_measured(stall) ? HP_MEASURED : HP_LIKELY;
	hp_finding_evidence(finding, &hp_offcpu_section, hp_survey_row(survey, stall->function),
			    hp_xprintf("%s, blocked on sleep", finding->facts));
	free(where);
}

const struct hp_rule hp_rule_sleeps = {
	.key = "sleeps",
	.find = find,
	.pattern =
		"The first thread sleeps in one function at least 20 times, for at least 15% of "
		"the wall time, while no other thread computes for half of it.  A poll or select "
		"with a timeout and without descriptors is a sleep.",
	.wrong = "It is intended, to limit a rate or the load of a peer.",
	.verify = "Wait for the event by a condition, poll or inotify, and compare both with "
		  "hotpath compare.",
};
