/* SPDX-License-Identifier: MIT */
/*
 * hold.c - unusual lock events: waits, timed holds, locks inside locks,
 * recursion.
 *
 * A wait is recorded after the lock was released: stores of a waiter under the
 * lock delay all others.  Until then it is in `held`, where readers find it,
 * too.
 */
#include <errno.h>

#include "preload/guest/early.h"
#include "preload/guest/guest.h"
#include "preload/lock/lock.h"
#include "preload/thread/state.h"
#include "preload/wait/offcpu_note.h"
#include "segment/histogram.h"
#include "util/count.h"
#include "util/random.h"

#define HP_CALIBRATIONS 16

/* --- sums --- */

/* HP_WAIT_CLASSES = none: for pipes and sockets, the kernel provides the waiting time. */
static enum hp_wait_class class_of(const struct hp_use *use)
{
	uint32_t kind = hp_lock_of(use)->kind;

	if (hp_lock_is_holdable(kind))
		return HP_WAIT_LOCK;
	return kind == HP_LOCK_THREAD	 ? HP_WAIT_THREAD
	       : kind == HP_LOCK_FILE	 ? HP_WAIT_FILE
	       : kind == HP_LOCK_CHANNEL ? HP_WAIT_CLASSES
					 : HP_WAIT_SIGNAL;
}

void hp_wait_add(struct hp_waiter_local *me, struct hp_use *use, struct hp_contest *contest,
		 uint64_t since, uint64_t ticks)
{
	hp_hold_spread_add(me, &use->waits,
			   (struct hp_told){ use->contended, use->wait_ticks, use->wait_most },
			   ticks, 1);
	use->contended++;
	use->wait_ticks += ticks;
	if (class_of(use) != HP_WAIT_CLASSES)
		me->waiter->waited[class_of(use)] += ticks;
	use->wait_most = ticks > use->wait_most ? ticks : use->wait_most;
	if (!contest)
		return;
	contest->count++;
	contest->ticks += ticks;
	if (ticks > contest->most) {
		contest->most = ticks;
		contest->most_start = since;
	}
}

/* --- acquisitions --- */

static struct hp_held *held_find(struct hp_waiter_local *me, uintptr_t address)
{
	for (struct hp_held *held = me->top; held > me->bottom;)
		if (atomic_load_explicit(&(--held)->address, memory_order_relaxed) == address)
			return held;
	return NULL;
}

/* Those above move down. */
static void held_remove(struct hp_waiter_local *me, struct hp_held *held)
{
	for (; held + 1 < me->top; held++)
		*held = held[1];
	atomic_store_explicit(&held->address, 0, memory_order_relaxed);
	held->start = 0;
	held->depth = 0;
	held->asked = 0;
	atomic_signal_fence(memory_order_seq_cst);
	me->top = held;
}

struct hp_held *hp_lock_push(struct hp_waiter_local *me, struct hp_use *use, uintptr_t address,
			     uintptr_t caller)
{
	struct hp_held *held = me->top;

	if (held == me->limit) {
		hp_count_up(&me->waiter->untold);
		return NULL;
	}
	me->top = held + 1;
	atomic_signal_fence(memory_order_seq_cst);
	held->use = (uintptr_t)use;
	held->at = caller;
	atomic_store_explicit(&held->address, address, memory_order_relaxed);
	return held;
}

/*
 * The thread seems to hold it already. If such a lock can be locked again,
 * only the outermost counts; if not, another thread has released it.
 */
static bool is_again(struct hp_waiter_local *me, uintptr_t address, bool is_recursive)
{
	struct hp_held *held = held_find(me, address);

	if (!held)
		return false;
	if (is_recursive) {
		held->depth++;
		return true;
	}
	held_remove(me, held);
	return false;
}

/* So that the fast path needs no second search of the order. */
static void outer_note(struct hp_waiter_local *me, const struct hp_use *use, uintptr_t address)
{
	uint64_t hash = hp_lock_hash(address);
	struct hp_lock_slot *slot = hp_lock_slot(me, hash, use->side);

	if (slot->use == use)
		slot->outer = hp_lock_outer(me->bottom, use);
}

/*
 * Programs that nest locks deeply call this each time, so it is one pass over the thread's
 * locks: is it this one, and is this order known?
 */
void hp_lock_got_more(struct hp_waiter_local *me, struct hp_use *use, uintptr_t address,
		      uintptr_t caller, uint32_t how)
{
	bool is_new = false, is_there = false;
	struct hp_held *held;

	for (held = me->bottom; held < me->top; held++) {
		is_there |= atomic_load_explicit(&held->address, memory_order_relaxed) == address;
		is_new |= !hp_lock_order_is_known(me, held, use);
	}
	if (HP_UNLIKELY(is_there) && use->side != HP_SIDE_READ &&
	    is_again(me, address, how & HP_GOT_RECURSIVE))
		return;
	if (HP_UNLIKELY(is_new) && !(how & HP_GOT_TRIED))
		hp_lock_orders(me, use, caller);
	if (me->top == me->bottom + 1 && (!is_new || !(how & HP_GOT_TRIED)))
		outer_note(me, use, address);
	held = hp_lock_push(me, use, address, caller);
	if (++use->count >= use->next_timed && held)
		hp_lock_draw(me, use, held);
}

/* --- releases --- */

bool hp_lock_release(struct hp_release *release, uintptr_t address)
{
	struct hp_waiter_local *me;
	struct hp_held *held;
	uint32_t asked;
	uint64_t end;

	if (hp_is_early())
		return false;
	me = hp_waiter();
	hp_wait_repair(me, address);
	held = held_find(me, address);

	if (!held || me->state != HP_THREAD_OPEN)
		return false;
	release->me = me;
	if (held->depth) {
		held->depth--;
		release->held = (struct hp_held){ .depth = 1, .address = address };
		return true;
	}
	asked = held->asked ? __atomic_exchange_n(&held->asked, 0, __ATOMIC_ACQUIRE) : 0;
	/* Before that: walking the stack takes some 100 us, which are our cost. */
	end = asked & HP_ASKED_PATH ? hp_lock_clock(me) : 0;
	if (asked & HP_ASKED_PATH)
		hp_lock_answer(me, (const struct hp_use *)(uintptr_t)held->use);
	release->since = release->seen_at = release->gap = 0;
	if (asked & HP_ASKED_END)
		hp_lock_marks_take(me, held, release);
	/* As close to the release as possible: that may wake up others, which takes time. */
	release->held = *held;
	held_remove(me, held);
	if (!end && (release->held.start || asked & HP_ASKED_END))
		end = hp_lock_clock(me);
	release->end = release->held.start || asked & HP_ASKED_END ? end : 0;
	return true;
}

void hp_lock_keep(const struct hp_release *release)
{
	struct hp_waiter_local *me = release->me;
	struct hp_held *held;

	if (release->held.depth) {
		held = held_find(me, release->held.address);
		if (held)
			held->depth++;
		return;
	}
	if (me->top == me->limit)
		return;
	*me->top = release->held;
	me->top++;
}

static struct hp_contest *contest_of(const struct hp_held *held)
{
	return (struct hp_contest *)(uintptr_t)held->contest;
}

void hp_lock_released(struct hp_release *release)
{
	struct hp_waiter_local *me = release->me;
	const struct hp_held *held = &release->held;
	struct hp_use *use = (struct hp_use *)(uintptr_t)held->use;

	if (held->depth || !release->end || !hp_lock_shut(me))
		return;
	if (held->start && held->waited)
		hp_wait_add(me, use, contest_of(held), held->start - held->waited, held->waited);
	hp_lock_hold_add(me, use, release);
	hp_lock_reopen(me);
}

/* --- waits --- */

void hp_wait_publish(struct hp_waiter_local *me, const void *frame, const struct hp_use *use,
		     const struct hp_lock_call *call, uint32_t holder, uint32_t path,
		     uint64_t since)
{
	struct hp_waiter *waiter = me->waiter;

	hp_seq_begin(&waiter->since);
	hp_seq_set(&waiter->lock, use->lock);
	hp_seq_set(&waiter->at, (uint64_t)call->caller);
	hp_seq_set(&waiter->address, (uint64_t)call->address);
	hp_seq_set(&waiter->holder, holder);
	hp_seq_set(&waiter->side, call->side);
	hp_seq_set(&waiter->path, path);
	me->wait_frame = (uintptr_t)frame;
	hp_seq_end(&waiter->since, since);
}

static void begin(struct hp_waiter_local *me, struct hp_wait *wait, struct hp_use *use,
		  const struct hp_lock_call *call)
{
	struct hp_lock_holder holder = { 0, 0, 0, NULL };
	uint32_t path = hp_lock_path();

	wait->me = me;
	wait->use = use;
	wait->since = hp_lock_clock(me);
	hp_lock_reopen(me);
	if (hp_lock_is_holdable(call->kind))
		hp_lock_orders(me, use, call->caller);
	if (me->top != me->bottom)
		hp_lock_mark_own(me);
	hp_lock_shut(me);
	if (hp_lock_is_holdable(call->kind))
		holder = hp_lock_holder_of(call);
	wait->contest = hp_lock_contest_of(me, use, call->caller, &holder, path);
	wait->has_asked = holder.held && hp_lock_asks(me, wait->contest);
	if (wait->has_asked) {
		/* An entry not taken by another thread is not for us. */
		atomic_store_explicit(&hp_lock_of(use)->answer, 0, memory_order_relaxed);
		__atomic_fetch_or(&holder.held->asked, HP_ASKED_PATH, __ATOMIC_RELAXED);
	}
	if (holder.held)
		hp_lock_mark(me, &holder);
	hp_wait_publish(me, wait, use, call, holder.tid, path, wait->since);
}

/* A signal handler that locks during a wait is not shown as waiting. */
void hp_wait_begin(struct hp_wait *wait, struct hp_use *use, const struct hp_lock_call *call)
{
	struct hp_waiter_local *me = hp_waiter();

	*wait = (struct hp_wait){ .me = NULL };
	if (!hp_lock_shut(me))
		return;
	hp_wait_repair(me, 0);
	if (!me->wait_frame)
		begin(me, wait, use, call);
	hp_lock_reopen(me);
	wait->noted_since = hp_offcpu_note_begin();
}

void hp_wait_over(struct hp_waiter_local *me)
{
	struct hp_lock *lock = me->wait_counted;

	hp_seq_begin(&me->waiter->since);
	me->wait_frame = 0;
	me->wait_counted = NULL;
	if (lock)
		atomic_fetch_sub_explicit(&lock->waiting, 1, memory_order_relaxed);
}

/* True if the wait still belongs to this thread: a child of fork has none. */
static bool is_waiting(const struct hp_wait *wait)
{
	return wait->me && wait->me == hp_waiter() && wait->me->wait_frame == (uintptr_t)wait;
}

/* The path that released it to us; for the longest such wait. */
static void answer_take(struct hp_contest *contest, const struct hp_use *use, uint64_t ticks)
{
	uint64_t answer = hp_lock_answered(use);

	if (!(uint32_t)answer || ticks <= contest->from_ticks)
		return;
	contest->from = (uint32_t)answer;
	contest->from_waiter = (uint32_t)(answer >> 32);
	contest->from_ticks = ticks;
}

void hp_wait_end(struct hp_wait *wait, const struct hp_lock_call *call, bool is_got)
{
	struct hp_waiter_local *me = wait->me;
	struct hp_held *held;
	uint64_t now;

	hp_offcpu_note_end(wait->noted_since, HP_ON_FUTEX, HP_OFFCPU_NO_FD);
	if (!is_waiting(wait))
		return;
	hp_wait_over(me);
	if (!is_got)
		return;
	now = hp_lock_clock(me);
	if (call->side != HP_SIDE_READ)
		is_again(me, call->address, false);
	wait->use->count++;
	held = hp_lock_push(me, wait->use, call->address, call->caller);
	if (!held)
		return;
	held->weight = 1;
	held->waited = now > wait->since ? now - wait->since : 1;
	held->contest = (uintptr_t)wait->contest;
	held->start = now;
	if (wait->has_asked)
		answer_take(wait->contest, wait->use, held->waited);
}

void hp_wait_cancel(struct hp_wait *wait)
{
	if (is_waiting(wait))
		hp_wait_over(wait->me);
}

static uint64_t since(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 1;
}

void hp_wait_told(struct hp_wait *wait, bool is_got)
{
	struct hp_waiter_local *me = wait->me;
	uint64_t now;

	hp_offcpu_note_end(wait->noted_since, HP_ON_FUTEX, HP_OFFCPU_NO_FD);
	if (!is_waiting(wait))
		return;
	now = hp_lock_clock(me);
	hp_wait_over(me);
	if (!is_got || !hp_lock_shut(me))
		return;
	wait->use->count++;
	hp_wait_add(me, wait->use, wait->contest, wait->since, since(now, wait->since));
	hp_lock_reopen(me);
}

/*
 * A signal handler during the wait has a lower stack, too, but it cannot
 * release the mutex that the wait released.
 */
void hp_wait_repair(struct hp_waiter_local *me, uintptr_t released)
{
	if (HP_LIKELY(me->wait_frame == 0) ||
	    ((uintptr_t)__builtin_frame_address(0) <= me->wait_frame &&
	     (!me->wait_mutex || released != me->wait_mutex_at)))
		return;
	hp_wait_over(me);
	/* The C library acquired the mutex for it before it was cancelled. */
	if (me->wait_mutex)
		me->wait_mutex->count++;
	me->wait_mutex = NULL;
}

/* --- conditions --- */

void hp_cond_begin(struct hp_cond_wait *cond, struct hp_use *use, const struct hp_lock_call *call,
		   uintptr_t mutex)
{
	struct hp_release release;

	cond->mutex = NULL;
	if (hp_lock_release(&release, mutex)) {
		/* A recursive mutex that is locked twice stays locked. */
		if (release.held.depth)
			hp_lock_keep(&release);
		else
			cond->mutex = (struct hp_use *)(uintptr_t)release.held.use;
		hp_lock_released(&release);
	}
	hp_wait_begin(&cond->wait, use, call);
	if (!cond->wait.me)
		return;
	cond->wait.me->wait_mutex = cond->mutex;
	cond->wait.me->wait_mutex_at = mutex;
	cond->wait.me->wait_counted = hp_lock_of(use);
	atomic_fetch_add_explicit(&hp_lock_of(use)->waiting, 1, memory_order_relaxed);
}

/* From the signal to here; without a signal the wake-up was spurious. */
static void woken_add(struct hp_waiter_local *me, struct hp_use *use, uint64_t began, uint64_t now)
{
	uint64_t signalled =
		atomic_load_explicit(&hp_lock_of(use)->signalled, memory_order_relaxed);
	uint64_t ticks = since(now, signalled);

	if (signalled < began) {
		use->failed++;
		return;
	}
	hp_hold_spread_add(me, &use->holds,
			   (struct hp_told){ use->timed, use->timed_ticks, use->hold_most }, ticks,
			   1);
	use->timed++;
	use->timed_ticks += ticks;
	use->hold_most = ticks > use->hold_most ? ticks : use->hold_most;
}

void hp_cond_end(struct hp_cond_wait *cond, const struct hp_lock_call *call, uintptr_t mutex,
		 bool is_woken)
{
	struct hp_waiter_local *me = cond->wait.me;
	struct hp_held *held;
	uint64_t now;

	hp_offcpu_note_end(cond->wait.noted_since, HP_ON_FUTEX, HP_OFFCPU_NO_FD);
	if (!is_waiting(&cond->wait))
		return;
	now = hp_lock_clock(me);
	hp_wait_over(me);
	me->wait_mutex = NULL;
	if (hp_lock_shut(me)) {
		cond->wait.use->count++;
		hp_wait_add(me, cond->wait.use, cond->wait.contest, cond->wait.since,
			    since(now, cond->wait.since));
		if (is_woken)
			woken_add(me, cond->wait.use, cond->wait.since, now);
		hp_lock_reopen(me);
	}
	if (!cond->mutex)
		return;
	is_again(me, mutex, false);
	cond->mutex->count++;
	held = hp_lock_push(me, cond->mutex, mutex, call->caller);
	if (!held)
		return;
	held->weight = 1;
	held->waited = 0;
	held->contest = 0;
	held->start = now;
}

HP_COLD void hp_cond_wake(struct hp_lock *lock)
{
	atomic_store_explicit(&lock->signalled, hp_lock_clock(hp_waiter()), memory_order_relaxed);
}

/* --- a timed hold that seems to take no time --- */

/*
 * The median: an interrupt may occur in one, and readings that overlap are nearly equal
 * (clock_cost in life.c).
 */
static uint64_t median(const uint64_t *ticks, int count)
{
	for (int i = 0; i < count; i++) {
		int below = 0, equal = 0;

		for (int k = 0; k < count; k++) {
			below += ticks[k] < ticks[i];
			equal += ticks[k] == ticks[i];
		}
		if (below <= count / 2 && below + equal > count / 2)
			return ticks[i];
	}
	return ticks[0];
}

void hp_lock_calibrate(struct hp_waiter_local *me)
{
	struct hp_use none = { .is_sampled = 0 };
	uint64_t ticks[HP_CALIBRATIONS];
	struct hp_release release;

	if (me->hold_cost != me->clock_cost)
		return;
	for (int i = 0; i < HP_CALIBRATIONS; i++) {
		struct hp_held *held = hp_lock_push(me, &none, (uintptr_t)&none, 0);

		if (!held)
			return;
		hp_lock_draw(me, &none, held);
		if (!hp_lock_release(&release, (uintptr_t)&none))
			return;
		ticks[i] = hp_clock_between(release.held.start, release.end);
	}
	me->hold_cost = median(ticks, HP_CALIBRATIONS);
}
