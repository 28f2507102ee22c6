/* SPDX-License-Identifier: MIT */
/*
 * path_site.h - the site of a call, from the path cache or by a walk.
 *
 * Separate from path.h, so that path.c, which has the walk, does not depend
 * on the header that calls it.
 */
#ifndef HP_PRELOAD_HEAP_PATH_SITE_H
#define HP_PRELOAD_HEAP_PATH_SITE_H

#include "preload/heap/path.h"

/* The site of the call with this frame. */
static inline __attribute__((always_inline)) struct hp_site *hp_path_site(
	struct hp_heap_local *me, struct hp_path_frame frame)
{
	uint32_t number = hp_path_expected(me);
	const struct hp_path_entry *entry = hp_path_numbered(me, number);

	if (HP_UNLIKELY(!hp_path_fits(entry, frame.pc, frame.sp, frame.fp)))
		return hp_path_miss(me, frame.pc, frame.sp, frame.fp);
	me->latest = number;
	return hp_heap_site(me, entry->site);
}

#endif
