/* SPDX-License-Identifier: MIT */
/*
 * charge.c - see charge.h.
 */
#include "preload/heap/charge.h"

#include <stddef.h>

#include "preload/call/leave.h"
#include "preload/thread/state.h"

struct hp_frame *hp_charge_frame(struct hp_local *local, uintptr_t sp)
{
	const struct hp_stack *stack = local->stack;

	if (local->state != HP_THREAD_OPEN || sp < stack->low || sp > stack->high)
		return NULL;
	if (local->top[-1].cfa < sp)
		hp_leave_below(sp);
	return local->top - 1;
}

void hp_charge_follow(struct hp_heap_local *me, struct hp_tally *tally, uint64_t size)
{
	int64_t bytes = hp_charge_net(me) + (int64_t)size;

	me->net_blocks++;
	if (bytes > tally->live_most)
		tally->live_most = bytes;
	if (me->net_blocks > tally->blocks_most)
		tally->blocks_most = me->net_blocks;
}

/* A call that frees is tracked from here on: its allocations then start lower. */
void hp_charge_free(struct hp_heap_local *me)
{
	struct hp_frame *f =
		me->calls ? hp_charge_frame(me->calls, (uintptr_t)__builtin_frame_address(0))
			  : NULL;

	if (f && !(f->weight & HP_WEIGHT_TALLY))
		hp_tally_attach(me->calls, f, hp_charge_net(me), me->net_blocks);
	me->net_blocks--;
}
