/* SPDX-License-Identifier: MIT */
/*
 * views.h - the subjects' views of a report's model: views, each under its
 * kind.
 *
 * The report knows no subject.  It keeps the view that a subject gives it, hands
 * it back on demand, and frees it at its end.  A kind is a constant of the
 * subject's own.
 */
#ifndef HP_REPORT_SECTION_CORE_VIEWS_H
#define HP_REPORT_SECTION_CORE_VIEWS_H

#include <stddef.h>

#define HP_VIEWS_MAX 24	/* kinds in one report */

struct hp_view_kind {
	void (*free)(void *view);

	/*
	 * Instead of that, where the same program is looked at again: returns the
	 * start of the next refresh, or frees it and returns NULL.  NULL = nothing of
	 * this kind outlives a refresh.
	 */
	void *(*keep)(void *view);
};

/* All zeroes at first. */
struct hp_views {
	struct {
		const struct hp_view_kind *kind;
		void *view;
	} list[HP_VIEWS_MAX]; /* in the order of making */
	size_t count;
};

/* NULL = not made yet.  Getters ask for each cell: there are few kinds, and this is inline. */
static inline void *hp_views_get(const struct hp_views *views, const struct hp_view_kind *kind)
{
	for (size_t i = 0; i < views->count; i++)
		if (views->list[i].kind == kind)
			return views->list[i].view;
	return NULL;
}

/* Takes over `view`, of a kind that is not there yet.  Returns it. */
void *hp_views_add(struct hp_views *views, const struct hp_view_kind *kind, void *view);

/* Takes it out: it is the caller's.  NULL = it was not there. */
void *hp_views_take(struct hp_views *views, const struct hp_view_kind *kind);

/* Moves the reusable part to `next`; the rest stays where it is. */
void hp_views_keep(struct hp_views *views, struct hp_views *next);

/* Frees all, the last one first. */
void hp_views_release(struct hp_views *views);

#endif
