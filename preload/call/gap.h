/* SPDX-License-Identifier: MIT */
/*
 * gap.h - calls that were not timed still took time.
 *
 * Between two readings of the clock a thread's elapsed time is known exactly, whatever it called.
 * A gap's time beyond the usual time of its calls is its excess; a large one is an event.  Its
 * time was spent in an unsampled call of one of the sampled functions, or in the code that calls
 * them.  Chance decides which one (report/read/gap.c): had it been in the function, its call
 * would have been timed with a known probability, and so recorded as a slow call.
 *
 * To learn more, a twentieth of each excess is spent on timing calls: half of it on all the
 * next calls, up to 64, and half on one in eight of those after them.
 */
#ifndef HP_PRELOAD_CALL_GAP_H
#define HP_PRELOAD_CALL_GAP_H

#include "preload/call/local.h"
#include "preload/call/overhead.h"
#include "preload/guest/guest.h"
#include "segment/clock.h"

#define HP_BOOST_EVERY 8	/* after an event, one in this many calls is timed */

/* An event in calls below `from`, with its excess in ticks. Returns the clock after recording
 * it. */
uint64_t hp_gap_event(struct hp_local *me, const struct hp_frame *from, uint64_t now,
		      uint64_t excess, unsigned mode);

/* An excess pays for timed calls. */
void hp_gap_pay(struct hp_local *me, uint64_t excess);

/*
 * The clock was read, `now`, and a gap of calls below the frame `from` ends. `mode`: how its calls
 * were sampled. It includes calls of the gap that is being counted down.
 */
static inline uint64_t hp_gap_end(struct hp_local *me, const struct hp_frame *from, uint64_t now,
				  unsigned mode)
{
	int64_t calls = (int64_t)(hp_calls_now(me) - me->last_calls);
	uint64_t ticks = hp_clock_between(me->last_clock, now);
	uint64_t usual;

	if (HP_LIKELY(ticks <= me->slow_least) || calls <= 0)
		return now;
	usual = (me->pace * (uint64_t)calls) >> HP_FINE_BITS;
	if (HP_LIKELY(ticks <= usual + me->slow_least))
		return now;
	return hp_gap_event(me, from, now, ticks - usual, mode);
}

/*
 * A slow path that began at `since` ended calls without reading the clock. When it ends, it
 * will, so the gap ends before it. Returns where the slow path's own time begins.
 */
static inline uint64_t hp_gap_cut(struct hp_local *me, uint64_t since)
{
	return hp_gap_end(me, me->top - 1, since, me->gap_mode);
}

#endif
