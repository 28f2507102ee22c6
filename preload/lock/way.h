/* SPDX-License-Identifier: MIT */
/*
 * way.h - the bodies of stand-ins that lock and release.
 *
 * Macros get the expressions that make the real call; each path evaluates one
 * of them once. The work before and after the call is in inline functions,
 * which mutexes (hook_mutex.c) share: their fast path must not be a macro's.
 */
#ifndef HP_PRELOAD_LOCK_WAY_H
#define HP_PRELOAD_LOCK_WAY_H

#include <stdbool.h>
#include <time.h>

#include "preload/guest/guest.h"
#include "preload/lock/lock.h"
#include "preload/wait/offcpu_note.h"
#include "segment/layout/sample.h"
#include "util/count.h"

#define HP_CALL_OF(object, kind_, side_) \
	struct hp_lock_call call = { .address = (uintptr_t)(object), \
				     .caller = HP_CALLER, \
				     .kind = (kind_), \
				     .side = (side_) }

/* The end of a wait of `use` that began by hp_wait_begin(). */
static inline void hp_way_waited(struct hp_wait *wait, const struct hp_lock_call *call,
				 struct hp_use *use, bool is_got, bool is_late)
{
	hp_wait_end(wait, call, is_got);
	if (is_late)
		hp_count_up(&use->timeouts);
}

/* After a try. `how` as for hp_lock_got_more(); `use` NULL = not recorded. */
static inline void hp_way_tried(const struct hp_lock_call *call, struct hp_use *use, bool is_got,
				bool is_busy, uint32_t how)
{
	if (!use)
		return;
	if (is_got)
		hp_lock_got_more(hp_waiter(), use, call->address, call->caller, HP_GOT_TRIED | how);
	else if (is_busy)
		use->failed++;
}

/* After the real call of a release that hp_lock_release() started; `is_ours`: its result. */
static inline void hp_way_released(struct hp_release *release, bool is_ours, int result)
{
	if (!is_ours)
		return;
	if (result == 0)
		hp_lock_released(release);
	else
		hp_lock_keep(release);
}

/*
 * Locks with `attempt`, which does not wait, else with `block`. `owner` is
 * the tid of the holder, 0 = unknown.
 */
#define HP_WAY_LOCK(object, kind_, side_, owner, attempt, block) \
	HP_WAY_LOCK_HOW(object, kind_, side_, owner, attempt, block, HP_GOT_PLAIN)

/*
 * The same; `how` it can be acquired: HP_GOT_PLAIN, HP_GOT_RECURSIVE. Work that
 * the fast path does not need is outlined, so that it saves no registers for
 * it.
 */
#define HP_WAY_LOCK_HOW(object, kind_, side_, owner, attempt, block, how) \
	struct hp_waiter_local *me = hp_waiter(); \
	const struct hp_lock_slot *slot = hp_lock_quick(me, (uintptr_t)(object), side_); \
	struct hp_use *use = NULL; \
	int result; \
\
	if (HP_LIKELY(slot != NULL)) \
		use = hp_lock_slot_use(slot, (uintptr_t)(object), side_); \
	if (HP_LIKELY(use != NULL)) { \
		result = attempt; \
		if (HP_LIKELY(result == 0)) { \
			hp_lock_got(me, slot, use, (uintptr_t)(object), HP_CALLER, how); \
			return 0; \
		} \
	} \
	HP_CALL_OF(object, kind_, side_); \
	struct hp_wait wait; \
\
	if (!use) { \
		use = hp_lock_is_off() ? NULL : hp_lock_find(&call); \
		if (!use && !hp_offcpu_note_is_wanted()) \
			return block; \
		result = attempt; \
		if (!use) { \
			if (result) \
				HP_OFFCPU_NOTED(result = block, HP_ON_FUTEX, HP_OFFCPU_NO_FD); \
			return result; \
		} \
		if (result == 0) { \
			hp_lock_got_more(hp_waiter(), use, call.address, call.caller, how); \
			return 0; \
		} \
	} \
	call.holder = (uint32_t)(owner); \
	hp_wait_begin(&wait, use, &call); \
	result = block; \
	hp_way_waited(&wait, &call, use, result == 0, result == ETIMEDOUT); \
	return result

/* Checks that the real calls make before they read the lock: without them a try would acquire
 * it. */
static inline bool hp_is_clock(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

static inline bool hp_is_time(const struct timespec *until)
{
	return until->tv_nsec >= 0 && until->tv_nsec < 1000000000;
}

/* The headers declare the time as never null; the functions treat null as no limit. */
static inline bool hp_is_time_or_none(const struct timespec *until)
{
	__asm__("" : "+r"(until));
	return !until || hp_is_time(until);
}

/* Locks if that needs no wait. */
#define HP_WAY_TRY(object, kind_, side_, attempt) \
	HP_WAY_TRY_HOW(object, kind_, side_, attempt, HP_GOT_PLAIN)

#define HP_WAY_TRY_HOW(object, kind_, side_, attempt, how) \
	HP_CALL_OF(object, kind_, side_); \
	struct hp_use *use = hp_lock_use(&call); \
	int result = attempt; \
\
	hp_way_tried(&call, use, result == 0, result == EBUSY, how); \
	return result

/* `told` does the same if there is something to record. */
#define HP_WAY_UNLOCK(object, real, told) \
	struct hp_waiter_local *me = hp_waiter(); \
	int result; \
\
	if (HP_UNLIKELY(!hp_lock_drop(me, (uintptr_t)(object)))) \
		return told(object); \
	result = real; \
	if (HP_UNLIKELY(result != 0)) \
		hp_lock_undrop(me, (uintptr_t)(object)); \
	return result

#define HP_WAY_UNLOCK_TOLD(object, real) \
	struct hp_release release; \
	bool is_ours = hp_lock_release(&release, (uintptr_t)(object)); \
	int result = real; \
\
	hp_way_released(&release, is_ours, result); \
	return result

#define HP_WAY_MAKE(object, kind_, real) \
	HP_CALL_OF(object, kind_, HP_SIDE_ONLY); \
	int result = real; \
\
	if (result == 0) \
		hp_lock_made(&call); \
	return result

/* Waits for an object without a holder; `is_got` says if the wait succeeded. */
#define HP_WAY_WAIT(object, kind_, real, is_got, is_late) \
	HP_CALL_OF(object, kind_, HP_SIDE_ONLY); \
	struct hp_use *use = hp_lock_use(&call); \
	struct hp_wait wait; \
	int result, saved; \
\
	if (!use) { \
		HP_OFFCPU_NOTED(result = real, HP_ON_FUTEX, HP_OFFCPU_NO_FD); \
		return result; \
	} \
	hp_wait_begin(&wait, use, &call); \
	result = real; \
	saved = errno; \
	hp_wait_told(&wait, is_got); \
	if (is_late) \
		hp_count_up(&use->timeouts); \
	errno = saved; \
	return result

#endif
