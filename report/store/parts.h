/* SPDX-License-Identifier: MIT */
/*
 * parts.h - the segments of a session side by side, for a reader of all.
 *
 * Processes that may do less than the session's first one have segments of their own.  Their offsets
 * do not overlap, so they are mapped into one range of addresses, each where its records begin,
 * and read as one segment; what only the header of each has, the heads of lists, hp_reader_init finds.
 */
#ifndef HP_REPORT_STORE_PARTS_H
#define HP_REPORT_STORE_PARTS_H

#include <stdbool.h>

#include "segment/segment.h"

/*
 * Maps `count` further segments behind `segment`, which was mapped from `fd`: those that fit to what
 * it says of them, and are sealed.  The descriptors stay the caller's, and open for as long as hp_kept_write
 * may be called.  False = there was no room, and `segment` is as before.
 */
bool hp_parts_join(struct hp_segment *segment, int fd, const int *fds, unsigned count);

/* The same for a kept run, in which they stand behind each other. */
void hp_parts_adopt(struct hp_segment *segment);

/* Of a session that goes on: asks its helper for those that are not there yet, and has them open. */
void hp_parts_ask(struct hp_segment *segment, int fd);
void hp_parts_close(struct hp_segment *segment);

/* hp_segment_records_most() of all of them, for a look at a segment that grows. */
uint64_t hp_parts_records_most(const struct hp_segment *segment, int fd);

/* The descriptors that the helper gave to the report of a session that ended.  Returns how many. */
unsigned hp_parts_given(int fds[HP_LEVELS_MOST]);

#endif
