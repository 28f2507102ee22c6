/* SPDX-License-Identifier: MIT */
/*
 * ticks.h - the session's clock, for threads that may not be allowed to read
 * it.
 *
 * seccomp's strict mode and PR_SET_TSC make the processor's counter fault, and the C library's
 * clock_gettime with it: it reads the counter in user space.  The kernel keeps the flag for each
 * thread; a new thread and a forked child inherit it.
 *
 * While no thread of the process is known to have the flag, hot paths check one
 * word and read the counter, as for other clocks. Once a thread has it, that
 * word sends all of them to hp_ticks_slowly(), where each thread checks its own
 * flag once.
 *
 * Such a thread records no calls, locks and allocations (hp_recorder.silence).
 * It still counts events without time stamps; other code gets 0, "not taken".
 */
#ifndef HP_PRELOAD_GUEST_TICKS_H
#define HP_PRELOAD_GUEST_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/guest/guest.h"
#include "segment/clock.h"

/* The session's clock is not the counter, or a thread may not read it. */
extern HP_HIDDEN uint32_t hp_ticks_are_slow;

/* A thread of this process, perhaps the calling one, may not read the clock. */
extern HP_HIDDEN uint32_t hp_ticks_in_doubt;

/* The segment is known.  False = this process may not read the session's clock. */
bool hp_ticks_begin(void);

/*
 * Forbids the calling thread (and the threads that it creates, if
 * `is_inherited`) to read the clock; or allows it again.
 */
void hp_ticks_forbid(bool is_inherited);
void hp_ticks_allow(void);

bool hp_ticks_ask(void);

/* The calling thread may not read the clock. */
static inline bool hp_ticks_are_forbidden(void)
{
	return HP_UNLIKELY(hp_ticks_in_doubt) && hp_ticks_ask();
}

/* 0 = forbidden for the calling thread. */
uint64_t hp_ticks_slowly(void);

static inline uint64_t hp_ticks(void)
{
	return HP_UNLIKELY(hp_ticks_are_slow) ? hp_ticks_slowly() : hp_clock_tsc();
}

/* Now, or the helper's last reading if the calling thread may not read the clock. */
uint64_t hp_ticks_about(void);

#endif
