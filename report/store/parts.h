/* SPDX-License-Identifier: MIT */
/*
 * parts.h - maps the segments of a session side by side, for one reader.
 *
 * Processes with fewer privileges than the session's first one have their own
 * segments. Their offsets do not overlap, so all are mapped into one address
 * range, each at its offsets, and read as one segment. hp_reader_init finds the
 * list heads in each header.
 */
#ifndef HP_REPORT_STORE_PARTS_H
#define HP_REPORT_STORE_PARTS_H

#include <stdbool.h>

#include "segment/segment.h"

/*
 * Maps `count` further segments after `segment`, which was mapped from `fd`:
 * only those that match its table and are sealed. The caller keeps the
 * descriptors, open until the last call of hp_kept_write. False = no room, and
 * `segment` is unchanged.
 */
bool hp_parts_join(struct hp_segment *segment, int fd, const int *fds, unsigned count);

/* The same for a kept run, where they follow each other. */
void hp_parts_adopt(struct hp_segment *segment);

/* For a live session: requests new segments from its helper and keeps them open. */
void hp_parts_ask(struct hp_segment *segment, int fd);
void hp_parts_close(struct hp_segment *segment);

/* hp_segment_records_most() of all of them, for a refresh of a growing segment. */
uint64_t hp_parts_records_most(const struct hp_segment *segment, int fd);

/*
 * The descriptors that the helper passed to the report of an ended session.
 * Returns their number.
 */
unsigned hp_parts_given(int fds[HP_LEVELS_MAX]);

#endif
