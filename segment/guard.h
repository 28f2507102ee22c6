/* SPDX-License-Identifier: MIT */
/*
 * guard.h - a segment whose file is made shorter while it is read or written.
 *
 * A load from beyond a file's end is a SIGBUS.  A memfd of ours is sealed against that; a file at
 * HOTPATH_SEGMENT_PATH cannot be, and of another user's session we may have been given
 * anything.  With the guard the page that is missing is there, full of zeros, which every reader
 * takes for a damaged record.
 *
 * For our own processes only: in the target the handler of SIGBUS is the program's.
 */
#ifndef HP_SEGMENT_GUARD_H
#define HP_SEGMENT_GUARD_H

#include <stdbool.h>

#include "segment/segment.h"

/* From now on in this process.  A SIGBUS elsewhere goes to whoever had it before. */
void hp_guard_start(void);

/* The segment may lose its end.  Without a guard, or where it is sealed, nothing is done. */
void hp_guard_add(const struct hp_segment *segment, int fd);
void hp_guard_remove(const struct hp_segment *segment);

/* True if a page was missing. */
bool hp_guard_has_met(void);

#endif
