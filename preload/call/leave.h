/* SPDX-License-Identifier: MIT */
/*
 * leave.h - the end of a call: counted calls, and ends without an exit hook.
 *
 * The usual ends are inlined into the exit hook (hook_function.c) from this header.
 */
#ifndef HP_PRELOAD_CALL_LEAVE_H
#define HP_PRELOAD_CALL_LEAVE_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/call/clock.h"
#include "preload/call/local.h"
#include "preload/call/logged.h"
#include "preload/call/overhead.h"
#include "preload/call/row.h"
#include "preload/guest/guest.h"
#include "segment/histogram.h"

#define HP_LOOK_EVERY 64	/* timed calls between two checks if a function is hot and short */
#define HP_LOOK_EXACT 4096	/* if none is ever sampled */

/* The end of the timed call in `f`, the thread's highest frame, at `now`. */
void hp_leave_timed(struct hp_local *me, struct hp_frame *f, uint64_t now);

/* The end of a call that allocated, or has a callee that did. */
void hp_leave_tallied(struct hp_local *me, struct hp_frame *f, struct hp_row *row);

/* The end of any call, for slow paths. */
void hp_leave(struct hp_local *me, struct hp_frame *f);

/* Frames that will not reach their exit hook, down to `end`, end now. */
void hp_leave_down_to(struct hp_local *me, const struct hp_frame *end);

/* A jump to the stack pointer `cfa` (0 = unknown): calls with a lower one end now. */
void hp_leave_below(uintptr_t cfa);

/* The thread's slow path was left halfway, by a jump out of a signal handler. */
void hp_leave_recover(struct hp_local *me);

/* The counter that the last timed call of this thread left. */
void hp_leave_late(struct hp_local *me);

/* The thread ends, or the process becomes another image: the calls on its shadow stack end now. */
void hp_leave_all(struct hp_local *me);

static inline struct hp_row *hp_frame_row(const struct hp_frame *f)
{
	return (struct hp_row *)(uintptr_t)f->row;
}

/* The lowest frame of a part is not a call. */
static inline bool hp_frame_is_call(const struct hp_local *me, const struct hp_frame *f)
{
	return f > me->stack->part->frames;
}

static inline uint32_t *hp_leave_counter(const struct hp_local *me,
					 const struct hp_function *function, unsigned group,
					 uint64_t ticks)
{
	uint64_t offset = (uint64_t)function->groups[group] * HP_LINE;

	return (uint32_t *)(me->base + offset) + hp_bucket_place(ticks, group);
}

static inline void hp_leave_log(struct hp_local *me, struct hp_function *function, uint64_t start,
				uint64_t ticks, uint32_t result)
{
	struct hp_call *place;

	if (HP_UNLIKELY(function->logs == 0))
		return;
	place = (struct hp_call *)(me->base + (uint64_t)function->logs * HP_LINE) +
		function->log_next;
	hp_call_put(place,
		    &(struct hp_call){
			    .start = start, .ticks = ticks, .tid = me->tid, .result = result });
	function->log_next = function->log_next + 1 == me->logs_limit ? 0 : function->log_next + 1;
}

/* A call that was timed because all calls of its function are. */
static inline void hp_leave_add(struct hp_function *function, const struct hp_gist *gist,
				struct hp_row *row, int64_t self, int64_t exact)
{
	row->timed++;
	row->self_timed += self;
	function->timed_self += self;
	if (HP_LIKELY(gist->active == 0))
		row->outer_timed += exact;
	function->timed++;
}

/*
 * Duration of a call that began at the virtual time `start` and ends at the
 * real time `now`.  `start` includes the time that the hooks add to an empty
 * call; some ns of work hide `less` of that: from 0 to twice `less` the scale
 * is stretched, beyond that only shifted. The result may be a few ticks below
 * zero, and is added to sums like that: otherwise empty functions would appear
 * too long.
 */
static inline int64_t hp_leave_duration(const struct hp_local *me, uint64_t start, uint64_t now,
					int64_t less)
{
	int64_t ticks = (int64_t)(now - (hp_overhead_now(me) >> HP_FINE_BITS) - start);
	int64_t hidden = ticks < less ? ticks : less;

	return ticks + (hidden & ~(hidden >> 63));
}

/*
 * The figure for a single call: at least 1.  Around an empty function the sign
 * is random, so no branch may depend on it.
 */
static inline uint64_t hp_leave_at_least_1(int64_t ticks)
{
	return (uint64_t)(ticks - ((ticks - 1) & ((ticks - 1) >> 63)));
}

static inline void hp_leave_end(struct hp_local *me, struct hp_frame *f, uint64_t now,
				int64_t exact)
{
	f[-1].child += (uint64_t)exact << HP_FINE_BITS;
	me->overhead += me->cost_timed;
	me->block->overhead = hp_overhead_now(me);
	hp_calls_clock(me, now);
	me->top = f;
}

/* The end of a call that was only counted. */
static inline void hp_leave_counted(struct hp_local *me, struct hp_frame *f, struct hp_row *row,
				    struct hp_gist *gist)
{
	uint64_t child = f->child;

	if (HP_UNLIKELY(--gist->active)) {
		row->nested++;
		row->self_timed += gist->mean_self;
	} else if (child)
		row->below += (int64_t)child;
	f[-1].child += (uint64_t)(int64_t)gist->mean_self + child;
	me->top = f;
}

#endif
