/* SPDX-License-Identifier: MIT */
/*
 * level.h - the credentials (util/rights.h) with which this process entered its
 * segment.
 *
 * A process that drops privileges without exec leaves the segment
 * (segment/leave.c), since processes that still have these privileges may trust
 * it. For recording this is like a fork: all recorders forget their state, and
 * the next hook makes a new record in the segment of the process's current
 * level. Earlier records stay where they are. Nothing is requested until that
 * hook, so a process that execs only pays for leaving.
 *
 * Other threads keep writing to the private mapping, without effect, until
 * their next slow path compares `hp_drops` with its value when they were
 * opened.
 */
#ifndef HP_PRELOAD_THREAD_LEVEL_H
#define HP_PRELOAD_THREAD_LEVEL_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/guest/guest.h"

/* How often this process left a segment. */
extern HP_HIDDEN uint32_t hp_drops;

#define HP_DROPS_NONE UINT32_MAX	/* of data outside the segment */

/* Was a thread's record opened before the process left? */
static inline bool hp_drop_is_before(uint32_t drops)
{
	return HP_UNLIKELY(drops != __atomic_load_n(&hp_drops, __ATOMIC_RELAXED)) &&
	       drops != HP_DROPS_NONE;
}

/*
 * Stores the credentials when the segment has been mapped but not used, with
 * its descriptor open.  `user_namespace`: its inode, which was just read; 0 = not known.
 */
void hp_level_begin(uint64_t user_namespace);

/*
 * True until code of the program has run: until then it cannot have changed its user namespace.
 */
extern HP_HIDDEN bool hp_level_is_fresh;

/* True if the calling thread's credentials have changed; stores them. Not in a vfork child. */
bool hp_level_has_changed(bool asks_namespace);

/* The process has privileges that it could drop. */
bool hp_level_can_change(void);

/* Marks the segment's data, past and future, as less trusted. */
void hp_level_taint(void);

/* The process leaves: the next record goes to another segment. It has left. */
void hp_level_leaves(void);
void hp_level_left(void);

/* It has left and not entered another segment yet. */
bool hp_level_is_out(void);

/* Enters its level's segment if it is out. False = impossible; recording stops. */
bool hp_level_enter(void);

#endif
