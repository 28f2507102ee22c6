/* SPDX-License-Identifier: MIT */
/*
 * guard.h - survive a segment file that is truncated while in use.
 *
 * A load beyond a file's end raises SIGBUS. Our memfd is sealed against
 * truncation; a file at HOTPATH_SEGMENT_PATH cannot be, and another user's
 * session may pass us anything. The guard maps a page of zeros in place of a
 * missing one, which every reader treats as a damaged record.
 *
 * Only for our own processes: in the target SIGBUS belongs to the program.
 */
#ifndef HP_SEGMENT_GUARD_H
#define HP_SEGMENT_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "segment/segment.h"

/* Installs the handler in this process. Any other SIGBUS goes to the previous handler. */
void hp_guard_start(void);

/*
 * Guards a segment that may be truncated. Does nothing without a handler, or if
 * the file is sealed.
 */
void hp_guard_add(const struct hp_segment *segment, int fd);
void hp_guard_remove(const struct hp_segment *segment);

/* True if a page of a segment was missing. */
bool hp_guard_has_met(void);

/*
 * The same for another file's mapping at `begin`, which becomes writable where a
 * page was missing. False = not guarded: no handler here, or too many ranges.
 */
bool hp_guard_range_add(void *begin, size_t size);
void hp_guard_range_remove(void *begin);

#endif
