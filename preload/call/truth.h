/* SPDX-License-Identifier: MIT */
/*
 * truth.h - a build that judges its own estimates.  Tests only.
 *
 * With HP_TRUTH every call is timed, whatever the policy decides: the policy's
 * knowledge goes into the segment as usual, and the truth goes here: sums for
 * each function, and every duration in the order of the exits.  So estimate and
 * truth are for the same calls of the same run. Without HP_TRUTH all of this is
 * empty.
 */
#ifndef HP_PRELOAD_CALL_TRUTH_H
#define HP_PRELOAD_CALL_TRUTH_H

#include "preload/call/local.h"

#ifdef HP_TRUTH

/* The call in `f` has begun; called last in the entry hook. */
void hp_truth_enter(struct hp_local *me, struct hp_frame *f, uint64_t start);

/* It ends now; called before anything of the exit is counted. */
void hp_truth_leave(struct hp_local *me, struct hp_frame *f, int64_t ticks);

/* Ends the calibration: the counted calls since the last sampled one were around nothing. */
void hp_truth_settle(void);

/* Calls that are only counted take the path of the sampled ones, including the clock readings. */
#define HP_TRUTH_ALL 1

#else

static inline void hp_truth_enter(struct hp_local *me, struct hp_frame *f, uint64_t start)
{
	(void)me;
	(void)f;
	(void)start;
}

static inline void hp_truth_leave(struct hp_local *me, struct hp_frame *f, int64_t ticks)
{
	(void)me;
	(void)f;
	(void)ticks;
}

static inline void hp_truth_settle(void)
{
}

#define HP_TRUTH_ALL 0

#endif

#endif
