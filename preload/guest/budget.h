/* SPDX-License-Identifier: MIT */
/*
 * budget.h - what timing may cost all threads, objects and processes of a session together.
 *
 * A recorder gives each thread, or each stream, a credit that grows with the elapsed time. With
 * hundreds of them on a few cores, each may use its whole share of a core. So all count what
 * they spend, and while the sum is above the limit, each gets only a part of its credit: whoever
 * spends less than that is not affected.
 */
#ifndef HP_PRELOAD_GUEST_BUDGET_H
#define HP_PRELOAD_GUEST_BUDGET_H

#include <stdatomic.h>
#include <stdint.h>

#include "preload/guest/guest.h"
#include "segment/layout/header.h"

/* Larger numbers of ticks are errors: they are not scaled. */
#define HP_BUDGET_MOST (UINT64_C(1) << 40)

#define HP_BUDGET_SPAN (INT64_C(1) << 23)	/* ticks: 3 to 8 ms */
#define HP_BUDGET_CALM (HP_BUDGET_SPAN * 16)	/* after so long without a report, nobody has less */

/* What of a gain, or of the most that may be saved, the caller has now. */
static inline uint64_t hp_budget_part(const struct hp_budget *budget, uint64_t ticks, uint64_t now)
{
	uint64_t part = atomic_load_explicit(&budget->part, memory_order_relaxed);
	uint64_t since = atomic_load_explicit(&budget->since, memory_order_relaxed);

	if (!part || part >= HP_BUDGET_ALL || ticks >= HP_BUDGET_MOST ||
	    (int64_t)(now - since) > HP_BUDGET_CALM)
		return ticks;
	return ticks * part / HP_BUDGET_ALL;
}

/*
 * `ticks` were spent until `now`. The limit is one part in `share` of the time of `cores` cores.
 * Writes to memory that all share, so a thread that spends often adds several up.
 */
void hp_budget_spend(struct hp_budget *budget, uint64_t ticks, uint64_t now, uint64_t share,
		     uint64_t cores);

/* The same for all cores of the machine. */
void hp_budget_spend_each(struct hp_budget *budget, uint64_t ticks, uint64_t now, uint64_t share);

#endif
