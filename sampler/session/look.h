/* SPDX-License-Identifier: MIT */
/*
 * look.h - scans the locks that threads hold.
 *
 * If holds are so frequent and short that the library times only a few at random, rare long ones
 * would be missed. So a thread scans from outside, several hundred times a second: a hold that it
 * finds is marked (segment/mark.h), and its release reads the clock. Each scan stands for the time
 * since the previous one, whatever the thread does during the hold: compute, wait, or sleep.
 *
 * There is a scanning thread for each segment, since the main loop may be busy for longer than a
 * gap. It sleeps until a process asks (hp_looks.asked), and again when no hold was sampled or
 * marked for a while: then owners time the next holds themselves.
 *
 * Its input belongs to the members, which may write anything.  It writes marks into waiters, and
 * the word of a use that selects the next timed hold, only inside that segment, at checked
 * places.
 */
#ifndef HP_SAMPLER_SESSION_LOOK_H
#define HP_SAMPLER_SESSION_LOOK_H

#include "segment/segment.h"

struct hp_looker {
	uint32_t count;	/* segments that have their thread, or cannot have one */
};

/*
 * Starts a thread for each segment that has none; wakes processes that a confined
 * process asked to wake.
 */
void hp_looker_do(struct hp_looker *looker, const struct hp_segments *segments);

/* There are no scans between these two: the segments may be remapped meanwhile. */
void hp_looker_pause(void);
void hp_looker_go_on(void);

/* --- for tests: one scan, and the end of scans --- */

struct hp_look {
	const struct hp_segment *segment;
	uint64_t random;
	uint64_t last;	/* ticks of the last scan; 0 = none yet */
	uint64_t gap;	/* ticks from the previous scan to this one */
	uint64_t samples;	/* sum of all waiters' */
	uint32_t marked;	/* by this look */
	uint32_t steps;	/* records that this scan followed */
};

/* True if it had work. */
bool hp_look_once(struct hp_look *look, uint64_t now);

/* Lets the next hold of each use with sampled holds be timed. */
void hp_look_end(struct hp_look *look);

#endif
