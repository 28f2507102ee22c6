/* SPDX-License-Identifier: MIT */
/*
 * overhead.h - a thread's hook cost so far: known by counting its calls.
 */
#ifndef HP_PRELOAD_CALL_OVERHEAD_H
#define HP_PRELOAD_CALL_OVERHEAD_H

#include <stdint.h>

#include "preload/call/local.h"
#include "preload/call/switch.h"

/*
 * Calls of the present gap.  A handler that interrupts gap_next may find the
 * two words inconsistent: then the result is slightly negative.
 */
static inline uint64_t hp_gap_calls(const struct hp_local *me)
{
	return (uint64_t)(int64_t)(int32_t)(me->gap - me->countdown);
}

/* Calls that might have been sampled, so far. */
static inline uint64_t hp_calls_now(const struct hp_local *me)
{
	return me->calls + hp_gap_calls(me);
}

static inline void hp_calls_clock(struct hp_local *me, uint64_t now)
{
	me->last_clock = now;
	me->last_calls = hp_calls_now(me);
}

/* This thread's hook cost so far, fine ticks. */
static inline uint64_t hp_overhead_now(const struct hp_local *me)
{
	return me->overhead + hp_gap_calls(me) * me->cost_counted;
}

/*
 * In a slow path a thread may be stopped, frozen or preempted. Clock readings that ours may take,
 * if the kernel noted a switch since the last hook, and if not: then it may only be slow.
 */
#define HP_OURS_NOTED 4096
#define HP_OURS_MOST (1 << 19)

/* The part of a slow path's ticks that is our cost; the rest is the top call's. */
static inline uint64_t hp_overhead_ours(const struct hp_local *me, uint64_t ticks)
{
	uint64_t readings = hp_switch_seen(me) ? HP_OURS_NOTED : HP_OURS_MOST;
	uint64_t most = (me->clock_cost * readings) >> HP_FINE_BITS;

	return most && ticks > most ? most : ticks;
}

#endif
