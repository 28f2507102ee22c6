/* SPDX-License-Identifier: MIT */
/*
 * level.h - with which rights (util/rights.h) this process entered the segment that it writes.
 *
 * A process that gives up rights without becoming another image leaves the segment (segment/leave.c), since what
 * it could write until then may be trusted by processes that have these rights still.  For what is
 * recorded that is as a fork: all recorders forget what they know, and the next hook makes
 * a new record, in the segment of the level that the process is of then.  What was recorded stays where it was.
 * Until that hook nothing is asked of anybody, so a process that becomes another image pays for
 * leaving alone.
 *
 * Other threads go on in the private mapping, to no effect, until their next slow path: they compare
 * `hp_drops` with what it was when they were opened.
 */
#ifndef HP_PRELOAD_THREAD_LEVEL_H
#define HP_PRELOAD_THREAD_LEVEL_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/guest/guest.h"

/* How often this process left a segment. */
extern HP_HIDDEN uint32_t hp_drops;

#define HP_DROPS_NONE UINT32_MAX	/* of what is in no segment */

/* Was what a thread opened then opened before the process left? */
static inline bool hp_drop_is_before(uint32_t drops)
{
	return HP_UNLIKELY(drops != __atomic_load_n(&hp_drops, __ATOMIC_RELAXED)) &&
	       drops != HP_DROPS_NONE;
}

/* The segment is there, its descriptor open, and nobody has looked at it: notes the rights. */
void hp_level_begin(void);

/* True if the calling thread has other rights now; they are noted.  Not in a child of vfork. */
bool hp_level_has_changed(bool asks_namespace);

/* There is something that the process could give up. */
bool hp_level_can_change(void);

/* What is written to the segment from now on, or was, is to be believed less. */
void hp_level_taint(void);

/* The process leaves: the next record is made in another segment.  It has left. */
void hp_level_leaves(void);
void hp_level_left(void);

/* It has left, and has entered no other segment yet. */
bool hp_level_is_out(void);

/* Enters that of its level if it is out.  False = it cannot, and records no more. */
bool hp_level_enter(void);

#endif
