/* SPDX-License-Identifier: MIT */
/*
 * rows.c - the sums of call paths and of functions that allocate.
 *
 * A row of the sites is a call path without the allocator's wrappers at its inner
 * end: paths that differ only in those are one row.  A row of functions has
 * allocations made directly in it, and those with it on the path.
 *
 * Both are made once, and later refreshes only add changes.  A function counts once
 * for a path, however often it is on it: at its outermost step.  `outer` skips the
 * other steps: it leads from such a step to the next one outward, so that a deep
 * recursion is a short way.
 */
#include <stdlib.h>
#include <string.h>

#include "report/section/memory/view.h"
#include "report/base/memory.h"
#include "util/hash.h"

#define IS_OUTER (UINT32_C(1) << 31)	/* in link.outer: the step itself is an outer one */

struct hp_frame_place *hp_alloc_place(struct hp_alloc_view *view, uint32_t step)
{
	const struct hp_alloc_step *s = &view->alloc.steps[step];
	uint32_t *place = &view->place_of[s->code];

	if (!*place)
		*place = hp_frames_number(view->frames, s->object, s->address) + 1;
	return hp_frames_place(view->frames, *place - 1);
}

/* --- parallel to the steps --- */

static void *longer(void *array, size_t count, size_t room, size_t size)
{
	char *bytes;

	/* Most of it may never be used: fresh pages cost nothing until then. */
	if (!array)
		return hp_xcalloc(room, size);
	bytes = hp_xrealloc(array, room, size);
	memset(bytes + count * size, 0, (room - count) * size);
	return bytes;
}

void hp_alloc_codes_make(struct hp_alloc_view *view)
{
	size_t room = view->alloc.code_count + 1, before = view->code_room;

	/* Numbers are others. */
	if (view->alloc.is_fresh && before)
		memset(view->place_of, 0, before * sizeof(*view->place_of));
	if (room <= before)
		return;
	room += before ? room / 4 : 0;
	view->place_of = longer(view->place_of, before, room, sizeof(*view->place_of));
	view->code_room = room;
}

static void room_make(struct hp_alloc_view *view)
{
	size_t room = view->alloc.count, before = view->step_room;

	if (room <= before)
		return;
	room += before ? room / 4 : 0;
	view->folded = longer(view->folded, before, room, sizeof(*view->folded));
	view->site_of = longer(view->site_of, before, room, sizeof(*view->site_of));
	view->links = longer(view->links, before, room, sizeof(*view->links));
	view->spread_of = longer(view->spread_of, before, room, sizeof(*view->spread_of));
	view->step_room = room;
}

void hp_alloc_rows_free(struct hp_alloc_view *view)
{
	for (size_t i = 0; i < view->site_count; i++) {
		free(view->sites[i].name);
		free(view->sites[i].frames);
	}
	for (size_t i = 0; i < view->row_count; i++)
		free(view->rows[i].name);
	free(view->sites);
	free(view->rows);
	free(view->inclusive);
	free(view->folded);
	free(view->site_of);
	free(view->links);
	free(view->spread_of);
	hp_alloc_changes_clear(&view->changes);
	view->sites = view->rows = NULL;
	view->inclusive = NULL;
	view->folded = view->site_of = view->spread_of = NULL;
	view->links = NULL;
	view->site_count = view->site_room = view->row_count = view->step_room = 0;
	view->link_count = view->pending_count = 0;
}

/* --- names that may still be found --- */

void hp_alloc_name_note(struct hp_alloc_view *view, const struct hp_alloc_row *row, uint64_t before)
{
	/* Rows of functions start again when a name arrives; others last for one refresh. */
	if (hp_frames_pending(view->frames) == before || row < view->sites ||
	    row >= view->sites + view->site_count)
		return;
	view->pending = hp_xgrow(view->pending, view->pending_count, &view->pending_room,
				 sizeof(*view->pending));
	view->pending[view->pending_count++] = (uint32_t)(row - view->sites);
}

void hp_alloc_names_forget(struct hp_alloc_view *view)
{
	for (size_t i = 0; i < view->pending_count; i++) {
		struct hp_alloc_row *row = &view->sites[view->pending[i]];

		free(row->name);
		free(row->frames);
		row->name = row->frames = NULL;
	}
	view->pending_count = 0;
}

/* --- sites --- */

static uint32_t folded_find(struct hp_alloc_view *view, uint32_t step)
{
	const struct hp_alloc_step *steps = view->alloc.steps;
	uint32_t at = step;

	while (at && !steps[at].mark && hp_alloc_place(view, at)->is_wrapper)
		at = steps[at].caller;
	return at && !steps[at].mark ? at : step;
}

/* A function of the program was inlined into one of the C++ library, such as a lambda into a
 * thread's start. */
static bool has_own(struct hp_alloc_view *view, uint32_t step)
{
	const struct hp_alloc_step *at = &view->alloc.steps[step];

	return hp_frames_lines(view->frames, at->object, at->address)->has_own;
}

uint32_t hp_alloc_told(struct hp_alloc_view *view, uint32_t step)
{
	const struct hp_alloc_step *steps = view->alloc.steps;
	uint32_t at = step;

	while (at && !steps[at].mark && hp_alloc_place(view, at)->is_library && !has_own(view, at))
		at = steps[at].caller;
	return at && !steps[at].mark ? at : step;
}

uint32_t hp_alloc_folded(struct hp_alloc_view *view, uint32_t step)
{
	uint32_t *folded;

	hp_alloc_sites_make(view);
	folded = &view->folded[step];
	if (!*folded)
		*folded = folded_find(view, step) + 1;
	return *folded - 1;
}

static void site_add(struct hp_alloc_view *view, uint32_t step, const struct hp_alloc_sum *sum)
{
	uint32_t *folded = &view->folded[step], *place;

	if (!*folded)
		*folded = folded_find(view, step) + 1;
	place = &view->site_of[*folded - 1];
	if (!*place) {
		view->sites = hp_xgrow(view->sites, view->site_count, &view->site_room,
				       sizeof(*view->sites));
		view->sites[view->site_count++] = (struct hp_alloc_row){ .step = *folded - 1 };
		*place = (uint32_t)view->site_count;
	}
	hp_alloc_add(&view->sites[*place - 1].sum, sum);
	if (view->link_count)
		hp_alloc_change(&view->changes, *place - 1, sum);
}

void hp_alloc_sites_make(struct hp_alloc_view *view)
{
	struct hp_alloc *alloc = &view->alloc;
	bool is_stale = view->is_stale;

	if (view->has_sites)
		return;
	view->has_sites = true;
	view->is_stale = false;
	if (is_stale)
		hp_alloc_rows_free(view);
	room_make(view);
	for (uint32_t i = 0; is_stale && i < alloc->count; i++)
		if (hp_alloc_own(alloc, i)->count)
			site_add(view, i, hp_alloc_own(alloc, i));
	for (size_t i = 0; !is_stale && i < alloc->changes.count; i++)
		site_add(view, alloc->changes.list[i].place, &alloc->changes.list[i].sum);
	hp_alloc_changes_clear(&alloc->changes);
}

/* --- functions --- */

static uint32_t outer_of(const struct hp_alloc_view *view, uint32_t step)
{
	uint32_t outer = view->links[step].outer;

	return outer & IS_OUTER ? step : outer;
}

static bool is_further_out(const struct hp_alloc_view *view, uint32_t step, uint32_t function)
{
	for (; step; step = view->links[step].outer & ~IS_OUTER)
		if (view->links[step].function == function)
			return true;
	return false;
}

/* One bit per function: unset ones are on no path outward from here. */
static uint64_t bit_of(uint32_t function)
{
	return UINT64_C(1) << hp_hash_index(function + UINT64_C(1), 6);
}

/* Needed while links are first made; later there are few new ones. */
struct making {
	uint32_t *functions;	/* by code: number + 1 */
	uint64_t *met;	/* by step: bits of the functions from there out; NULL = not known */
};

static uint32_t function_at(struct hp_alloc_view *view, const struct making *making, uint32_t step)
{
	const struct hp_alloc_step *s = &view->alloc.steps[step];
	uint32_t *function = &making->functions[s->code];

	if (s->mark)
		return UINT32_MAX;
	if (!*function)
		*function = hp_alloc_place(view, step)->function + 1;
	return *function - 1;
}

static void link_make(struct hp_alloc_view *view, const struct making *making, uint32_t i)
{
	uint32_t caller = view->alloc.steps[i].caller, outer = outer_of(view, caller);
	uint32_t function = function_at(view, making, i);
	bool is_code = function != UINT32_MAX;
	uint64_t met = making->met ? making->met[caller] : UINT64_MAX;
	uint64_t bit = is_code ? bit_of(function) : 0;
	bool is_outer = is_code && (!(met & bit) || !is_further_out(view, outer, function));

	view->links[i] = (struct hp_alloc_link){ function, outer | (is_outer ? IS_OUTER : 0) };
	if (making->met)
		making->met[i] = met | bit;
}

/* A caller's place is lower: it has its link. */
static void links_make(struct hp_alloc_view *view)
{
	const struct hp_alloc *alloc = &view->alloc;
	struct making making = {
		.functions = hp_xcalloc(alloc->code_count + 1, sizeof(*making.functions)),
	};

	if (!view->link_count) {
		making.met = hp_xmalloc(alloc->count * sizeof(*making.met));
		making.met[0] = 0;
		view->links[0] = (struct hp_alloc_link){ UINT32_MAX, 0 };
		view->link_count = 1;
	}
	for (uint32_t i = (uint32_t)view->link_count; i < alloc->count; i++)
		link_make(view, &making, i);
	view->link_count = alloc->count;
	free(making.functions);
	free(making.met);
}

static void rows_make(struct hp_alloc_view *view)
{
	size_t count = hp_frames_functions(view->frames);

	if (count <= view->row_count)
		return;
	view->rows = longer(view->rows, view->row_count, count, sizeof(*view->rows));
	view->inclusive = longer(view->inclusive, view->row_count, count, sizeof(*view->inclusive));
	for (; view->row_count < count; view->row_count++) {
		view->rows[view->row_count].function = (uint32_t)view->row_count;
		view->rows[view->row_count].is_function = true;
	}
}

static void own_make(struct hp_alloc_view *view)
{
	for (size_t i = 0; i < view->site_count; i++) {
		const struct hp_alloc_row *site = &view->sites[i];
		uint32_t function = view->links[hp_alloc_told(view, site->step)].function;

		if (function != UINT32_MAX)
			hp_alloc_add(&view->rows[function].sum, &site->sum);
	}
}

/*
 * All paths at once, from the leaves down: a caller's place is lower. `below` has a zero for each
 * step, and then what was allocated with it on the path: first blocks, and then bytes, since a
 * million paths have three million steps.
 */
static void inclusive_make(struct hp_alloc_view *view, uint64_t *below, bool is_bytes)
{
	const struct hp_alloc_step *steps = view->alloc.steps;

	for (size_t i = 0; i < view->site_count; i++)
		below[view->sites[i].step] +=
			is_bytes ? view->sites[i].sum.bytes : view->sites[i].sum.count;
	for (size_t i = view->alloc.count; i-- > 1;) {
		const struct hp_alloc_link *link = &view->links[i];

		if (link->outer & IS_OUTER && is_bytes)
			view->inclusive[link->function].bytes += below[i];
		else if (link->outer & IS_OUTER)
			view->inclusive[link->function].count += below[i];
		below[steps[i].caller] += below[i];
		below[i] = 0;
	}
	below[0] = 0;
}

static void sums_make(struct hp_alloc_view *view)
{
	uint64_t *below = hp_xcalloc(view->alloc.count, sizeof(*below));

	own_make(view);
	inclusive_make(view, below, false);
	inclusive_make(view, below, true);
	free(below);
}

static void caller_add(struct hp_alloc_view *view, uint32_t step, const struct hp_alloc_sum *sum)
{
	const struct hp_alloc_link *links = view->links;
	uint32_t function = links[hp_alloc_told(view, step)].function;

	if (function != UINT32_MAX)
		hp_alloc_add(&view->rows[function].sum, sum);
	for (uint32_t at = outer_of(view, step); at; at = links[at].outer & ~IS_OUTER) {
		struct hp_alloc_sum *inclusive = &view->inclusive[links[at].function];

		if (view->is_cumulative) {
			hp_alloc_add(inclusive, sum);
			continue;
		}
		inclusive->count += sum->count;
		inclusive->bytes += sum->bytes;
	}
}

void hp_alloc_callers_make(struct hp_alloc_view *view)
{
	bool is_first;

	hp_alloc_sites_make(view);
	if (view->has_rows)
		return;
	view->has_rows = true;
	is_first = !view->link_count;
	links_make(view);
	rows_make(view);
	if (is_first && !view->is_cumulative)
		sums_make(view);
	for (size_t i = 0; is_first && view->is_cumulative && i < view->site_count; i++)
		caller_add(view, view->sites[i].step, &view->sites[i].sum);
	for (size_t i = 0; !is_first && i < view->changes.count; i++)
		caller_add(view, view->sites[view->changes.list[i].place].step,
			   &view->changes.list[i].sum);
	hp_alloc_changes_clear(&view->changes);
}
