/* SPDX-License-Identifier: MIT */
/*
 * ticks.h - the session's clock, for threads that may be forbidden to read it.
 *
 * seccomp's strict mode and PR_SET_TSC make the processor's counter fault, and the C library's
 * clock_gettime with it: it reads the counter in user space.  The kernel keeps the flag for each
 * thread; a new thread and a forked child inherit it.
 *
 * While no thread of the process is known to have the flag, the hot paths read the counter behind
 * one word, as they do where the clock is another one.  Once one has it, that word sends all of
 * them to hp_ticks_slowly(), where each thread learns about itself, once.
 *
 * A forbidden thread records no calls, locks and allocations (hp_recorder.silence).  It goes on
 * counting what takes no time stamp; what asks for one gets 0, "not taken".
 */
#ifndef HP_PRELOAD_GUEST_TICKS_H
#define HP_PRELOAD_GUEST_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/guest/guest.h"
#include "segment/clock.h"

/* The session's clock is not the counter, or some thread may not read it. */
extern HP_HIDDEN uint32_t hp_ticks_are_slow;

/* Some thread of this process may not read the clock, perhaps the calling one. */
extern HP_HIDDEN uint32_t hp_ticks_in_doubt;

/* The segment is known.  False = this process may not read the session's clock. */
bool hp_ticks_begin(void);

/* The calling thread loses the clock; so do those that it makes, if `is_inherited`.  Or it has it back. */
void hp_ticks_forbid(bool is_inherited);
void hp_ticks_allow(void);

bool hp_ticks_ask(void);

/* The calling thread may read no clock. */
static inline bool hp_ticks_are_forbidden(void)
{
	return HP_UNLIKELY(hp_ticks_in_doubt) && hp_ticks_ask();
}

/* 0 = the calling thread may not. */
uint64_t hp_ticks_slowly(void);

static inline uint64_t hp_ticks(void)
{
	return HP_UNLIKELY(hp_ticks_are_slow) ? hp_ticks_slowly() : hp_clock_tsc();
}

/* Now, or what the helper read last where the calling thread may not. */
uint64_t hp_ticks_about(void);

#endif
