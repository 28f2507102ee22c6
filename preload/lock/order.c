/* SPDX-License-Identifier: MIT */
/*
 * order.c - which locks are taken while others are held.
 *
 * Two locks that are taken in both orders may eventually deadlock; the report
 * searches for such pairs. Each pair is recorded once for each thread,
 * with the two places.  A lock that was only tried does not count, since a try
 * never waits.
 */
#include "preload/guest/guest.h"
#include "preload/lock/lock.h"

struct pair {
	uint64_t held;
	uint64_t taken;
};

/* Contests and uses are in `known`, too: their third word is not the offset of a use. */
static bool is_order(const void *record, const void *what)
{
	const struct hp_order *order = record;
	const struct pair *wanted = what;

	return order->held == wanted->held && order->taken == wanted->taken;
}

static HP_COLD void note(struct hp_waiter_local *me, const struct pair *pair, uint64_t hash,
			 uintptr_t held_at, uintptr_t taken_at)
{
	struct hp_order *order;

	if (!hp_lock_shut(me))
		return;
	if (*hp_lock_known(me, hash, is_order, pair) == 0) {
		order = hp_lock_take(me, sizeof(*order));
		if (!order || !hp_lock_known_fill(me, hash, order)) {
			hp_lock_reopen(me);
			return;
		}
		order->held = pair->held;
		order->taken = pair->taken;
		hp_lock_place(held_at, &order->held_module, &order->held_address);
		hp_lock_place(taken_at, &order->taken_module, &order->taken_address);
		order->next = atomic_load_explicit(&me->waiter->orders, memory_order_relaxed);
		atomic_store_explicit(&me->waiter->orders, (uint64_t)((char *)order - me->base),
				      memory_order_release);
	}
	me->orders[hash >> HP_LOCK_ORDER_SHIFT] = hash;
	hp_lock_reopen(me);
}

void hp_lock_orders(struct hp_waiter_local *me, const struct hp_use *use, uintptr_t caller)
{
	uint64_t taken = (uint64_t)((const char *)use - me->base);

	for (const struct hp_held *held = me->bottom; held < me->top; held++) {
		struct pair pair = { held->use - (uintptr_t)me->base, taken };

		if (!hp_lock_order_is_known(me, held, use))
			note(me, &pair, hp_lock_order_hash(held, use), (uintptr_t)held->at, caller);
	}
}
