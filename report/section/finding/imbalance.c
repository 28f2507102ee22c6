/* SPDX-License-Identifier: MIT */
/*
 * imbalance.c - threads that run the same function, with much more work for one of
 * them.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/queue.h"
#include "report/section/finding/rules.h"
#include "report/section/wait/lock_section.h"

#define RATIO_MIN 1.4	/* the busiest, by the mean */
#define BUSY_MIN 0.5	/* of the wall time, for the busiest */

#define TEAMS_MAX 64

/* Threads that began with one function. */
struct team {
	const struct hp_thread_row *first;
	const struct hp_thread_row *busiest;
	size_t count;
	double ran_ns;
	double most_ns;
};

static bool is_team(const struct hp_thread_row *a, const struct hp_thread_row *b)
{
	return a->birth->routine.object == b->birth->routine.object &&
	       a->birth->routine.address == b->birth->routine.address &&
	       a->thread->pid == b->thread->pid;
}

static void row_add(struct team *teams, size_t *count, const struct hp_thread_row *row)
{
	double ns = row->ran_ns + row->ready_ns;
	size_t at = 0;

	if (!row->birth || !row->birth->routine.address)
		return;
	while (at < *count && !is_team(teams[at].first, row))
		at++;
	if (at == TEAMS_MAX)
		return;
	if (at == *count)
		teams[(*count)++] = (struct team){ .first = row };
	teams[at].count++;
	teams[at].ran_ns += row->ran_ns;
	if (ns > teams[at].most_ns) {
		teams[at].most_ns = ns;
		teams[at].busiest = row;
	}
}

static void team_add(struct hp_survey *survey, const struct team *team, double gain)
{
	const struct hp_symbol_spot *spot = hp_lock_routine(survey->report, team->first->birth);
	struct hp_finding *finding;
	struct hp_text_cell most, mean;
	char *thread;

	/* Threads of a library without names are not the user's. */
	if (!spot || !spot->name || spot->name[0] == '[')
		return;
	thread = hp_thread_text(team->busiest);
	finding = hp_finding_add(survey, &hp_rule_imbalance,
				 hp_answer_name(survey->report, spot->name));
	finding->advice = hp_xprintf(
		"Spread the work evenly: one of the %zu threads of %s has much more to do "
		"than the others.",
		team->count, finding->subject);
	finding->facts = hp_xprintf("%s ran for %s, all of them for %s on average", thread,
				    hp_format_time(&most, team->busiest->ran_ns),
				    hp_format_time(&mean, team->ran_ns / (double)team->count));
	finding->gain_ns = gain;
	finding->confidence = HP_MEASURED;
	hp_finding_evidence(finding, &hp_thread_states_section,
			    hp_text_clean(team->busiest->thread->name), hp_xstrdup(finding->facts));
	free(thread);
}

/*
 * The time that its excess work took: with less work it would also have waited less for a
 * processor.
 */
static double gain_of(const struct team *team, double even_ns)
{
	double ran = team->busiest->ran_ns;

	return ran > even_ns ? team->most_ns * (ran - even_ns) / ran : 0;
}

static void find(struct hp_survey *survey)
{
	struct team *teams = hp_xcalloc(TEAMS_MAX, sizeof(*teams));
	size_t count = 0;

	for (size_t i = 0; i < survey->threads->count; i++)
		row_add(teams, &count, &survey->threads->rows[i]);
	for (size_t i = 0; i < count; i++) {
		const struct team *team = &teams[i];
		double cores =
			(double)team->count < survey->cores ? (double)team->count : survey->cores;
		double even = cores > 0 ? survey->ran_ns / cores : survey->ran_ns;
		double gain = team->busiest ? gain_of(team, even) : 0;

		if (team->count >= 2 && team->busiest &&
		    team->busiest->ran_ns >= RATIO_MIN * team->ran_ns / (double)team->count &&
		    team->most_ns >= BUSY_MIN * survey->wall_ns && hp_survey_is_worth(survey, gain))
			team_add(survey, team, gain);
	}
	free(teams);
}

const struct hp_rule hp_rule_imbalance = {
	.key = "imbalance",
	.find = find,
	.pattern =
		"Among threads that start in the same named function, the busiest ran for at least "
		"1.4 times the mean, and ran or was ready for at least 50% of the wall time.  The "
		"gain is the part of that time in which it ran beyond all CPU time spread over the "
		"cores.",
	.wrong =
		"The threads have different jobs; or they write to the same cache lines: then more "
		"running threads slow each other down.",
	.verify = "Hand out smaller pieces of work from one queue, and compare both with hotpath "
		  "compare.",
};
