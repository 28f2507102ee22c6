/* SPDX-License-Identifier: MIT */
/*
 * path_site.h - the site of a call: by the path cache, or by a walk.
 *
 * Apart from path.h, so that the walk after it (path.c) does not come back to
 * the header that it was called from.
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
