/* SPDX-License-Identifier: MIT */
/*
 * waits_for_threads.c - one thread after the other is made, and each one's end waited for.
 */
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/rules.h"
#include "report/section/wait/lock_path.h"
#include "report/section/wait/lock_section.h"
#include "report/section/wait/lock_view.h"
#include "report/section/wait/offcpu.h"

#define BLOCKED_MIN 0.15	/* of the wall time */
#define THREADS_MIN 8
#define CORES_MAX 1.15	/* cores in use: no other threads ran meanwhile */
#define PLACES_MAX 64

/* Threads that one place made. */
struct place {
	const struct hp_lock_birth *first;
	uint64_t count;
	uint64_t end;	/* of the last */
	uint64_t lives;	/* ticks */
	uint64_t longest;
	bool is_parallel;	/* two of them existed at once, or one still does */
};

struct places {
	struct place list[PLACES_MAX];
	size_t count;
};

static int compare(const void *left, const void *right)
{
	const struct hp_lock_birth *const *a = left, *const *b = right;

	return (*a)->start < (*b)->start ? -1 : (*a)->start > (*b)->start;
}

/* NULL = too many. */
static struct place *place_of(struct places *places, const struct hp_lock_birth *birth)
{
	size_t at = 0;

	while (at < places->count && !hp_lock_is_born_with(places->list[at].first, birth))
		at++;
	if (at == PLACES_MAX)
		return NULL;
	if (at == places->count)
		places->list[places->count++] = (struct place){ .first = birth };
	return &places->list[at];
}

static void birth_add(struct places *places, const struct hp_lock_birth *birth)
{
	struct place *place = place_of(places, birth);
	uint64_t life = birth->end > birth->start ? birth->end - birth->start : 0;

	if (!place)
		return;
	place->is_parallel |= !life || birth->start < place->end;
	place->count++;
	place->end = birth->end;
	place->lives += life;
	place->longest = life > place->longest ? life : place->longest;
}

/* The place whose threads lived longest in all. */
static struct place most_of(const struct hp_locks *locks)
{
	const struct hp_lock_birth **births =
		hp_xcalloc(locks->birth_count ? locks->birth_count : 1, sizeof(*births));
	struct places places = { .count = 0 };
	struct place most = { .first = NULL };

	for (size_t i = 0; i < locks->birth_count; i++)
		births[i] = &locks->births[i];
	qsort(births, locks->birth_count, sizeof(*births), compare);
	for (size_t i = 0; i < locks->birth_count; i++)
		birth_add(&places, births[i]);
	for (size_t i = 0; i < places.count; i++)
		if (places.list[i].lives > most.lives)
			most = places.list[i];
	free(births);
	return most;
}

static const struct hp_stall *join_of(const struct hp_survey *survey)
{
	const struct hp_stall *most = NULL;

	for (size_t i = 0; i < survey->stall_count; i++)
		if (survey->stalls[i].is_join && (!most || survey->stalls[i].ns > most->ns))
			most = &survey->stalls[i];
	return most;
}

static void find(struct hp_survey *survey)
{
	const struct hp_locks *locks = &hp_lock_view(survey->report)->locks;
	const struct hp_stall *join = join_of(survey);
	struct hp_finding *finding;
	struct hp_text_cell made, count, time;
	double lives, waits, gain, longest;
	struct place most;
	char *where;

	if (survey->has_programs || survey->cores < 2 || !join || join->waits < THREADS_MIN ||
	    join->function == HP_NONE || !hp_owner_is_named(survey->report, join->function) ||
	    survey->ran_ns > CORES_MAX * survey->wall_ns)
		return;
	most = most_of(locks);
	lives = (double)most.lives * survey->report->model.ns_per_tick;
	/* With their starts and ends, which also have others beside them then. */
	waits = (double)join->ns < survey->wall_ns ? (double)join->ns : survey->wall_ns;
	/* The longest one takes as long beside the others. */
	longest = (double)most.longest * survey->report->model.ns_per_tick;
	gain = waits * (1 - 1 / survey->cores);
	gain = waits - longest < gain ? waits - longest : gain;
	if (most.is_parallel || most.count < THREADS_MIN || lives < BLOCKED_MIN * survey->wall_ns ||
	    waits < BLOCKED_MIN * survey->wall_ns || !hp_survey_is_worth(survey, gain))
		return;
	finding = hp_finding_add_function(survey, &hp_rule_waits_for_threads, join->function);
	where = hp_finding_where(finding);
	finding->advice = hp_xprintf("Let the threads run in parallel: %s waits for each one's end "
				     "before the next one is made.",
				     where);
	finding->facts =
		hp_xprintf("%s threads, never two at once; %s%s waits for their ends, %s%s in all",
			   hp_format_count(&made, most.count), hp_stall_mark(join),
			   hp_format_count(&count, join->waits), hp_stall_mark(join),
			   hp_format_time(&time, (double)join->ns));
	finding->gain_ns = gain;
	finding->confidence = HP_LIKELY;
	hp_finding_evidence(finding, &hp_offcpu_section, hp_survey_row(survey, join->function),
			    hp_xstrdup(finding->facts));
	free(where);
}

const struct hp_rule hp_rule_waits_for_threads = {
	.key = "waits-for-threads",
	.find = find,
	.pattern =
		"One place makes at least 8 threads, also by std::async, and no two of them exist at "
		"once; one function waits at least 8 times for the end of a thread, for at "
		"least 15% of the wall time, while at most 1.15 cores are in use.  The gain is "
		"that time on all cores instead of one, at most all but the longest "
		"thread's life.",
	.wrong = "A thread needs the previous one's result; or all of them wait for one disk.",
	.verify = "Make two before the first wait, and compare both with hotpath compare.",
};
