/* SPDX-License-Identifier: MIT */
/*
 * share.c - see share.h.
 */
#include "preload/loop/share.h"

#include "preload/guest/ticks.h"
#include "preload/lock/lock.h"

HP_COLD void hp_loop_taken(struct hp_looper *me, struct hp_watch_counts *counts)
{
	uint32_t before;

	if (counts && counts != me->at_instance)
		hp_channel_tell((int)(counts - hp_watch_counts));
	me->at_instance = counts;
	me->at_changes = 0;
	if (!counts)
		return;
	atomic_store_explicit(&counts->taken, &me->loop->since, memory_order_relaxed);
	before = atomic_exchange_explicit(&counts->taker, me->tid, memory_order_relaxed);
	if (!before || before == me->tid)
		return;
	atomic_store_explicit(&counts->is_shared, true, memory_order_relaxed);
	hp_lock_tells = true;
}

/* The span up to `since` has ended; what wakes the thread now is no event of the loop. */
static void park(struct hp_looper *me, struct hp_loop *loop, uint64_t since)
{
	uint64_t ticks = hp_clock_between(loop->until, since), now = hp_ticks();

	if (hp_channel_thread()->remote)
		hp_loop_remote(me);
	if (ticks >= me->long_least)
		hp_loop_span_long(me, loop, ticks);
	hp_loop_span(me, loop, ticks);
	loop->wait_ticks += hp_clock_between(since, now);
	loop->until = now;
	loop->last_events = 0;
	loop->expired_at = 0;
	me->only_call = 0;
}

/* Readers take it for a wait until it is over: another thread probably serves the loop. */
static void park_begin(const struct hp_looper *me, struct hp_loop *loop)
{
	if (atomic_load_explicit(&me->at_instance->is_shared, memory_order_relaxed))
		loop->since = hp_ticks();
}

/* Its holder waits at the instance. Once that was seen, it is the mutex of turns, whatever its holder does. */
static bool is_for_turns(struct hp_watch_counts *counts, uintptr_t lock, uint32_t holder)
{
	const uint64_t *taken = atomic_load_explicit(&counts->taken, memory_order_relaxed);

	if (!lock || lock == atomic_load_explicit(&counts->turns, memory_order_relaxed))
		return true;
	if (holder != atomic_load_explicit(&counts->taker, memory_order_relaxed) || !taken ||
	    !__atomic_load_n(taken, __ATOMIC_RELAXED))
		return false;
	atomic_store_explicit(&counts->turns, lock, memory_order_relaxed);
	return true;
}

static void parks(bool is_over, uintptr_t lock, uint32_t holder)
{
	struct hp_looper *me = hp_looper();
	struct hp_loop *loop = me->loop;
	uint64_t since;

	if (!loop || !me->at_instance || me->frame || !loop->until)
		return;
	if (!is_over) {
		if (is_for_turns(me->at_instance, lock, holder))
			park_begin(me, loop);
		return;
	}
	since = loop->since;
	loop->since = 0;
	if (since && atomic_load_explicit(&me->at_instance->taker, memory_order_relaxed) != me->tid)
		park(me, loop, since);
}

const struct hp_recorder hp_share_recorder = { .parks = parks };
