/* SPDX-License-Identifier: MIT */
/*
 * lock_held.c - see lock_held.h.
 */
#include "report/section/finding/lock_held.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/section/answer/owner.h"
#include "report/section/finding/events.h"
#include "report/section/wait/lock_view.h"
#include "report/section/wait/offcpu.h"

#define WINDOWS_MAX 256

/* One wait, in the clock of events. */
struct window {
	uint32_t holder; /* tid */
	uint64_t from_ns;
	uint64_t to_ns;
};

struct windows {
	struct hp_survey *survey;
	struct window list[WINDOWS_MAX];
	size_t count;
	struct hp_lock_held held;
};

static uint64_t raw_ns(const struct hp_model *model, uint64_t ticks)
{
	const struct hp_header *header = &model->reader.header;

	return ticks > header->start.ticks
		       ? header->start.ns + hp_model_ns(model, ticks - header->start.ticks)
		       : header->start.ns;
}

static void windows_make(struct windows *windows, const struct hp_lock_group *group, bool is_own)
{
	const struct hp_model *model = &windows->survey->report->model;
	const struct hp_locks *locks = &hp_lock_view(windows->survey->report)->locks;

	for (size_t i = 0; i < locks->contest_count && windows->count < WINDOWS_MAX; i++) {
		const struct hp_lock_contest *contest = &locks->contests[i];

		if (!contest->holder_tid || !contest->most_start || !contest->most ||
		    !hp_lock_group_has(windows->survey, group, contest->lock) ||
		    (is_own && !hp_lock_contest_is_like(contest, &group->holder)))
			continue;
		windows->list[windows->count++] = (struct window){
			.holder = contest->holder_tid,
			.from_ns = raw_ns(model, contest->most_start),
			.to_ns = raw_ns(model, contest->most_start + contest->most),
		};
		windows->held.waited_ns += (double)hp_model_ns(model, contest->most);
	}
}

static void event_add(void *context, const struct hp_event *event)
{
	struct windows *windows = context;
	struct hp_report *report = windows->survey->report;
	uint64_t begin_ns = event->ns > event->span_ns ? event->ns - event->span_ns : 0;

	if (!event->node || strcmp(hp_offcpu_cause(report, event->node), "lock") == 0 ||
	    hp_owners_of(report)->of_stack[event->node].is_join)
		return;
	for (size_t i = 0; i < windows->count; i++) {
		const struct window *window = &windows->list[i];
		uint64_t from = begin_ns > window->from_ns ? begin_ns : window->from_ns;
		uint64_t to = event->ns < window->to_ns ? event->ns : window->to_ns;

		if (event->tid == window->holder && from < to)
			windows->held.blocked_ns += (double)(to - from);
	}
}

struct hp_lock_held hp_lock_held(struct hp_survey *survey, const struct hp_lock_group *group,
				 bool is_own)
{
	struct windows *windows = hp_xcalloc(1, sizeof(*windows));
	struct hp_lock_held held;

	windows->survey = survey;
	windows_make(windows, group, is_own);
	if (windows->count)
		hp_survey_events(survey, event_add, windows);
	held = windows->held;
	free(windows);
	return held;
}
