/* SPDX-License-Identifier: MIT */
/*
 * budget.c - see budget.h.
 *
 * Time is divided into spans. Whoever ends one adjusts the part for the next by the ratio of limit
 * and sum. All of this is a guide: an update that another thread overtakes is lost.
 */
#include "preload/guest/budget.h"

#include "preload/guest/self.h"

#define LEAST 16	/* of HP_BUDGET_ALL */

static uint64_t next_part(uint64_t part, uint64_t spent, uint64_t limit, uint64_t spans)
{
	uint64_t next;

	limit = limit < HP_BUDGET_MOST ? limit : HP_BUDGET_MOST;
	next = part * limit / (spent + 1);
	/* It rises slowly: at the ratio of an idle moment all would spend too much again. */
	if (next > part && next / part > spans)
		next = part * (spans + 1);
	return next < LEAST ? LEAST : next < HP_BUDGET_ALL ? next : HP_BUDGET_ALL;
}

void hp_budget_spend(struct hp_budget *budget, uint64_t ticks, uint64_t now, uint64_t share,
		     uint64_t cores)
{
	uint64_t since = atomic_load_explicit(&budget->since, memory_order_relaxed);
	uint64_t spent =
		ticks + atomic_fetch_add_explicit(&budget->spent, ticks, memory_order_relaxed);
	uint64_t part = atomic_load_explicit(&budget->part, memory_order_relaxed);
	uint64_t passed = now - since;

	if ((int64_t)passed < HP_BUDGET_SPAN ||
	    !atomic_compare_exchange_strong_explicit(&budget->since, &since, now,
						     memory_order_relaxed, memory_order_relaxed))
		return;
	atomic_store_explicit(&budget->spent, 0, memory_order_relaxed);
	if (!since)
		return;
	part = part && part < HP_BUDGET_ALL ? part : HP_BUDGET_ALL;
	atomic_store_explicit(&budget->part,
			      next_part(part, spent, passed / share * cores,
					passed / HP_BUDGET_SPAN),
			      memory_order_relaxed);
}

void hp_budget_spend_each(struct hp_budget *budget, uint64_t ticks, uint64_t now, uint64_t share)
{
	uint32_t cores = atomic_load_explicit(&hp_segment_recorded_at(&hp_segment)->cores,
					      memory_order_relaxed);

	hp_budget_spend(budget, ticks, now, share, cores ? cores : 1);
}
