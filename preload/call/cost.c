/* SPDX-License-Identifier: MIT */
/*
 * cost.c - see cost.h.
 */
#include "preload/call/cost.h"

#include <stdbool.h>

#include "preload/call/calibrate.h"
#include "preload/call/clock.h"
#include "preload/call/marginal.h"
#include "preload/guest/self.h"

void hp_cost_take(struct hp_local *me)
{
	const struct hp_header *header = hp_segment.header;

	me->cost_counted = header->cost_counted;
	hp_marginal_apply(me);
	me->cost_timed = header->cost_timed;
	me->inside_timed = header->cost_inside >> HP_FINE_BITS;
	me->inside_sampled = header->cost_inside_sampled >> HP_FINE_BITS;
	me->less_timed = header->cost_less >> HP_FINE_BITS;
	me->less_sampled = header->cost_less_sampled >> HP_FINE_BITS;
	me->clock_cost = header->cost_clock;
	/* Nothing is an event before the usual length is known. */
	if (!me->slow_least)
		me->slow_least = UINT32_MAX;
}

void hp_cost_renew(struct hp_local *me)
{
	uint64_t since = hp_clock(me);
	bool shut = hp_gate_shut(me);
	uint64_t before;

	hp_calibrate_again(hp_segment.header);
	/* The cost of the present gap so far was computed with the old figure. */
	before = me->cost_counted;
	hp_cost_take(me);
	me->overhead +=
		(uint64_t)(int64_t)(int32_t)(me->gap - me->countdown) * (before - me->cost_counted);
	if (shut)
		hp_gate_open(me, since);
}
