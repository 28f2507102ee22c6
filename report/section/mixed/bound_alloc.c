/* SPDX-License-Identifier: MIT */
/*
 * bound_alloc.c - allocations of each function of the table `bound`.
 *
 * Call paths of allocations and of samples come from different sources; a
 * function is the same if its name and its file are. Inlined code counts as the
 * enclosing function: reading the debug information of all paths would take
 * long.
 */
#include <stdlib.h>
#include <string.h>

#include "report/section/memory/section.h"
#include "report/section/mixed/bound.h"
#include "report/section/cpu/cpu.h"
#include "report/name/frame.h"
#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/section/wait/offcpu.h"
#include "report/name/wrapper.h"
#include "util/hash.h"

#define INSTRUMENTED UINT32_MAX	/* in the map: it is, but has no row */

struct build {
	struct hp_report *report;
	struct hp_bound *bound;
	struct hp_map functions;	/* of name and file -> place in rows + 1, or INSTRUMENTED */
	uint32_t *stamps;	/* of each row */
	struct answer *answers;	/* by code of a step */
};

/* Facts about a step's function. */
struct answer {
	bool is_known;
	bool may_have_row;
	uint32_t row;	/* HP_NONE = none */
};

static uint64_t key_of(const struct hp_model *model, uint32_t object, const char *name)
{
	const char *path = object == HP_NONE ? "" : model->objects[object].path;
	uint64_t hash = hp_fnv_byte(hp_fnv_text(HP_FNV_SEED, name), 0xff);

	return hp_fnv_text(hash, path) | 1;
}

static void functions_note(struct build *b)
{
	const struct hp_model *model = &b->report->model;
	const struct hp_cpu *cpu = hp_report_cpu(b->report);
	bool is_new;

	for (uint32_t i = 0; i < model->function_count; i++)
		if (model->functions[i].calls)
			*hp_map_at(&b->functions,
				   key_of(model, model->functions[i].object,
					  hp_symbols_name(b->report->symbols, i)),
				   &is_new) = INSTRUMENTED;
	for (uint32_t i = 0; i < cpu->function_count; i++)
		if (!b->report->has_functions || cpu->functions[i].instrumented != HP_NONE)
			*hp_map_at(&b->functions,
				   key_of(model, cpu->functions[i].object, cpu->functions[i].name),
				   &is_new) = i + 1;
}

static bool may_have_row(struct build *b, const struct hp_frame_place *place, bool is_known)
{
	if (b->report->has_functions)
		return is_known;
	return !place->is_wrapper && !hp_wrapper_allocates(place->name) &&
	       !hp_offcpu_is_libc(b->report, place->object);
}

/* Many steps have the same place. */
static const struct answer *answer_of(struct build *b, const struct hp_alloc_step *step)
{
	struct answer *answer = &b->answers[step->code];
	const struct hp_frame_place *place;
	const uint32_t *found;

	if (answer->is_known)
		return answer;
	place = hp_frames_at(hp_alloc_frames(b->report), step->object, step->address);
	found = hp_map_find(&b->functions, key_of(&b->report->model, step->object, place->name));
	*answer = (struct answer){
		.is_known = true,
		.may_have_row = may_have_row(b, place, found != NULL),
		.row = found && *found != INSTRUMENTED ? *found - 1 : HP_NONE,
	};
	return answer;
}

static void step_add(struct build *b, uint32_t number)
{
	const struct hp_alloc *alloc = hp_alloc_of(b->report);
	const struct hp_alloc_sum *own = hp_alloc_own(alloc, number);
	bool is_inclusive = b->report->settings->cpu_is_inclusive;

	for (uint32_t at = number; at; at = alloc->steps[at].caller) {
		const struct answer *answer =
			alloc->steps[at].mark ? NULL : answer_of(b, &alloc->steps[at]);
		uint32_t row = answer ? answer->row : HP_NONE;

		if (!answer || !answer->may_have_row)
			continue;
		if (row != HP_NONE && b->stamps[row] != number) {
			b->stamps[row] = number;
			b->bound->rows[row].blocks += own->count;
			b->bound->rows[row].bytes += own->bytes;
		}
		if (!is_inclusive)
			return;
	}
}

void hp_bound_add_allocations(struct hp_report *report, struct hp_bound *bound)
{
	const struct hp_alloc *alloc = hp_alloc_of(report);
	struct build b = { .report = report, .bound = bound };

	bound->has_allocations = alloc != NULL;
	if (!alloc)
		return;
	b.stamps = hp_xcalloc(bound->count, sizeof(*b.stamps));
	b.answers = hp_xcalloc(alloc->code_count + 1, sizeof(*b.answers));
	functions_note(&b);
	for (uint32_t i = 1; i < alloc->count; i++)
		if (hp_alloc_own(alloc, i)->count)
			step_add(&b, i);
	hp_map_release(&b.functions);
	free(b.stamps);
	free(b.answers);
}
