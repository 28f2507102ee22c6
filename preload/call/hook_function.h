/* SPDX-License-Identifier: MIT */
/*
 * hook_function.h - the hooks of -finstrument-functions.
 */
#ifndef HP_PRELOAD_CALL_HOOK_FUNCTION_H
#define HP_PRELOAD_CALL_HOOK_FUNCTION_H

#include "preload/call/local.h"

#define HP_LOOK_EVERY 4096	/* timed calls between two looks whether a function is hot and short */
#define HP_SHORT_CLOCKS 20	/* short: its own time is below this many clock readings, */
#define HP_VERY_SHORT_CLOCKS 10	/* and if above this many, only after 16 looks */
#define HP_OUTER_CLOCKS 32	/* a recursive function's outermost calls are timed from here on */
#define HP_SHORTEST_CLOCKS 3	/* and below this many, a quarter of the draws is enough */
#define HP_RECALIBRATE 256	/* slow exits between two looks at what the hooks cost */
#define HP_WATCHED \
	16	/* of the gaps without a clock in them one in so many is watched, see marginal.h */
#define HP_TAIL_LEAST 32	/* ticks: below it the mean of a short function counts as this */

/* The compiler declares them nowhere. */
void __cyg_profile_func_enter(void *fn, void *call_site);
void __cyg_profile_func_exit(void *fn, void *call_site);

/* A jump to the stack pointer `cfa` (0 = unknown): calls with a lower one end now. */
void hp_function_leave_below(uintptr_t cfa);

/* The thread's slow path was left in its middle, by a jump out of a signal handler. */
void hp_function_recover(struct hp_local *me);

/* The counter that the last timed call of this thread left. */
void hp_function_count_late(struct hp_local *me);

/* The thread ends, or the process becomes another image: what is on its shadow stack ends now. */
void hp_function_leave_all(struct hp_local *me);

#endif
