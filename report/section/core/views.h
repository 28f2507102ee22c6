/* SPDX-License-Identifier: MIT */
/*
 * views.h - the subjects' views of a report's model: views, each under its
 * kind.
 *
 * The report does not know the subjects. It keeps the view that a subject
 * passes, returns it on demand, and frees it at its end. A kind is a constant of
 * the subject.
 */
#ifndef HP_REPORT_SECTION_CORE_VIEWS_H
#define HP_REPORT_SECTION_CORE_VIEWS_H

#include <stddef.h>

#define HP_VIEWS_MAX 24	/* kinds in one report */

struct hp_view_kind {
	void (*free)(void *view);

	/*
	 * Called instead if the same program will be refreshed: returns the start of
	 * the next refresh, or frees it and returns NULL. NULL = nothing of this kind
	 * outlives a refresh.
	 */
	void *(*keep)(void *view);
};

/* All zeroes at first. */
struct hp_views {
	struct {
		const struct hp_view_kind *kind;
		void *view;
	} list[HP_VIEWS_MAX];	/* in the order of making */
	size_t count;
};

/* NULL = not made yet. Getters call this for each cell: there are few kinds, and this is inline. */
static inline void *hp_views_get(const struct hp_views *views, const struct hp_view_kind *kind)
{
	for (size_t i = 0; i < views->count; i++)
		if (views->list[i].kind == kind)
			return views->list[i].view;
	return NULL;
}

/* Takes over `view`, of a new kind. Returns it. */
void *hp_views_add(struct hp_views *views, const struct hp_view_kind *kind, void *view);

/* Removes it for the caller. NULL = there was none. */
void *hp_views_take(struct hp_views *views, const struct hp_view_kind *kind);

/* Moves the reusable part to `next`, and keeps the rest. */
void hp_views_keep(struct hp_views *views, struct hp_views *next);

/* Frees all, the last one first. */
void hp_views_release(struct hp_views *views);

#endif
