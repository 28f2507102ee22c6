/* SPDX-License-Identifier: MIT */
/*
 * one_busy_thread.c - the first thread repeatedly waits for another one, which does nearly all
 * of the work.
 *
 * A queue of the program's own, with a mutex and conditions, is not recorded as a channel; but the
 * thread that signals the condition shows what its writer waits for. The rule ignores waits of
 * other threads: a pool of idle threads looks the same.
 */
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/queue.h"
#include "report/section/finding/rules.h"
#include "report/section/wait/lock_section.h"
#include "report/section/wait/lock_view.h"

#define WAITED_MIN 0.3 /* of the wall time, by the first thread */
#define WAITS_MIN 20
#define BUSY_MIN 0.7 /* of it, for the thread that it waits for */
#define OTHER_MAX 0.3 /* of it, for all others */

/* Waits of one thread that another one ended. */
struct waits {
	const struct hp_lock_contest *most;
	uint64_t count;
	double ns;
};

static bool is_signal(uint32_t kind)
{
	return kind == HP_LOCK_COND || kind == HP_LOCK_GCOND || kind == HP_LOCK_SEM;
}

static struct waits waits_of(struct hp_survey *survey, uint32_t tid, uint32_t waker)
{
	const struct hp_locks *locks = &hp_lock_view(survey->report)->locks;
	struct waits waits = { .most = NULL };

	for (size_t i = 0; i < locks->contest_count; i++) {
		const struct hp_lock_contest *contest = &locks->contests[i];

		if (contest->tid != tid || !is_signal(locks->rows[contest->lock].kind) ||
		    (contest->from_tid && contest->from_tid != waker))
			continue;
		waits.count += contest->count;
		waits.ns += (double)contest->ticks * survey->report->model.ns_per_tick;
		if (!waits.most || contest->ticks > waits.most->ticks)
			waits.most = contest;
	}
	return waits;
}

static void finding_add(struct hp_survey *survey, const struct waits *waits,
			const struct hp_busiest *busiest, double gain)
{
	const struct hp_locks *locks = &hp_lock_view(survey->report)->locks;
	const struct hp_lock_row *lock = &locks->rows[waits->most->lock];
	char *place = hp_lock_holder_text(survey->report, &waits->most->at, waits->most->path);
	char *where = hp_answer_path(survey->report, place);
	char *thread = hp_thread_text(busiest->first);
	struct hp_finding *finding =
		hp_finding_add(survey, &hp_rule_one_busy_thread, hp_xstrdup(thread));
	struct hp_text_cell count, time, busy;
	char *name = hp_answer_lock(survey->report, lock);

	finding->advice = hp_xprintf("%s waits for %s again and again: let more threads do its "
				     "work, or do less for each item.",
				     where, thread);
	finding->facts = hp_xprintf("%s waits for %s, %s in all; that thread was busy for %s",
				    hp_format_count(&count, waits->count), name,
				    hp_format_time(&time, waits->ns),
				    hp_format_time(&busy, busiest->first_ns));
	finding->gain_ns = gain;
	finding->confidence = HP_LIKELY;
	hp_finding_evidence(finding, &hp_conds_section,
			    hp_xstrdup(hp_lock_name(survey->report, lock)),
			    hp_xstrdup(finding->facts));
	free(name);
	free(place);
	free(where);
	free(thread);
}

static void find(struct hp_survey *survey)
{
	uint32_t root = survey->report->model.reader.header.root_pid;
	struct hp_busiest busiest = hp_survey_busiest(survey);
	struct waits waits;
	double gain;

	if (!busiest.first || busiest.first->thread->tid == root || survey->worked < 2 ||
	    survey->cores < 2 || busiest.first_ns < BUSY_MIN * survey->wall_ns ||
	    busiest.second_ns > OTHER_MAX * survey->wall_ns)
		return;
	waits = waits_of(survey, root, busiest.first->thread->tid);
	gain = busiest.first_ns * (1 - 1 / survey->cores);
	gain = gain < waits.ns ? gain : waits.ns;
	if (waits.count < WAITS_MIN || waits.ns < WAITED_MIN * survey->wall_ns ||
	    !hp_survey_is_worth(survey, gain))
		return;
	finding_add(survey, &waits, &busiest, gain);
}

const struct hp_rule hp_rule_one_busy_thread = {
	.key = "one-busy-thread",
	.find = find,
	.pattern =
		"The first thread waits for a condition or a semaphore at least 20 times, for at "
		"least 30% of the wall time; the thread that signals it is busy for at least 70% of "
		"it, and no other thread is for more than 30%.  The gain is the busy thread's work "
		"on all cores, at most those waits.",
	.wrong = "The work cannot be divided, or its items depend on each other.",
	.verify = "Start a second such thread, and compare both with hotpath compare.",
};
