/* SPDX-License-Identifier: MIT */
/*
 * inherit.h - what a heap has from those who had it before, in earlier processes of this executable.
 *
 * A compiler runs for some milliseconds and does hardly anything twice. So most of its cost was
 * reading unwind information and finding known paths in the tree, and the process before it had
 * done the same. Rules are therefore kept in the segment, and the hashes of known paths are
 * made from their steps. Both wait until the process has done a small part of the work itself,
 * since a forked child may end after a few allocations.
 */
#ifndef HP_PRELOAD_HEAP_INHERIT_H
#define HP_PRELOAD_HEAP_INHERIT_H

#include "preload/heap/heap.h"

/*
 * A chunk of steps that another process has made: all of it lies before `end`, as a chunk lies behind older
 * ones, so each list ends. `count` is the number of its steps. NULL = there is none, or no such place.
 */
struct hp_steps *hp_steps_before(const struct hp_heap_local *me, uint64_t at, uint64_t end,
				 uint32_t *count);

/* The site of a step that another process has made. NULL = none, or no such place. */
static inline struct hp_site *hp_step_site(const struct hp_heap_local *me, uint32_t site)
{
	return hp_heap_at(me, (uint64_t)site * HP_LINE, sizeof(struct hp_site));
}

/* A new heap of this process; `oldest` is its first chunk of steps, NULL = it has none yet. */
void hp_inherit_begin(struct hp_heap_local *me, struct hp_steps *oldest, uint64_t steps);

/* A walk made rows, or a path was not known: reads what there is once that is worthwhile. */
void hp_inherit_rules(struct hp_heap_local *me);
void hp_inherit_paths(struct hp_heap_local *me);

#endif
