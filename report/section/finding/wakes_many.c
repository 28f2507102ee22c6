/* SPDX-License-Identifier: MIT */
/*
 * wakes_many.c - a broadcast wakes many threads for one item: one takes it, and the others find
 * nothing and wait again.
 *
 * A signal wakes one thread at most.  If more waits ended than signals were sent, broadcasts ended
 * them.
 */
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/rules.h"
#include "report/section/wait/lock_section.h"
#include "report/section/wait/lock_view.h"

#define POSTS_MIN 1000
#define WOKEN_MIN 2.0 /* threads by each, on average */
#define CPU_MIN \
	0.4 /* of the CPU time, to sleep and to wake up others: short steps of all threads have less */

static uint64_t waits_of(const struct hp_lock_row *row)
{
	uint64_t count = 0;

	for (int side = 0; side < HP_SIDES; side++)
		count += row->sums[side].contended;
	return count;
}

static uint64_t posts_of(const struct hp_locks *locks, uint32_t lock)
{
	uint64_t count = 0;

	for (size_t i = 0; i < locks->poster_count; i++)
		count += locks->posters[i].lock == lock ? locks->posters[i].count : 0;
	return count;
}

static double switching_ns(const struct hp_survey *survey)
{
	double ns = 0;

	for (size_t i = 0; i < survey->cost_count; i++)
		ns += (double)survey->costs[i].marked_ns[HP_SIGN_LOCK];
	return ns;
}

static void row_add(struct hp_survey *survey, const struct hp_lock_row *row, uint64_t posts,
		    double ns)
{
	char *name = hp_answer_lock(survey->report, row);
	struct hp_finding *finding = hp_finding_add(survey, &hp_rule_wakes_many, hp_xstrdup(name));
	struct hp_text_cell waits, count, time, share;

	finding->advice = hp_xprintf(
		"Condition %s wakes %.1f threads each time: if one of them takes the item "
		"and the others wait again, signal one (notify_one) instead of "
		"all.",
		name, (double)waits_of(row) / (double)posts);
	finding->facts =
		hp_xprintf("%s waits for %s wake-ups; %s of CPU time (%s) to sleep "
			   "and to wake up threads",
			   hp_format_count(&waits, waits_of(row)), hp_format_count(&count, posts),
			   hp_format_time(&time, ns), hp_survey_share(survey, ns, &share));
	finding->gain_ns = ns / survey->cpu_ns * survey->wall_ns;
	finding->confidence = HP_POSSIBLE;
	hp_finding_evidence(finding, &hp_conds_section,
			    hp_xstrdup(hp_lock_name(survey->report, row)),
			    hp_xstrdup(finding->facts));
	free(name);
}

static void find(struct hp_survey *survey)
{
	const struct hp_locks *locks = &hp_lock_view(survey->report)->locks;
	const struct hp_lock_row *most = NULL;
	double ns = switching_ns(survey);

	if (!hp_survey_has_samples(survey) || !hp_survey_is_part(survey, ns, CPU_MIN))
		return;
	for (uint32_t i = 0; i < locks->count; i++) {
		uint64_t posts = posts_of(locks, i);

		if (hp_lock_family(locks->rows[i].kind) == HP_LOCK_FAMILY_COND &&
		    posts >= POSTS_MIN &&
		    (double)waits_of(&locks->rows[i]) >= WOKEN_MIN * (double)posts &&
		    (!most || waits_of(&locks->rows[i]) > waits_of(most)))
			most = &locks->rows[i];
	}
	if (most)
		row_add(survey, most, posts_of(locks, (uint32_t)(most - locks->rows)), ns);
}

/* The threads that wake up for nothing are most of the switching. */
static const struct hp_rule_over over[] = { { "hand-over-per-item", false }, { NULL, false } };

const struct hp_rule hp_rule_wakes_many = {
	.key = "wakes-many",
	.find = find,
	.over = over,
	.pattern =
		"A condition is signalled at least 1,000 times, at least twice as many waits for it "
		"ended, and at least 40% of the CPU time is spent in the kernel to sleep and to wake "
		"up threads.  The gain is that share of the wall time.",
	.wrong = "Each of the threads has work after each broadcast, as in steps of a simulation.",
	.verify = "Signal one thread, or use fewer threads, and compare both with hotpath compare.",
};
