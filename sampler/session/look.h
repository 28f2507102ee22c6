/* SPDX-License-Identifier: MIT */
/*
 * look.h - scans the locks that threads hold.
 *
 * Where holds are so many and so short that the library times a few of them at random, rare long
 * ones would be missed.  So a thread scans from outside, several hundred times a second: a hold
 * that is seen is marked (segment/mark.h), and its release reads the clock.  Each look stands for
 * the time since the one before it, whatever the thread does in the hold: compute, wait, or sleep.
 *
 * A thread for each segment does it, since the main loop may be busy for longer than a gap.  It
 * sleeps until a process asks (hp_looks.asked), and again when no hold was sampled and none was marked
 * for a while: then the next holds are timed by their owners.
 *
 * Its input belongs to the members, which may write anything.  It writes marks into waiters, and
 * the word of a use that says which hold is timed next; all of it inside of that one segment, at
 * places which were checked.
 */
#ifndef HP_SAMPLER_SESSION_LOOK_H
#define HP_SAMPLER_SESSION_LOOK_H

#include "segment/segment.h"

struct hp_looker {
	uint32_t count;	/* segments that have their thread, or cannot have one */
};

/*
 * A thread for each segment that has none; wakes processes that a confined process
 * requested to wake.
 */
void hp_looker_do(struct hp_looker *looker, const struct hp_segments *segments);

/* No scans happen between these two: the segments may be mapped otherwise meanwhile. */
void hp_looker_pause(void);
void hp_looker_go_on(void);

/* --- for tests: one scan, and the end of scans --- */

struct hp_look {
	const struct hp_segment *segment;
	uint64_t random;
	uint64_t last;	/* ticks of the last look; 0 = none yet */
	uint64_t gap;	/* ticks from the look before to this one */
	uint64_t draws;	/* sum of all waiters' */
	uint32_t marked;	/* by this look */
	uint32_t steps;	/* records that this look followed */
};

/* True if it had work. */
bool hp_look_once(struct hp_look *look, uint64_t now);

/* The next hold of each use whose holds are sampled is timed. */
void hp_look_end(struct hp_look *look);

#endif
