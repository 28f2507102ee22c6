/* SPDX-License-Identifier: MIT */
/*
 * one_busy_thread.c - others repeatedly wait for one thread, which does nearly all of the work.
 *
 * A queue of the program's own, with a mutex and conditions, is not recorded as a channel; but the
 * thread that signals the condition shows what its writer waits for. Workers without work wait for
 * a busy thread, too, and so does a log's writer, rightly. So waits count if they are the first
 * thread's, or in a function whose name says that it hands something over.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/pattern.h"
#include "report/section/finding/queue.h"
#include "report/section/finding/rules.h"
#include "report/section/wait/lock_section.h"
#include "report/section/wait/lock_view.h"

#define WAITED_MIN 0.3 /* of the wall time, by each waiting thread */
#define WAITS_MIN 20 /* of each */
#define BUSY_MIN 0.7 /* of it, for the thread that it waits for */
#define OTHER_MAX 0.3 /* of it, for all others */
#define MOSTLY_MIN 0.5 /* of the busy thread's time */

/* Waits for one thread at the place where others waited longest. */
struct waits {
	const struct hp_lock_contest *most;
	uint64_t count;
	double ns;
	size_t threads;
};

static bool is_signal(uint32_t kind)
{
	return kind == HP_LOCK_COND || kind == HP_LOCK_GCOND || kind == HP_LOCK_SEM;
}

static bool hands_over(struct hp_survey *survey, const struct hp_lock_contest *contest)
{
	static const char *const words[] = { "put",  "push",   "send",	"enqueue", "submit", "post",
					     "emit", "offer",  "add",	"append",  "insert", "give",
					     "feed", "supply", "store", "produce", NULL };
	char *place = hp_lock_holder_text(survey->report, &contest->at, contest->path);
	char *name = hp_answer_path(survey->report, place);
	char *file = strrchr(name, '(');
	bool has;

	if (file)
		*file = 0;
	has = hp_name_has_word(name, words);

	free(name);
	free(place);
	return has;
}

static bool is_for(struct hp_survey *survey, const struct hp_lock_contest *contest, uint32_t waker)
{
	const struct hp_locks *locks = &hp_lock_view(survey->report)->locks;

	return is_signal(locks->rows[contest->lock].kind) && contest->tid != waker &&
	       hp_wait_is_ended_by(locks, contest, waker) &&
	       (contest->tid == survey->report->model.reader.header.root_pid ||
		hands_over(survey, contest));
}

static bool is_one_place(const struct hp_lock_contest *a, const struct hp_lock_contest *b)
{
	return a->lock == b->lock && a->at.object == b->at.object && a->at.address == b->at.address;
}

static struct waits waits_of(struct hp_survey *survey, uint32_t waker)
{
	const struct hp_locks *locks = &hp_lock_view(survey->report)->locks;
	struct waits waits = { .most = NULL };

	for (size_t i = 0; i < locks->contest_count; i++)
		if ((!waits.most || locks->contests[i].ticks > waits.most->ticks) &&
		    is_for(survey, &locks->contests[i], waker))
			waits.most = &locks->contests[i];
	for (size_t i = 0; waits.most && i < locks->contest_count; i++) {
		const struct hp_lock_contest *contest = &locks->contests[i];

		if (!is_one_place(contest, waits.most) || !is_for(survey, contest, waker))
			continue;
		waits.threads++;
		waits.count += contest->count;
		waits.ns += (double)contest->ticks * survey->report->model.ns_per_tick;
	}
	return waits;
}

/* "scale", if most of the thread's time must be in this function; NULL = not known. */
static const char *work_of(struct hp_survey *survey, const struct hp_busiest *busiest)
{
	const struct hp_answer_cpu *most = survey->answer->cpu;
	double rest_ns = survey->ran_ns - busiest->first->ran_ns;

	if (!survey->answer->cpu_count || most->function == HP_NONE || survey->cpu_ns <= 0)
		return NULL;
	return (double)most->ns / survey->cpu_ns * survey->ran_ns - rest_ns >=
			       MOSTLY_MIN * busiest->first->ran_ns
		       ? most->name
		       : NULL;
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
	char *name = hp_answer_lock_kind(survey->report, lock, waits->most->side);
	const char *work = work_of(survey, busiest);

	finding->advice =
		work ? hp_xprintf(
			       "One thread does most of %s, and %s waits for it again and again: "
			       "let more threads do it, or do less for each item.",
			       work, where)
		     : hp_xprintf("%s waits for %s again and again: let more threads do its "
				  "work, or do less for each item.",
				  where, thread);
	finding->facts = hp_xprintf("%s waits for %s, %s in all; %s was busy for %s",
				    hp_format_count(&count, waits->count), name,
				    hp_format_time(&time, waits->ns), thread,
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
	    busiest.second_ns > OTHER_MAX * survey->wall_ns ||
	    /* On a busy machine, equal threads get little CPU time, all of them. */
	    busiest.second_ns > OTHER_MAX / BUSY_MIN * busiest.first->ran_ns)
		return;
	waits = waits_of(survey, busiest.first->thread->tid);
	gain = busiest.first_ns * (1 - 1 / survey->cores);
	gain = gain < waits.ns ? gain : waits.ns;
	if (waits.count < WAITS_MIN * waits.threads ||
	    waits.ns < WAITED_MIN * (double)waits.threads * survey->wall_ns ||
	    !hp_survey_is_worth(survey, gain))
		return;
	finding_add(survey, &waits, &busiest, gain);
}

const struct hp_rule hp_rule_one_busy_thread = {
	.key = "one-busy-thread",
	.find = find,
	.pattern =
		"The first thread, or threads in a function that hands over something (put, push, send "
		"and the like), wait for a condition or a semaphore, each at least 20 times and for at "
		"least 30% of the wall time; the thread that signals it is busy for at least 70% of "
		"it, and no other thread runs for more than 30%, or for three sevenths of the busy "
		"thread's CPU time.  The gain is the busy thread's work on all cores, at most those "
		"waits.",
	.wrong = "The work cannot be divided, or its items depend on each other.",
	.verify = "Start a second such thread, and compare both with hotpath compare.",
};
