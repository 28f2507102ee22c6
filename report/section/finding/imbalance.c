/* SPDX-License-Identifier: MIT */
/*
 * imbalance.c - threads that run the same function, with much more work for one of
 * them.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/name/wrapper.h"
#include "report/section/core/list.h"
#include "report/section/finding/queue.h"
#include "report/section/finding/rules.h"
#include "report/section/wait/lock_section.h"

#define RATIO_MIN 1.4	/* the busiest, by the mean */
#define BUSY_MIN 0.5	/* of the wall time, for the busiest */

#define TEAMS_MAX 64

/* Threads that began with one function of the program, or were made by one. */
struct team {
	const struct hp_thread_row *first;
	const struct hp_thread_row *busiest;
	size_t count;
	double ran_ns;
	double ready_ns;
	double most_ns;	/* ran or was ready: the busiest */
};

/* The program's first function of a thread; NULL = it is a library's, which runs anything. */
static const char *routine_of(struct hp_report *report, const struct hp_lock_birth *birth)
{
	const struct hp_symbol_spot *spot = hp_lock_routine(report, birth);
	const char *name = spot ? spot->name : NULL;

	return !name || name[0] == '[' || strstr(name, "+0x") ||
			       strcmp(name, "execute_native_thread_routine") == 0 ||
			       hp_wrapper_is_library(name) || hp_wrapper_is_plumbing(name)
		       ? NULL
		       : name;
}

static bool is_place(const struct hp_lock_place *a, const struct hp_lock_place *b)
{
	return a->object == b->object && a->address == b->address;
}

static bool is_team(struct hp_report *report, const struct hp_thread_row *a,
		    const struct hp_thread_row *b)
{
	return is_place(&a->birth->routine, &b->birth->routine) &&
	       a->thread->pid == b->thread->pid &&
	       (routine_of(report, a->birth) ||
		(a->birth->path == b->birth->path && is_place(&a->birth->at, &b->birth->at)));
}

static void row_add(struct hp_report *report, struct team *teams, size_t *count,
		    const struct hp_thread_row *row)
{
	double ns = row->ran_ns + row->ready_ns;
	size_t at = 0;

	if (!row->birth || !row->birth->routine.address)
		return;
	while (at < *count && !is_team(report, teams[at].first, row))
		at++;
	if (at == TEAMS_MAX)
		return;
	if (at == *count)
		teams[(*count)++] = (struct team){ .first = row };
	teams[at].count++;
	teams[at].ran_ns += row->ran_ns;
	teams[at].ready_ns += row->ready_ns;
	if (ns > teams[at].most_ns) {
		teams[at].most_ns = ns;
		teams[at].busiest = row;
	}
}

/* "work", or "made by Pool::start (pool.cc:40)"; fresh, NULL = not known. */
static char *subject_of(struct hp_report *report, const struct hp_lock_birth *birth)
{
	const char *routine = routine_of(report, birth);
	char *maker, *subject;

	if (routine)
		return hp_xprintf("of %s", routine);
	if (birth->path == HP_NONE)
		return NULL;
	maker = hp_lock_holder_text(report, &birth->at, birth->path);
	subject = maker[0] == '[' || maker[0] == '?' ? NULL : hp_xprintf("made by %s", maker);
	free(maker);
	return subject;
}

/* The others mostly waited for a core: with one they might have taken more of the work. */
static bool is_starved(const struct team *team)
{
	return team->ready_ns - team->busiest->ready_ns > team->ran_ns - team->busiest->ran_ns;
}

static void team_add(struct hp_survey *survey, const struct team *team, double gain)
{
	char *subject = subject_of(survey->report, team->first->birth), *thread;
	struct hp_finding *finding;
	struct hp_text_cell most, mean;

	/* Threads of a library without names are not the user's. */
	if (!subject)
		return;
	thread = hp_thread_text(team->busiest);
	finding = hp_finding_add(survey, &hp_rule_imbalance, subject);
	finding->advice = hp_xprintf("Spread the work evenly: one of the %zu threads %s has much "
				     "more to do than the others.",
				     team->count, subject);
	finding->facts = hp_xprintf("%s ran for %s, all of them for %s on average", thread,
				    hp_format_time(&most, team->busiest->ran_ns),
				    hp_format_time(&mean, team->ran_ns / (double)team->count));
	finding->gain_ns = gain;
	finding->confidence = is_starved(team) ? HP_POSSIBLE : HP_MEASURED;
	hp_finding_evidence(finding, &hp_thread_states_section,
			    hp_text_clean(team->busiest->thread->name), hp_xstrdup(finding->facts));
	free(thread);
}

/*
 * The time that its excess work took, for with less work it would also have waited less for a
 * processor; and its waits for other threads, which may have waited for it. With all work spread
 * it still lives for `even_ns`.
 */
static double gain_of(const struct team *team, double even_ns)
{
	const struct hp_thread_row *row = team->busiest;
	double waits = row->blocked_ns - row->waits_ns[HP_WAIT_FILE] -
		       row->waits_ns[HP_THREAD_DISK] - row->waits_ns[HP_THREAD_SLEEP] -
		       row->waits_ns[HP_THREAD_POLL] - row->waits_ns[HP_THREAD_OTHER];
	double gain =
		team->most_ns * (row->ran_ns - even_ns) / row->ran_ns + (waits > 0 ? waits : 0);
	double most = row->life_ns - even_ns;

	if (row->ran_ns <= even_ns)
		return 0;
	return gain < most ? gain : most;
}

/*
 * It had more to do, too, not only more of the cores: a thread that is ready has work, but no core
 * to do it on.
 */
static bool is_uneven(const struct team *team)
{
	double ran = team->ran_ns / (double)team->count;
	double had = ran + team->ready_ns / (double)team->count;

	return team->busiest->ran_ns >= RATIO_MIN * ran && team->most_ns >= RATIO_MIN * had;
}

static void find(struct hp_survey *survey)
{
	struct team *teams = hp_xcalloc(TEAMS_MAX, sizeof(*teams));
	size_t count = 0;

	for (size_t i = 0; i < survey->threads->count; i++)
		row_add(survey->report, teams, &count, &survey->threads->rows[i]);
	for (size_t i = 0; i < count; i++) {
		const struct team *team = &teams[i];
		double cores =
			(double)team->count < survey->cores ? (double)team->count : survey->cores;
		double even = cores > 0 ? survey->ran_ns / cores : survey->ran_ns;
		double gain = team->busiest ? gain_of(team, even) : 0;

		if (team->count >= 2 && team->busiest && is_uneven(team) &&
		    team->most_ns >= BUSY_MIN * survey->wall_ns && hp_survey_is_worth(survey, gain))
			team_add(survey, team, gain);
	}
	free(teams);
}

static const struct hp_rule_over over[] = { { "one-busy-thread", false }, { NULL, false } };

const struct hp_rule hp_rule_imbalance = {
	.key = "imbalance",
	.find = find,
	.over = over,
	.pattern =
		"Among threads that start in the same named function, or were created at the same "
		"place, the busiest ran for at least 1.4 times the mean, with the time that they were "
		"ready for a core as without it, and ran or was ready for at least 50% of the wall "
		"time.  It is only possible if the others were ready for longer than they ran.  The gain is the part of that time in which it ran "
		"beyond all CPU time spread over the cores, and its waits for other threads.",
	.wrong =
		"The threads have different jobs; or they write to the same cache lines: then more "
		"running threads slow each other down.",
	.verify = "Hand out smaller pieces of work from one queue, and compare both with hotpath "
		  "compare.",
};
