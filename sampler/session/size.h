/* SPDX-License-Identifier: MIT */
/*
 * size.h - how large the program was, over time: a line of points in the segment.
 *
 * It has a fixed number of places.  When they are full, every second point goes,
 * and from then on half as many come: so a run of any length has between
 * half and all of them, evenly spread.
 */
#ifndef HP_SAMPLER_SESSION_SIZE_H
#define HP_SAMPLER_SESSION_SIZE_H

#include "segment/segment.h"

/* Makes the line for `watch`; without room in the segment there is none. */
struct hp_size_line *hp_sizes_new(const struct hp_segment *segment, struct hp_watch *watch);

/* Bytes of the blocks that live processes hold, as their heaps say; -1 = none records allocations. */
int64_t hp_sizes_live(const struct hp_segment *segment);

/* What a look has found; `live` is the line's, or NULL; `line` may be NULL. */
void hp_sizes_add(struct hp_size_line *line, uint64_t *live, const struct hp_size_point *point,
		  uint64_t live_bytes);

#endif
