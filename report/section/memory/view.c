/* SPDX-License-Identifier: MIT */
/*
 * view.c - see view.h: reads allocations, across refreshes.
 */
#include "report/section/memory/view.h"

#include <stdlib.h>

#include "report/base/memory.h"

static void maps_free(struct hp_alloc_view *view)
{
	for (size_t i = 0; i < view->map_count; i++) {
		free(view->maps[i].row.name);
		free(view->maps[i].row.frames);
	}
	free(view->maps);
}

/* Data of one refresh. */
static void look_free(struct hp_alloc_view *view)
{
	maps_free(view);
	free(view->charged);
	if (view->has_charges)
		hp_charges_release(&view->charges);
	view->charged = NULL;
	view->charged_count = view->map_count = 0;
	view->maps = NULL;
	view->has_charges = view->has_maps = false;
	view->has_sites = view->has_rows = view->has_spreads = false;
}

static void look(struct hp_alloc_view *view, struct hp_report *report)
{
	if (view->is_kept)
		hp_alloc_look(&view->alloc, &report->model);
	else
		hp_alloc_init(&view->alloc, &report->model);
	view->is_stale |= view->alloc.is_fresh;
	view->is_cumulative = report->settings->alloc_cumulative;
	if (!view->frames)
		view->frames = hp_frames_new(&report->model, report->symbols,
					     report->settings->alloc_wrappers);
	else
		view->is_stale |= hp_frames_look(view->frames, report->symbols);
	hp_alloc_names_forget(view);
	hp_alloc_codes_make(view);
}

static void view_free(void *held)
{
	struct hp_alloc_view *view = held;

	look_free(view);
	hp_alloc_rows_free(view);
	hp_alloc_changes_release(&view->changes);
	free(view->pending);
	free(view->spread_next);
	free(view->place_of);
	hp_frames_free(view->frames);
	hp_alloc_release(&view->alloc);
	free(view);
}

static void *view_keep(void *held)
{
	look_free(held);
	return held;
}

struct hp_alloc_view *hp_alloc_view(const struct hp_report *asked)
{
	static const struct hp_view_kind kind = { .free = view_free, .keep = view_keep };
	struct hp_report *report = (struct hp_report *)(uintptr_t)asked;
	struct hp_alloc_view *view = hp_views_get(&report->views, &kind);

	if (view)
		return view;
	view = hp_report_carried(report, &kind);
	if (!view)
		view = hp_xcalloc(1, sizeof(*view));
	hp_views_add(&report->views, &kind, view);
	view->is_kept = report->record.carry != NULL;
	look(view, report);
	return view;
}

const struct hp_charges *hp_alloc_charges(const struct hp_report *asked)
{
	struct hp_report *report = (struct hp_report *)(uintptr_t)asked;
	struct hp_alloc_view *view = hp_alloc_view(report);

	if (!view->has_charges)
		hp_charges_init(&view->charges, &report->model);
	view->has_charges = true;
	return &view->charges;
}

const struct hp_alloc *hp_alloc_of(const struct hp_report *report)
{
	const struct hp_alloc *alloc = &hp_alloc_view(report)->alloc;

	return alloc->is_recorded ? alloc : NULL;
}

struct hp_frames *hp_alloc_frames(struct hp_report *report)
{
	return hp_alloc_of(report) ? hp_alloc_view(report)->frames : NULL;
}
