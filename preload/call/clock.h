/* SPDX-License-Identifier: MIT */
/*
 * clock.h - time stamps on the hot paths.
 */
#ifndef HP_PRELOAD_CALL_CLOCK_H
#define HP_PRELOAD_CALL_CLOCK_H

#include "preload/call/local.h"
#include "preload/guest/guest.h"
#include "preload/guest/ticks.h"
#include "segment/clock.h"

static inline uint64_t hp_clock(const struct hp_local *me)
{
	if (HP_UNLIKELY(me->slow_clock))
		return hp_ticks_slowly();
	return hp_clock_tsc();
}

/*
 * The same, after all earlier instructions: the counter may be read while a
 * hundred earlier instructions still wait for memory, and a function's misses
 * would be charged to its caller. Costs some 7 ns more.
 */
static inline uint64_t hp_clock_ordered(const struct hp_local *me)
{
#if defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("lfence" : : : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("isb" : : : "memory");
#endif
	return hp_clock(me);
}

/*
 * At the start and the end of a timed call: both in order, or neither. A start that does not wait
 * for our own loads before an end that does gave 20,000 empty functions 150 ns each, so they were
 * never sampled. If every call is timed, an ordered reading at each would add half the cost again.
 * So HOTPATH_TIMING=exact charges the last instructions of a function shorter than some 100 ns to
 * its caller.
 */
static inline uint64_t hp_clock_timed(const struct hp_local *me)
{
	return HP_LIKELY(me->is_exact) ? hp_clock(me) : hp_clock_ordered(me);
}

#endif
