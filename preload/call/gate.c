/* SPDX-License-Identifier: MIT */
/*
 * gate.c - opening the gate (local.h): counts calls that signal handlers made meanwhile.
 */
#include "preload/call/clock.h"
#include "preload/call/local.h"
#include "preload/call/overhead.h"
#include "preload/call/row.h"
#include "preload/guest/guest.h"
#include "preload/thread/state.h"

static void pending_to(struct hp_local *me, struct hp_row *row, uint64_t calls)
{
	row->calls += calls;
	me->block->untimed_signal += calls;
}

/*
 * The gate is open.  A handler that runs now may add more, in its own slow
 * path, but counts everything that is there before it returns.
 */
static HP_COLD void pending_count(struct hp_local *me)
{
	atomic_store(&me->has_pending, 0);
	for (int i = 0; i < HP_PENDING && atomic_load(&me->pending[i].fn); i++) {
		uintptr_t fn = atomic_load(&me->pending[i].fn);
		uint64_t calls = atomic_exchange(&me->pending[i].calls, 0);

		if (calls)
			pending_to(me, hp_row_meant(hp_row_find(me, me->root, fn)), calls);
	}
	for (int i = 0; i < HP_PENDING; i++)
		if (atomic_load(&me->pending[i].calls) == 0)
			atomic_store(&me->pending[i].fn, 0);
	pending_to(me, me->other_row, atomic_exchange(&me->pending_more, 0));
}

void hp_gate_open(struct hp_local *me, uint64_t since)
{
	uint64_t now = hp_clock(me), took = hp_clock_between(since, now);
	uint64_t ours = hp_overhead_ours(me, took);

	/* What is not ours is as if it came afterwards, where a noted switch is looked for. */
	hp_calls_clock(me, now - (took - ours));
	me->overhead += ours << HP_FINE_BITS;
	me->block->overhead = hp_overhead_now(me);
	me->pending_depth = 0;	/* those handlers have returned, or jumped away */
	atomic_signal_fence(memory_order_seq_cst);
	me->limit = me->open_limit;
	/* In this order: a handler that finds the gate open and no limit would keep it so. */
	atomic_signal_fence(memory_order_seq_cst);
	me->state = HP_THREAD_OPEN;
	if (HP_UNLIKELY(atomic_load_explicit(&me->has_pending, memory_order_relaxed)))
		pending_count(me);
}
