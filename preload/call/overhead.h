/* SPDX-License-Identifier: MIT */
/*
 * overhead.h - a thread's hook cost so far: known by counting its calls.
 */
#ifndef HP_PRELOAD_CALL_OVERHEAD_H
#define HP_PRELOAD_CALL_OVERHEAD_H

#include <stdint.h>

#include "preload/call/local.h"

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

#endif
