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

/* A new heap of this process; `oldest` is its first chunk of steps, NULL = it has none yet. */
void hp_inherit_begin(struct hp_heap_local *me, struct hp_steps *oldest, uint64_t steps);

/* A walk made rows, or a path was not known: reads what there is once that is worthwhile. */
void hp_inherit_rules(struct hp_heap_local *me);
void hp_inherit_paths(struct hp_heap_local *me);

#endif
