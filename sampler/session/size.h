/* SPDX-License-Identifier: MIT */
/*
 * size.h - the program's size over time: a line of points in the segment.
 *
 * It has a fixed number of places. When they are full, every second point is
 * dropped, and from then on the rate is halved: so a run of any length has
 * between half and all of them, evenly spread.
 */
#ifndef HP_SAMPLER_SESSION_SIZE_H
#define HP_SAMPLER_SESSION_SIZE_H

#include <stdbool.h>

#include "segment/segment.h"
#include "segment/layout/watch.h"

/* The size and the room are private: members may write the line. */
struct hp_sizes {
	struct hp_size_line *line;	/* NULL = no room in the segment */
	uint64_t *live;	/* bytes, beside its points */
	uint32_t capacity;
	uint32_t count;
	uint32_t every;
	uint32_t looks;
};

/* Creates the line for `watch`, if there is room in the segment. */
void hp_sizes_init(struct hp_sizes *sizes, const struct hp_segment *segment,
		   struct hp_watch *watch);

/* Bytes in blocks of live processes, according to their heaps; -1 = none records allocations. */
int64_t hp_sizes_live(const struct hp_segment *segment);

/* What the same scan found open in all live members; 0 = unknown. */
void hp_sizes_note_descriptors(struct hp_sizes *sizes, uint32_t count);

/* The result of a scan; bytes are recorded if there are any (`has_live`). */
void hp_sizes_add(struct hp_sizes *sizes, const struct hp_size_point *point, bool has_live,
		  uint64_t live_bytes);

#endif
