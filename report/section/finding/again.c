/* SPDX-License-Identifier: MIT */
/*
 * again.c - see again.h.
 */
#include "report/section/finding/again.h"

#include <stdlib.h>

#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/read/event.h"

/* A thread's last sample. */
enum last { LAST_ELSE = 1, LAST_IT = 2 };

struct count {
	struct hp_survey *survey;
	const bool *is_it;
	const struct hp_owners *owners;
	struct hp_map threads;	/* tid + 1 -> enum last */
	uint64_t pieces;
};

static void event_add(void *context, const struct hp_event *event)
{
	struct count *count = context;
	const struct hp_model_sampling *sampling = &count->survey->report->model.sampling;
	uint32_t *last;
	bool is_new, is_it;

	/* A stack without an owner may be a part of one that has it. */
	if (event->kind != HP_EVENT_CPU || !event->node || event->node >= count->owners->count ||
	    sampling->stacks[event->node].is_profiler ||
	    count->owners->of_stack[event->node].function == HP_NONE)
		return;
	is_it = count->is_it[event->node];
	last = hp_map_at(&count->threads, (uint64_t)event->tid + 1, &is_new);
	count->pieces += is_it && (is_new || *last == LAST_ELSE);
	*last = is_it ? LAST_IT : LAST_ELSE;
}

uint64_t hp_again_count(struct hp_survey *survey, const bool *is_it)
{
	struct count count = { .survey = survey, .is_it = is_it, .threads = HP_MAP_NONE };

	count.owners = hp_owners_of(survey->report);
	hp_events_each(&survey->report->model, event_add, &count);
	hp_map_release(&count.threads);
	return count.pieces;
}

uint64_t hp_again_marked(struct hp_survey *survey, uint32_t function, uint32_t marks)
{
	const struct hp_owners *owners = hp_owners_of(survey->report);
	bool *is_it = hp_xcalloc(owners->count + 1, sizeof(bool));
	uint64_t pieces;

	for (size_t i = 1; survey->stack_marks && i < owners->count; i++)
		is_it[i] =
			owners->of_stack[i].function == function && survey->stack_marks[i] & marks;
	pieces = hp_again_count(survey, is_it);
	free(is_it);
	return pieces;
}
