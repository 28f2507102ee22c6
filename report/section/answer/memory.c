/* SPDX-License-Identifier: MIT */
/*
 * memory.c - the holders of memory at its peak, the largest leftovers, the most blocks.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/section/answer/answer.h"
#include "report/section/answer/owner.h"
#include "report/section/memory/view.h"

#define PEAK_MIN (UINT64_C(1) << 20)	/* bytes at the peak, or */
#define BLOCKS_MIN 10000	/* blocks: less memory isn't worth mentioning */
#define LEFT_MIN (UINT64_C(100) << 10)	/* bytes of one path, for a row */
#define PEAK_SHARE_MIN 0.1	/* of the peak, for a row */
#define KEPT_MIN 0.9	/* of a path's bytes at the peak: they were not freed */
#define GROUP_MIN 0.5	/* of all, for a row of many small paths */
#define SHARE_MIN 0.2	/* of all blocks, or of what is left, for a row */

static uint64_t positive(int64_t number)
{
	return number > 0 ? (uint64_t)number : 0;
}

/* Of a kind: how much a path has. */
static uint64_t weight(const struct hp_alloc_row *row, enum hp_answer_held kind)
{
	switch (kind) {
	case HP_ANSWER_PEAK:
		return positive(row->sum.peak_bytes);
	case HP_ANSWER_LEFT:
		return positive(row->sum.live_bytes);
	default:
		return row->sum.count;
	}
}

static struct hp_alloc_row *most_of(struct hp_alloc_view *view, enum hp_answer_held kind)
{
	struct hp_alloc_row *most = NULL;

	for (size_t i = 0; i < view->site_count; i++)
		if (weight(&view->sites[i], kind) > (most ? weight(most, kind) : 0))
			most = &view->sites[i];
	return most;
}

static bool is_worth(const struct hp_report *report, const struct hp_answer *answer,
		     enum hp_answer_held kind, uint64_t most)
{
	switch (kind) {
	case HP_ANSWER_PEAK:
		return answer->heap_peak >= PEAK_MIN &&
		       (double)most >= PEAK_SHARE_MIN * (double)answer->heap_peak;
	case HP_ANSWER_LEFT:
		return !report->record.is_live && most >= LEFT_MIN &&
		       (double)most >= SHARE_MIN * (double)answer->heap_left;
	default:
		return answer->heap_blocks >= BLOCKS_MIN &&
		       (double)most >= SHARE_MIN * (double)answer->heap_blocks;
	}
}

/* Everything that it has at the peak is still there at the end. */
static bool is_kept(const struct hp_alloc_row *row)
{
	return (double)weight(row, HP_ANSWER_LEFT) >=
	       KEPT_MIN * (double)weight(row, HP_ANSWER_PEAK);
}

/* --- many small paths of one function --- */

/* All paths whose innermost function of the program is the same. */
struct group {
	struct hp_alloc_row *most; /* the largest of them */
	uint32_t step; /* where that one is in the function */
	uint64_t weight;
	uint64_t bytes;
	uint64_t blocks;
};

/* The innermost step in a file of the program; 0 = there is none. */
static uint32_t own_step(const struct hp_report *report, struct hp_alloc_view *view, uint32_t step)
{
	const struct hp_alloc_step *steps = view->alloc.steps;

	for (; step && !steps[step].mark; step = steps[step].caller) {
		const struct hp_frame_place *place;

		if (!hp_owner_is_program(report, steps[step].object))
			continue;
		place = hp_alloc_place(view, step);
		if (!place->is_wrapper && !place->is_library)
			return step;
	}
	return 0;
}

static void group_add(struct group *group, struct hp_alloc_row *row, uint32_t step,
		      enum hp_answer_held kind)
{
	if (!group->most || weight(row, kind) > weight(group->most, kind)) {
		group->most = row;
		group->step = step;
	}
	group->weight += weight(row, kind);
	group->bytes += kind == HP_ANSWER_BLOCKS ? row->sum.bytes : weight(row, kind);
	group->blocks += kind == HP_ANSWER_LEFT ? positive(row->sum.live) : row->sum.count;
}

static struct group group_find(struct hp_report *report, enum hp_answer_held kind)
{
	struct hp_alloc_view *view = hp_alloc_view(report);
	struct hp_map places = HP_MAP_NONE;
	struct group *groups = NULL, most = { .most = NULL };
	size_t count = 0, room = 0;

	for (size_t i = 0; i < view->site_count; i++) {
		uint32_t step = own_step(report, view, view->sites[i].step), function, *place;
		bool is_new;

		if (!step || !weight(&view->sites[i], kind))
			continue;
		function = hp_alloc_place(view, step)->function;
		place = hp_map_at(&places, function + UINT64_C(1), &is_new);
		if (is_new) {
			groups = hp_xgrow(groups, count, &room, sizeof(*groups));
			groups[count] = (struct group){ .most = NULL };
			*place = (uint32_t)count++;
		}
		group_add(&groups[*place], &view->sites[i], step, kind);
		if (groups[*place].weight > most.weight)
			most = groups[*place];
	}
	free(groups);
	hp_map_release(&places);
	return most;
}

/* The path without a library's own functions: it starts with the program's, perhaps an inlined one. */
static char *group_path(struct hp_report *report, const struct group *group)
{
	struct hp_alloc_view *view = hp_alloc_view(report);
	const struct hp_alloc_step *step = &view->alloc.steps[group->step];
	const char *name = hp_frames_lines(view->frames, step->object, step->address)->frames->name;
	const char *own = strstr(hp_alloc_row_name(report, group->most), name);

	return hp_answer_path(report, own ? own : name);
}

static void group_row_add(struct hp_report *report, struct hp_answer *answer,
			  enum hp_answer_held kind, uint64_t all)
{
	struct group group = group_find(report, kind);

	if (!group.most || kind == HP_ANSWER_LEFT ||
	    !is_worth(report, answer, kind, group.weight) ||
	    (double)group.weight < GROUP_MIN * (double)all)
		return;
	answer->memory[answer->memory_count++] = (struct hp_answer_memory){
		.kind = kind,
		.path = group_path(report, &group),
		.bytes = group.bytes,
		.blocks = group.blocks,
		.all = all,
	};
}

/* --- rows --- */

static void row_add(struct hp_report *report, struct hp_answer *answer, enum hp_answer_held kind,
		    uint64_t all)
{
	struct hp_alloc_row *row = most_of(hp_alloc_view(report), kind);

	if (!row || !is_worth(report, answer, kind, weight(row, kind))) {
		group_row_add(report, answer, kind, all);
		return;
	}
	if (kind == HP_ANSWER_LEFT && row == most_of(hp_alloc_view(report), HP_ANSWER_PEAK) &&
	    answer->memory_count && is_kept(row)) {
		answer->memory[0].is_kept = true;
		return;
	}
	answer->memory[answer->memory_count++] = (struct hp_answer_memory){
		.kind = kind,
		.path = hp_answer_path(report, hp_alloc_row_name(report, row)),
		.bytes = kind == HP_ANSWER_BLOCKS ? row->sum.bytes : weight(row, kind),
		.blocks = kind == HP_ANSWER_LEFT ? positive(row->sum.live) : row->sum.count,
		.all = all,
	};
}

void hp_answer_memory_make(struct hp_report *report, struct hp_answer *answer)
{
	const struct hp_alloc *alloc = hp_alloc_of(report);

	if (!alloc || !alloc->is_recorded || !alloc->all.count)
		return;
	answer->has_heap = true;
	answer->heap_peak = positive(alloc->all.peak_bytes);
	answer->heap_left = positive(alloc->all.live_bytes);
	answer->heap_bytes = alloc->all.bytes;
	answer->heap_blocks = alloc->all.count;
	if (answer->heap_peak < PEAK_MIN && answer->heap_blocks < BLOCKS_MIN)
		return;
	hp_alloc_sites_make(hp_alloc_view(report));
	row_add(report, answer, HP_ANSWER_PEAK, answer->heap_peak);
	row_add(report, answer, HP_ANSWER_LEFT, answer->heap_left);
	row_add(report, answer, HP_ANSWER_BLOCKS, answer->heap_blocks);
}
