/* SPDX-License-Identifier: MIT */
/*
 * timed_waits.c - a thread waits for a condition that nobody signals, so each wait ends by its
 * timeout; and another thread waits for that thread.
 */
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/queue.h"
#include "report/section/finding/rules.h"
#include "report/section/wait/lock_section.h"
#include "report/section/wait/lock_view.h"

#define TIMEOUTS_MIN 20
#define PART_MIN 0.9 /* of the waits for it: they end by timeouts */
#define WAITED_MIN 0.3 /* of the wall time, by both threads */

static bool is_condition(const struct hp_locks *locks, const struct hp_lock_contest *contest)
{
	return hp_lock_family(locks->rows[contest->lock].kind) == HP_LOCK_FAMILY_COND;
}

/* Mostly its waits end by timeouts. */
static bool is_timed(const struct hp_locks *locks, const struct hp_lock_contest *contest)
{
	const struct hp_lock_row *row = &locks->rows[contest->lock];
	uint64_t timeouts = row->sums[HP_SIDE_ONLY].timeouts;

	return timeouts >= TIMEOUTS_MIN &&
	       (double)timeouts >= PART_MIN * (double)row->sums[HP_SIDE_ONLY].contended;
}

static double waited_ns(const struct hp_survey *survey, const struct hp_lock_contest *contest)
{
	return (double)contest->ticks * survey->report->model.ns_per_tick;
}

/* The thread that waits until the timed one has gone on: it signals the condition. */
static const struct hp_lock_contest *victim_of(const struct hp_survey *survey,
					       const struct hp_lock_contest *timed)
{
	const struct hp_locks *locks = &hp_lock_view(survey->report)->locks;
	const struct hp_lock_contest *most = NULL;

	for (size_t i = 0; i < locks->contest_count; i++) {
		const struct hp_lock_contest *contest = &locks->contests[i];

		if (contest->lock != timed->lock && contest->tid != timed->tid &&
		    is_condition(locks, contest) &&
		    hp_wait_is_ended_by(locks, contest, timed->tid) &&
		    contest->count >= TIMEOUTS_MIN && !is_timed(locks, contest) &&
		    (!most || contest->ticks > most->ticks))
			most = contest;
	}
	return most;
}

static char *place_text(struct hp_survey *survey, const struct hp_lock_contest *contest)
{
	char *place = hp_lock_holder_text(survey->report, &contest->at, contest->path);
	char *where = hp_answer_path(survey->report, place);

	free(place);
	return where;
}

static void finding_add(struct hp_survey *survey, const struct hp_lock_contest *timed,
			const struct hp_lock_contest *victim, double gain)
{
	const struct hp_lock_row *row = &hp_lock_view(survey->report)->locks.rows[timed->lock];
	char *waiter = place_text(survey, timed), *other = place_text(survey, victim);
	char *lock = hp_answer_lock(survey->report, row);
	struct hp_finding *finding = hp_finding_add(survey, &hp_rule_timed_waits, hp_xstrdup(lock));
	struct hp_text_cell timeouts, waits, all;

	finding->advice =
		hp_xprintf("%s waits for a thread that waits for condition %s itself (%s), "
			   "until its timeout each time: signal that as soon as there is "
			   "something to do.",
			   other, lock, waiter);
	finding->facts = hp_xprintf("%s of %s waits end by their timeouts; %s waits %s in all",
				    hp_format_count(&timeouts, row->sums[HP_SIDE_ONLY].timeouts),
				    hp_format_count(&waits, row->sums[HP_SIDE_ONLY].contended),
				    other, hp_format_time(&all, waited_ns(survey, victim)));
	finding->gain_ns = gain;
	finding->confidence = HP_POSSIBLE;
	hp_finding_evidence(finding, &hp_conds_section,
			    hp_xstrdup(hp_lock_name(survey->report, row)),
			    hp_xstrdup(finding->facts));
	free(waiter);
	free(other);
	free(lock);
}

static void find(struct hp_survey *survey)
{
	const struct hp_locks *locks = &hp_lock_view(survey->report)->locks;
	const struct hp_lock_contest *timed = NULL, *victim = NULL;
	double gain = 0;

	for (size_t i = 0; i < locks->contest_count; i++) {
		const struct hp_lock_contest *contest = &locks->contests[i], *of;
		double both;

		if (!is_condition(locks, contest) || !is_timed(locks, contest) ||
		    contest->count < TIMEOUTS_MIN)
			continue;
		of = victim_of(survey, contest);
		if (!of)
			continue;
		both = waited_ns(survey, contest) < waited_ns(survey, of)
			       ? waited_ns(survey, contest)
			       : waited_ns(survey, of);
		if (both <= gain)
			continue;
		gain = both;
		timed = contest;
		victim = of;
	}
	if (timed && gain >= WAITED_MIN * survey->wall_ns && hp_survey_is_worth(survey, gain))
		finding_add(survey, timed, victim, gain);
}

static const struct hp_rule_over over[] = { { "one-busy-thread", false }, { NULL, false } };

const struct hp_rule hp_rule_timed_waits = {
	.key = "timed-waits",
	.find = find,
	.over = over,
	.pattern =
		"A thread waits for a condition, at least 90% of these waits and 20 of them end by their "
		"timeouts, and another thread waits at least 20 times for a condition that it signals; "
		"both for at least 30% of the wall time.  The gain is the shorter of these two times.",
	.wrong =
		"It works in steps of that time on purpose, and the other thread waits for the next.",
	.verify =
		"Signal the condition after each change of what it waits for, and compare both with "
		"hotpath compare.",
};
