/* SPDX-License-Identifier: MIT */
/*
 * marginal.h - the cost of our hooks in the running code.
 *
 * The calibration (calibrate.h) knows the cost of a counted call around code of
 * known kinds.  Its cost in the program differs: the processor hides hooks in
 * code that stalls, while a program of tiny functions cannot hide them, and
 * its hooks compete for caches and predictors.
 *
 * So it is measured in place. Some gaps between two sampled calls (hook_function.c, gap_next) are
 * watched, and in half of these the entry hook does its work twice, the second time on a dummy. The
 * difference in time per call, over many gaps, is the cost of one more such piece of work here.
 * The calibration knows what a whole pair costs for each tick of such a piece.
 * (Learning the cost of a part by changing it is the idea of causal profiling: Curtsinger and
 * Berger, Coz, SOSP 2015.)
 */
#ifndef HP_PRELOAD_CALL_MARGINAL_H
#define HP_PRELOAD_CALL_MARGINAL_H

#include "preload/call/local.h"
#include "preload/guest/guest.h"

#define HP_CALLS_MIN 1024	/* of each kind, until the difference is meaningful */
#define HP_WATCHED 64	/* one in this many gaps without a clock reading is watched, */
#define HP_WATCHED_FIRST 2	/* and at first, for programs of few calls */

/* What the hooks of a calibration round are around. */
enum hp_around {
	HP_AROUND_NOTHING,
	HP_AROUND_WAITING,
	HP_AROUND_BUSY,
};

/* One round: `cost` of a counted pair there, and of one more entry, fine ticks. */
void hp_marginal_known(enum hp_around around, int64_t cost, int64_t more);

/* True if the gap that begins without a clock reading is to be watched. */
static inline bool hp_marginal_is_due(const struct hp_local *me)
{
	uint64_t calls =
		me->seen_calls[0] < me->seen_calls[1] ? me->seen_calls[0] : me->seen_calls[1];
	uint64_t mask = calls < HP_CALLS_MIN * 4 ? HP_WATCHED_FIRST - 1 : HP_WATCHED - 1;

	return (me->random >> 20 & mask) == 0;
}

/* A gap begins, and was chosen to be watched.  `doubled`: its entries work twice. */
void hp_marginal_begin(struct hp_local *me, bool doubled);

/* A watched gap has ended; its calls are in `me->calls` already, and their cost in `overhead`. */
void hp_marginal_end(struct hp_local *me);

/* The thread's cost of a counted pair, from its observations and the calibration. */
void hp_marginal_apply(struct hp_local *me);

/* Entries work once again: something else happened that needs the true bounds of the stack. */
static inline void hp_marginal_stop(struct hp_local *me)
{
	if (HP_UNLIKELY(me->watched)) {
		me->watched = 0;
		me->low = me->stack->low;
	}
}

/* An entry at `cfa` that took this path only because its work must be done twice. */
static inline bool hp_marginal_is_doubled(const struct hp_local *me, uintptr_t cfa)
{
	return me->watched == 2 && me->top < me->limit && cfa <= me->top[-1].cfa &&
	       cfa >= me->stack->low;
}

#endif
