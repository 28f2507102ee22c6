/* SPDX-License-Identifier: MIT */
/*
 * path.c - the call paths of a waiting thread and of the owner that it waits
 * for.
 *
 * The waiter walks its stack, using the allocations' cache (preload/heap/path.h), before it
 * waits, so nobody else waits for that. It asks the holder for its path by a mark in the
 * holder's `held`, in the same word that tells whether a release is the usual one, so a thread
 * that is not asked pays nothing. The holder that is asked walks before the release, and
 * leaves the path with the lock. Only the next holder reads it.
 *
 * Walking a known path costs some 50 ns, which is little compared with a sleep but
 * much compared with a short hold. So if waits are short, only a few paths are
 * requested.
 */
#include "preload/guest/self.h"
#include "preload/heap/path_site.h"
#include "preload/lock/lock.h"
#include "preload/thread/state.h"

#define HP_ASKS_ALWAYS 8	/* this many waits of a contest ask */
#define HP_BORROWS 4	/* paths of a thread that has not allocated */
#define HP_ASKS_CLOCKS 2000	/* and all waits of contests whose mean is this many clock readings */

/* A thread that waits often is faster with its own. */
static bool may_borrow(void)
{
	struct hp_waiter_local *me = hp_waiter();

	return me->waiter && me->borrowed < HP_BORROWS && ++me->borrowed;
}

__attribute__((noinline)) uint32_t hp_lock_path(void)
{
	const struct hp_path_frame frame = HP_PATH_FRAME;
	struct hp_heap_local *me = hp_heap();
	const struct hp_site *site;
	uint32_t step;

	if (hp_heap_is_off())
		return 0;
	if (me->state == HP_THREAD_UNBORN && may_borrow() && (step = hp_heap_borrowed_step(&frame)))
		return step;
	if (!me->gate)
		me = hp_heap_enter(frame.sp);
	if (!me)
		return 0;
	site = me->gate ? hp_path_site(me, frame) : hp_path_prove(me, &frame);
	return site->step;
}

bool hp_lock_asks(const struct hp_waiter_local *me, const struct hp_contest *contest)
{
	return contest && (contest->count < HP_ASKS_ALWAYS ||
			   contest->ticks / contest->count > me->clock_cost * HP_ASKS_CLOCKS);
}

/* Release: the next holder finds both. The handover of the lock itself has the same effect. */
void hp_lock_answer(struct hp_waiter_local *me, const struct hp_use *use)
{
	struct hp_lock *lock = hp_lock_of(use);
	uint32_t waiter = (uint32_t)(hp_segment_offset(&hp_segment, me->waiter) / HP_LINE);
	uint32_t step = hp_lock_path();

	atomic_store_explicit(&lock->answer, (uint64_t)waiter << 32 | step, memory_order_release);
}

uint64_t hp_lock_answered(const struct hp_use *use)
{
	struct hp_lock *lock = hp_lock_of(use);

	if (!atomic_load_explicit(&lock->answer, memory_order_relaxed))
		return 0;
	return atomic_exchange_explicit(&lock->answer, 0, memory_order_acquire);
}
