/* SPDX-License-Identifier: MIT */
/*
 * spots.c - see spots.h.
 */
#include "report/section/finding/spots.h"

#include <stdlib.h>

#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/section/answer/owner.h"

#define AROUND 256 /* bytes before and after the loop: code that shares its samples, if it */
#define AROUND_MAX 0.1 /* does more than that */

static int compare(const void *left, const void *right)
{
	const struct hp_spot *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

struct hp_spots hp_spots_make(const struct hp_survey *survey)
{
	const struct hp_model_sampling *sampling = &survey->report->model.sampling;
	const struct hp_owners *owners = hp_owners_of(survey->report);
	const struct hp_cpu *cpu = hp_report_cpu(survey->report);
	struct hp_spots spots = { .count = 0 };
	struct hp_map places = HP_MAP_NONE;

	for (uint32_t i = 1; i < owners->count; i++) {
		const struct hp_model_stack *stack = &sampling->stacks[i];
		const struct hp_cpu_place *place = &cpu->places[cpu->of_stack[i]];
		uint32_t owner = owners->of_stack[i].function, *at;
		bool is_new;

		if (!stack->samples || stack->is_profiler || owner == HP_NONE ||
		    place->object == HP_NONE ||
		    survey->report->model.objects[place->object].is_profiler)
			continue;
		at = hp_map_at(&places, (uint64_t)owner << 32 | cpu->of_stack[i], &is_new);
		if (is_new) {
			*at = (uint32_t)spots.count;
			spots.list =
				hp_xgrow(spots.list, spots.count, &spots.room, sizeof(*spots.list));
			spots.list[spots.count++] =
				(struct hp_spot){ place->object, owner, place->address, 0, 0 };
		}
		spots.list[*at].ns += stack->cpu_ns;
		spots.list[*at].samples += stack->samples;
	}
	hp_map_release(&places);
	if (spots.count)
		qsort(spots.list, spots.count, sizeof(*spots.list), compare);
	return spots;
}

struct hp_spot hp_spots_sum(const struct hp_spots *spots, const struct hp_spot *of, uint64_t begin,
			    uint64_t end)
{
	struct hp_spot sum = { of->object, of->function, begin, 0, 0 };

	for (size_t i = 0; i < spots->count; i++) {
		const struct hp_spot *spot = &spots->list[i];

		if (spot->object != of->object || spot->function != of->function ||
		    spot->address < begin || spot->address >= end)
			continue;
		sum.ns += spot->ns;
		sum.samples += spot->samples;
	}
	return sum;
}

bool hp_spots_are_alone(const struct hp_spots *spots, const struct hp_spot *sum,
			const struct hp_code_loop *loop)
{
	uint64_t begin = loop->begin > AROUND ? loop->begin - AROUND : 0;
	struct hp_spot all = hp_spots_sum(spots, sum, begin, loop->end + AROUND);

	return (double)(all.ns - sum->ns) <= AROUND_MAX * (double)sum->ns;
}
