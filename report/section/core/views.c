/* SPDX-License-Identifier: MIT */
/*
 * views.c - see views.h.
 */
#include "report/section/core/views.h"

#include <stdlib.h>
#include <string.h>

void *hp_views_add(struct hp_views *views, const struct hp_view_kind *kind, void *view)
{
	if (views->count == HP_VIEWS_MAX)
		abort();	/* more kinds than HP_VIEWS_MAX exist */
	views->list[views->count].kind = kind;
	views->list[views->count++].view = view;
	return view;
}

void *hp_views_take(struct hp_views *views, const struct hp_view_kind *kind)
{
	for (size_t i = 0; i < views->count; i++) {
		void *view = views->list[i].view;

		if (views->list[i].kind != kind)
			continue;
		views->count--;
		memmove(&views->list[i], &views->list[i + 1],
			(views->count - i) * sizeof(views->list[i]));
		return view;
	}
	return NULL;
}

void hp_views_keep(struct hp_views *views, struct hp_views *next)
{
	for (size_t i = views->count; i-- > 0;) {
		const struct hp_view_kind *kind = views->list[i].kind;
		void *kept;

		if (!kind->keep)
			continue;
		kept = kind->keep(hp_views_take(views, kind));
		if (kept)
			hp_views_add(next, kind, kept);
	}
}

void hp_views_release(struct hp_views *views)
{
	while (views->count) {
		views->count--;
		views->list[views->count].kind->free(views->list[views->count].view);
	}
}
