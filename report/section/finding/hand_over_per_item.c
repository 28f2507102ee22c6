/* SPDX-License-Identifier: MIT */
/*
 * hand_over_per_item.c - threads put each other to sleep for each item, and that takes longer than
 * the item's work.
 */
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/rules.h"
#include "report/section/wait/lock_section.h"
#include "report/section/wait/lock_view.h"

#define CPU_MIN 0.4 /* of the CPU time, to sleep and to wake up others */
#define WAITS_MIN 5000
#define WAIT_MAX 1e6 /* ns, on average: longer ones are waits for work */
#define OWNER_MIN 0.5 /* of a function: it does little else than to hand over */

static double waited_ns(const struct hp_survey *survey, const struct hp_lock_contest *contest)
{
	return (double)contest->ticks * survey->report->model.ns_per_tick;
}

static bool is_condition(const struct hp_locks *locks, const struct hp_lock_contest *contest)
{
	return hp_lock_family(locks->rows[contest->lock].kind) == HP_LOCK_FAMILY_COND;
}

/* The thread and place that waited longest for an item. */
static const struct hp_lock_contest *most_of(const struct hp_survey *survey)
{
	const struct hp_locks *locks = &hp_lock_view(survey->report)->locks;
	const struct hp_lock_contest *most = NULL;

	for (size_t i = 0; i < locks->contest_count; i++) {
		const struct hp_lock_contest *contest = &locks->contests[i];

		if (is_condition(locks, contest) && contest->count >= WAITS_MIN &&
		    waited_ns(survey, contest) <= WAIT_MAX * (double)contest->count &&
		    (!most || contest->ticks > most->ticks))
			most = contest;
	}
	return most;
}

/* CPU time to sleep and to wake up; and of all functions that do little else. */
static double switching_ns(const struct hp_survey *survey, double *around)
{
	double ns = 0;

	*around = 0;
	for (size_t i = 0; i < survey->cost_count; i++) {
		double marked = (double)survey->costs[i].marked_ns[HP_SIGN_LOCK];
		double all = (double)survey->costs[i].ns;

		ns += marked;
		*around += marked >= OWNER_MIN * all ? all : marked;
	}
	return ns;
}

/*
 * All other work remains, at best on all cores; and only the waits and the switching go away, with
 * the time until a thread that was woken up has a core.
 */
static double gain_of(const struct hp_survey *survey, const struct hp_lock_contest *most,
		      double around)
{
	double rest = survey->cpu_ns > 0 ? (1 - around / survey->cpu_ns) * survey->ran_ns : 0;
	double gain = survey->wall_ns - rest / survey->cores;
	double waits = waited_ns(survey, most) + around + survey->ready_ns;

	return gain < waits ? gain : waits;
}

static void find(struct hp_survey *survey)
{
	const struct hp_lock_contest *most = hp_survey_has_samples(survey) ? most_of(survey) : NULL;
	struct hp_text_cell waits, each, time, share;
	struct hp_finding *finding;
	char *place, *where, *lock;
	double ns, around, gain;

	ns = switching_ns(survey, &around);
	if (!most || !hp_survey_is_part(survey, ns, CPU_MIN))
		return;
	gain = gain_of(survey, most, around);
	if (!hp_survey_is_worth(survey, gain))
		return;
	place = hp_lock_holder_text(survey->report, &most->at, most->path);
	where = hp_answer_path(survey->report, place);
	lock = hp_answer_lock(survey->report,
			      &hp_lock_view(survey->report)->locks.rows[most->lock]);
	finding = hp_finding_add(survey, &hp_rule_hand_over_per_item, hp_xstrdup(where));
	finding->advice =
		hp_xprintf("Threads sleep and wake each other up for each item in %s: hand "
			   "over many items at once, or let a longer queue hold some.",
			   where);
	finding->facts =
		hp_xprintf("%s waits for condition %s, %s each on average; %s of CPU time (%s) to "
			   "sleep and to wake up threads",
			   hp_format_count(&waits, most->count), lock,
			   hp_format_time(&each, waited_ns(survey, most) / (double)most->count),
			   hp_format_time(&time, ns), hp_survey_share(survey, ns, &share));
	finding->gain_ns = gain;
	finding->confidence = HP_LIKELY;
	hp_finding_evidence(
		finding, &hp_conds_section,
		hp_xstrdup(hp_lock_name(survey->report,
					&hp_lock_view(survey->report)->locks.rows[most->lock])),
		hp_xstrdup(finding->facts));
	free(place);
	free(where);
	free(lock);
}

const struct hp_rule hp_rule_hand_over_per_item = {
	.key = "hand-over-per-item",
	.find = find,
	.pattern =
		"One thread waits for a condition or a semaphore at least 5,000 times, for less than "
		"1 ms on average, and at least 40% of the CPU time is spent in the kernel to sleep and "
		"to wake up threads.  The gain is the thread's waits with that time, and the time that threads waited for a core, at most the wall "
		"time less all other work on all cores.",
	.wrong = "Each item must be answered before the next one is known.",
	.verify = "Hand over ten items at once, and compare both with hotpath compare.",
};
