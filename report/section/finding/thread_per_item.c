/* SPDX-License-Identifier: MIT */
/*
 * thread_per_item.c - a thread is made for each small piece of work.
 */
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/rules.h"
#include "report/section/wait/lock_path.h"
#include "report/section/wait/lock_section.h"
#include "report/section/wait/lock_view.h"

#define THREADS_MIN 200	/* of one place */
#define LIFE_MAX 2e6	/* ns, on average */
#define START_MIN 0.1	/* of the CPU time: the kernel makes and ends threads */
#define ONLY 0.9	/* of the recorded threads: those without a record are counted here, too */
#define CREATOR 3	/* times the lives: with the part of the thread that makes them */
#define PLACES_MAX 64

/* Threads that one place made. */
struct place {
	const struct hp_lock_birth *first;
	uint64_t count;
	double life_ns;
};

struct places {
	struct place list[PLACES_MAX];
	size_t count;
	struct place most;	/* of the threads */
	struct place brief;	/* all places whose threads live for a short time */
	size_t brief_count;
};

static void birth_add(struct places *places, const struct hp_lock_birth *birth, double ns)
{
	size_t at = 0;

	while (at < places->count && !hp_lock_is_born_with(places->list[at].first, birth))
		at++;
	if (at == PLACES_MAX)
		return;
	if (at == places->count)
		places->list[places->count++] = (struct place){ .first = birth };
	places->list[at].count++;
	places->list[at].life_ns += ns;
}

static bool is_brief(const struct place *place)
{
	return place->life_ns <= LIFE_MAX * (double)place->count;
}

static void places_make(struct places *places, const struct hp_report *report,
			const struct hp_locks *locks)
{
	*places = (struct places){ .count = 0 };
	for (size_t i = 0; i < locks->birth_count; i++) {
		const struct hp_lock_birth *birth = &locks->births[i];

		if (birth->end > birth->start)
			birth_add(places, birth,
				  (double)(birth->end - birth->start) * report->model.ns_per_tick);
	}
	for (size_t i = 0; i < places->count; i++) {
		const struct place *place = &places->list[i];

		if (place->count > places->most.count)
			places->most = *place;
		if (!is_brief(place))
			continue;
		places->brief.count += place->count;
		places->brief.life_ns += place->life_ns;
		places->brief_count++;
	}
}

/* CPU time in which threads were made and ended, by their creator and by themselves. */
static double start_ns(const struct hp_survey *survey)
{
	const struct hp_model_sampling *sampling = &survey->report->model.sampling;
	const struct hp_owners *owners = hp_owners_of(survey->report);
	double ns = 0;

	for (size_t i = 1; i < owners->count; i++)
		if (owners->of_stack[i].is_start && !sampling->stacks[i].is_profiler)
			ns += (double)sampling->stacks[i].cpu_ns;

	for (size_t i = 0; i < survey->cost_count; i++)
		ns += (double)survey->costs[i].marked_ns[HP_SIGN_START];
	return ns;
}

/* CPU time that certainly remains: the program's own code. What it calls may be due to the threads. */
static double work_ns(const struct hp_survey *survey)
{
	double ns = 0;

	for (size_t i = 0; i < survey->cost_count; i++)
		ns += (double)survey->costs[i].leaf_ns;
	return ns;
}

/* Making a thread takes its creator's time, too, and each waits until the other one runs. */
static double gain_of(const struct hp_survey *survey, double lives)
{
	double rest = survey->wall_ns - hp_survey_least(survey, work_ns(survey));

	return CREATOR * lives < rest ? CREATOR * lives : rest;
}

static void find(struct hp_survey *survey)
{
	const struct hp_locks *locks = &hp_lock_view(survey->report)->locks;
	struct hp_text_cell made, each, cpu, share;
	struct hp_finding *finding;
	double starts, gain, scale = 1;
	struct places places;
	const struct place *most = &places.most;
	uint64_t all;

	if (survey->has_programs || !hp_survey_has_samples(survey))
		return;
	starts = start_ns(survey);
	if (!hp_survey_is_part(survey, starts, START_MIN))
		return;
	places_make(&places, survey->report, locks);
	if (!most->count || !is_brief(most))
		return;
	if ((double)places.brief.count >= ONLY * (double)locks->birth_count)
		scale = 1 + (double)locks->birthless / (double)places.brief.count;
	all = (uint64_t)((double)most->count * scale + 0.5);
	if (all < THREADS_MIN)
		return;
	gain = gain_of(survey, places.brief.life_ns * scale);
	if (!hp_survey_is_worth(survey, gain))
		return;
	finding = hp_finding_add(survey, &hp_rule_thread_per_item,
				 hp_lock_holder_text(survey->report, &most->first->at,
						     most->first->path));
	finding->advice =
		hp_xprintf("%s makes %s%s threads, %s each: keep a few, and hand them "
			   "the work through a queue.",
			   finding->subject, scale > 1 && places.brief_count > 1 ? "about " : "",
			   hp_format_count(&made, all),
			   hp_format_time(&each, most->life_ns / (double)most->count));
	finding->facts =
		hp_xprintf("%s of CPU time (%s) to start and end them",
			   hp_format_time(&cpu, starts), hp_survey_share(survey, starts, &share));
	finding->gain_ns = gain;
	finding->confidence = HP_LIKELY;
	hp_finding_evidence(finding, &hp_threads_section, hp_xstrdup(finding->subject),
			    hp_xstrdup(finding->facts));
}

static const struct hp_rule_over over[] = { { "page-faults", false },
					    { "lock-contention", false },
					    { "waits-for-threads", false },
					    { NULL, false } };

const struct hp_rule hp_rule_thread_per_item = {
	.key = "thread-per-item",
	.find = find,
	.over = over,
	.pattern =
		"One place makes at least 200 threads that live for less than 2 ms on average, and at "
		"least 10% of the CPU time is spent in the kernel to start and end threads.  The "
		"gain is three times the lifetime of these and other such threads, since their creator works and "
		"waits for them as well; at most the wall time less the program's own code.",
	.wrong = "Each thread does real work that needs a thread of its own.",
	.verify = "Start as many threads as cores once, let them take work from a queue, and "
		  "compare both with hotpath compare.",
};
