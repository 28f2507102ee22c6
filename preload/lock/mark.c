/* SPDX-License-Identifier: MIT */
/*
 * mark.c - untimed holds that are known to be in progress: see segment/mark.h.
 *
 * A thread that waits marks the hold it waits for, and before a thread sleeps it marks its own.
 * The hold lasted at least from the mark to its release, whose slow path reads the clock because
 * `asked` is set. A mark that is set after the hold only costs the next hold in that place a slow
 * path.
 */
#include "segment/mark.h"

#include "preload/guest/early.h"
#include "preload/lock/lock.h"
#include "preload/thread/state.h"

/* The clock is read after the count: the hold with that number had begun by then. */
static void mark(struct hp_waiter *waiter, const struct hp_waiter_local *reader, int i)
{
	struct hp_held *held = &waiter->held[i];
	const struct hp_use *use =
		(const struct hp_use *)(uintptr_t)__atomic_load_n(&held->use, __ATOMIC_RELAXED);
	uint64_t before, hash;

	if (!use)
		return;
	hash = hp_mark_hash((uint64_t)((const char *)use - reader->base),
			    __atomic_load_n(&use->count, __ATOMIC_ACQUIRE));
	before = atomic_load_explicit(&waiter->marks[i].since, memory_order_relaxed);
	if (hp_mark_is_of(before, hash) &&
	    __atomic_load_n(&held->asked, __ATOMIC_RELAXED) & HP_ASKED_END)
		return;
	/* If another thread was faster, its mark is just as good. */
	if (!hp_mark_is_of(before, hash))
		atomic_compare_exchange_strong_explicit(&waiter->marks[i].since, &before,
							hp_mark_word(hash, hp_lock_clock(reader)),
							memory_order_release, memory_order_relaxed);
	__atomic_fetch_or(&held->asked, HP_ASKED_END, __ATOMIC_RELEASE);
}

void hp_lock_mark(const struct hp_waiter_local *me, const struct hp_lock_holder *holder)
{
	struct hp_waiter *waiter =
		(struct hp_waiter *)(me->base + (uint64_t)holder->waiter * HP_LINE);

	mark(waiter, me, (int)(holder->held - waiter->held));
}

HP_COLD void hp_lock_mark_own(struct hp_waiter_local *me)
{
	if (hp_is_early() || me->state != HP_THREAD_OPEN)
		return;
	for (const struct hp_held *held = me->bottom; held < me->top; held++)
		if (!held->start || held->weight > 1)
			mark(me->waiter, me, (int)(held - me->bottom));
}

/* Holds above a released one have moved down, but their marks have not. */
void hp_lock_marks_take(const struct hp_waiter_local *me, const struct hp_held *held,
			struct hp_release *release)
{
	const struct hp_use *use = (const struct hp_use *)(uintptr_t)held->use;
	uint64_t hash = hp_mark_hash((uint64_t)((const char *)use - me->base), use->count);
	struct hp_mark *marks = me->waiter->marks;

	for (ptrdiff_t i = held - me->bottom; i < HP_HELD_MAX; i++) {
		uint64_t since = atomic_load_explicit(&marks[i].since, memory_order_acquire);
		uint64_t seen = atomic_load_explicit(&marks[i].seen, memory_order_acquire);

		if (hp_mark_is_of(since, hash))
			release->since = since;
		if (hp_seen_is_of(seen, hash)) {
			release->seen_at = __atomic_load_n(&marks[i].seen_at, __ATOMIC_ACQUIRE);
			release->gap = hp_seen_gap(seen);
			if (atomic_load_explicit(&marks[i].seen, memory_order_relaxed) != seen)
				release->seen_at = 0;
		}
		if (release->since || release->seen_at)
			break;
	}
}
