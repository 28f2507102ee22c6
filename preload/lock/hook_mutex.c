/* SPDX-License-Identifier: MIT */
/*
 * hook_mutex.c - stand-ins of mutexes: pthread_mutex_* and C11's mtx_*, which is
 * the same object in the C library.
 *
 * The fast path is one lookup, a try, and two or three stores.  If a try fails
 * for another reason than "taken", the real call repeats it and returns the error.
 * A mutex whose owner died is acquired, also by a try.
 *
 * In a process with one thread the C library locks without an atomic
 * instruction, but its tries have one: so there the real call locks a free
 * mutex.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/lock/lock.h"
#include "preload/lock/way.h"
#include "preload/wait/offcpu_note.h"

/* Called by a jump: the fast path need not save the registers that this saves. */
#define HP_APART __attribute__((noinline))

#define HP_KIND_MASK 3	/* of __kind: the lower bits are the type */
#define HP_KIND_RECURSIVE 1
#define HP_KIND_INHERIT 32	/* priority, of the waiter */

extern char __libc_single_threaded __attribute__((weak));	/* glibc 2.32 and later */

static inline uint32_t how_got(const pthread_mutex_t *mutex)
{
	return (mutex->__data.__kind & HP_KIND_MASK) == HP_KIND_RECURSIVE ? HP_GOT_RECURSIVE
									  : HP_GOT_PLAIN;
}

static inline struct hp_lock_call call_of(const pthread_mutex_t *mutex, uintptr_t caller)
{
	return (struct hp_lock_call){ .address = (uintptr_t)mutex,
				      .caller = caller,
				      .kind = HP_LOCK_MUTEX };
}

/* Nobody else can want it: neither a thread of this process nor another process. */
static inline bool is_for_us_alone(const pthread_mutex_t *mutex)
{
	return &__libc_single_threaded && __libc_single_threaded &&
	       !(mutex->__data.__kind & ~HP_KIND_MASK) && mutex->__data.__lock == 0;
}

static inline int try_lock(pthread_mutex_t *mutex)
{
	return is_for_us_alone(mutex) ? hp_real_table.pthread_mutex_lock(mutex)
				      : hp_real_table.pthread_mutex_trylock(mutex);
}

/*
 * A try of a mutex that is no longer recoverable leaves it locked by the caller (glibc 2.36);
 * the program's own call would not. Nobody holds such a mutex, so if it is ours, the try locked
 * it.
 */
static HP_COLD void let_go(pthread_mutex_t *mutex)
{
	uint32_t *word = (uint32_t *)(void *)&mutex->__data.__lock;
	uint32_t before = __atomic_load_n(word, __ATOMIC_RELAXED);

	if ((before & FUTEX_TID_MASK) != (uint32_t)syscall(SYS_gettid))
		return;
	before = __atomic_exchange_n(word, 0, __ATOMIC_RELEASE);
	if (before & FUTEX_WAITERS)
		syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static inline bool is_got(int result)
{
	return result == 0 || result == EOWNERDEAD;
}

/* The waiting call, of any interface; none of them: pthread_mutex_lock. */
struct blocking {
	int (*timed)(pthread_mutex_t *, const struct timespec *);
	int (*clocked)(pthread_mutex_t *, clockid_t, const struct timespec *);
	int (*c11)(mtx_t *);
	int (*c11_timed)(mtx_t *, const struct timespec *);
	const struct timespec *until;
	clockid_t clock;
};

static int block(const struct blocking *how, pthread_mutex_t *mutex)
{
	if (how->timed)
		return how->timed(mutex, how->until);
	if (how->clocked)
		return how->clocked(mutex, how->clock, how->until);
	if (how->c11)
		return how->c11((mtx_t *)mutex);
	if (how->c11_timed)
		return how->c11_timed((mtx_t *)mutex, how->until);
	return hp_real()->pthread_mutex_lock(mutex);
}

static bool is_timeout(const struct blocking *how, int result)
{
	return (how->timed || how->clocked) ? result == ETIMEDOUT
					    : how->c11_timed && result == thrd_timedout;
}

/* The waiting call, while `holder` has the mutex. */
static HP_COLD int wait_for(const struct blocking *how, pthread_mutex_t *mutex, uint32_t holder)
{
	bool is_told = hp_lock_tells && holder;
	int result;

	if (HP_UNLIKELY(is_told))
		hp_lock_tell(false, (uintptr_t)mutex, holder);
	result = block(how, mutex);
	if (HP_UNLIKELY(is_told))
		hp_lock_tell(true, (uintptr_t)mutex, holder);
	return result;
}

static HP_COLD int lock_taken(struct hp_use *use, pthread_mutex_t *mutex, uintptr_t caller,
			      const struct blocking *how)
{
	struct hp_lock_call call = call_of(mutex, caller);
	struct hp_wait wait;
	int result;

	call.holder = (uint32_t)mutex->__data.__owner;
	hp_wait_begin(&wait, use, &call);
	result = wait_for(how, mutex, call.holder);
	hp_way_waited(&wait, &call, use, is_got(result), is_timeout(how, result));
	return result;
}

static HP_HOT int lock_with(struct hp_waiter_local *me, const struct hp_lock_slot *slot,
			    struct hp_use *use, pthread_mutex_t *mutex, uintptr_t caller,
			    const struct blocking *how)
{
	int result = try_lock(mutex);

	if (HP_UNLIKELY(!is_got(result))) {
		if (HP_UNLIKELY(result == ENOTRECOVERABLE))
			let_go(mutex);
		return lock_taken(use, mutex, caller, how);
	}
	if (HP_UNLIKELY(!slot || !hp_lock_note(me, slot, use, (uintptr_t)mutex, caller)))
		hp_lock_got_more(me, use, (uintptr_t)mutex, caller, how_got(mutex));
	return result;
}

/* Locks are not recorded, waits for them are. */
static int lock_and_note(pthread_mutex_t *mutex, const struct blocking *how)
{
	int result = try_lock(mutex);

	if (result == ENOTRECOVERABLE)
		let_go(mutex);
	if (!is_got(result))
		HP_OFFCPU_NOTED(result = wait_for(how, mutex, (uint32_t)mutex->__data.__owner),
				HP_ON_FUTEX, HP_OFFCPU_NO_FD);
	return result;
}

static HP_COLD int lock_first(pthread_mutex_t *mutex, uintptr_t caller, const struct blocking *how)
{
	struct hp_lock_call call = call_of(mutex, caller);
	struct hp_use *use = hp_lock_find(&call);

	if (use)
		return lock_with(hp_waiter(), NULL, use, mutex, caller, how);
	return hp_offcpu_note_is_wanted() ? lock_and_note(mutex, how) : block(how, mutex);
}

static HP_HOT int lock(pthread_mutex_t *mutex, uintptr_t caller, const struct blocking *how)
{
	struct hp_waiter_local *me = hp_waiter();
	const struct hp_lock_slot *slot = hp_lock_quick(me, (uintptr_t)mutex, HP_SIDE_ONLY);
	struct hp_use *use = slot ? hp_lock_slot_use(slot, (uintptr_t)mutex, HP_SIDE_ONLY) : NULL;

	if (HP_UNLIKELY(!use))
		return lock_first(mutex, caller, how);
	return lock_with(me, slot, use, mutex, caller, how);
}

/* The real call refuses it, or may, before it reads the lock: a try would have acquired it. */
static bool is_odd_clock(const pthread_mutex_t *mutex, clockid_t clock)
{
	bool inherits = mutex->__data.__kind & HP_KIND_INHERIT;

	return clock != CLOCK_REALTIME && (clock != CLOCK_MONOTONIC || inherits);
}

static int lock_untried(pthread_mutex_t *mutex, uintptr_t caller, const struct blocking *how)
{
	struct hp_lock_call call = call_of(mutex, caller);
	struct hp_use *use = hp_lock_use(&call);
	int result = block(how, mutex);

	if (use && is_got(result))
		hp_lock_got_more(hp_waiter(), use, call.address, caller, how_got(mutex));
	return result;
}

/* `busy`: the documented result for a locked one. */
static int try_only(pthread_mutex_t *mutex, uintptr_t caller, int (*real)(pthread_mutex_t *),
		    int busy)
{
	struct hp_lock_call call = call_of(mutex, caller);
	struct hp_use *use = hp_lock_use(&call);
	int result = real(mutex);

	hp_way_tried(&call, use, is_got(result), result == busy, how_got(mutex));
	return result;
}

static HP_COLD int unlock_told(pthread_mutex_t *mutex, int (*real)(pthread_mutex_t *))
{
	struct hp_release release;
	bool is_ours = hp_lock_release(&release, (uintptr_t)mutex);
	int result;

	hp_real();	/* it may be the very first call of ours */
	result = real(mutex);
	hp_way_released(&release, is_ours, result);
	return result;
}

static HP_APART int unlock(pthread_mutex_t *mutex, int (*real)(pthread_mutex_t *))
{
	struct hp_waiter_local *me = hp_waiter();
	int result;

	if (HP_UNLIKELY(!hp_lock_drop(me, (uintptr_t)mutex)))
		return unlock_told(mutex, real);
	result = real(mutex);
	if (HP_UNLIKELY(result != 0))
		hp_lock_undrop(me, (uintptr_t)mutex);
	return result;
}

static void made(const pthread_mutex_t *mutex, uintptr_t caller)
{
	struct hp_lock_call call = call_of(mutex, caller);

	hp_lock_made(&call);
}

/* --- the functions themselves --- */

static int real_lock(pthread_mutex_t *mutex)
{
	return hp_real()->pthread_mutex_lock(mutex);
}

static int real_unlock(pthread_mutex_t *mutex)
{
	return hp_real_table.pthread_mutex_unlock(mutex);
}

static int real_mtx_unlock(pthread_mutex_t *mutex)
{
	return hp_real_table.mtx_unlock((mtx_t *)mutex);
}

static int real_mtx_trylock(pthread_mutex_t *mutex)
{
	return hp_real_table.mtx_trylock((mtx_t *)mutex);
}

/*
 * Empty, since a constant with an address is unusable before we are relocated
 * (preload/guest/early.h).
 */
static const struct blocking plainly;

static HP_APART int lock_off(pthread_mutex_t *mutex)
{
	return hp_offcpu_note_is_wanted() || hp_lock_tells
		       ? lock_and_note(mutex, &plainly)
		       : hp_real_table.pthread_mutex_lock(mutex);
}

/*
 * The unusual cases: `result` is the result of the try. `use` = NULL: a signal
 * handler took the slot meanwhile.
 */
static HP_APART int lock_tried(struct hp_use *use, pthread_mutex_t *mutex, uintptr_t caller,
			       int result)
{
	struct hp_lock_call call = call_of(mutex, caller);

	use = use ? use : hp_lock_find(&call);
	if (result == ENOTRECOVERABLE)
		let_go(mutex);
	if (!is_got(result))
		return use ? lock_taken(use, mutex, caller, &plainly) : real_lock(mutex);
	if (use)
		hp_lock_got_more(hp_waiter(), use, call.address, caller, how_got(mutex));
	return result;
}

/* Behind a jump: the single-threaded path does not save the registers that this needs. */
static HP_APART int lock_shared(struct hp_waiter_local *me, const struct hp_lock_slot *slot,
				pthread_mutex_t *mutex, uintptr_t caller)
{
	int result = try_lock(mutex);
	struct hp_use *use = hp_lock_slot_use(slot, (uintptr_t)mutex, HP_SIDE_ONLY);

	if (HP_UNLIKELY(result != 0 || !use ||
			!hp_lock_note(me, slot, use, (uintptr_t)mutex, caller)))
		return lock_tried(use, mutex, caller, result);
	return 0;
}

/* In these two every nanosecond matters: if nothing is recorded, they only check. */
HP_EXPORT HP_AT_LINE int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	struct hp_waiter_local *me = hp_waiter();
	const struct hp_lock_slot *slot;

	if (HP_UNLIKELY(hp_lock_is_off()))
		return lock_off(mutex);
	slot = hp_lock_quick(me, (uintptr_t)mutex, HP_SIDE_ONLY);
	if (HP_UNLIKELY(!slot))
		return lock_first(mutex, HP_CALLER, &plainly);
	/*
	 * Nobody can interfere, so it is recorded first, and nothing is left to do
	 * afterwards.
	 */
	if (is_for_us_alone(mutex) &&
	    hp_lock_note_first(me, slot->use, (uintptr_t)mutex, HP_CALLER))
		return hp_real_table.pthread_mutex_lock(mutex);
	return lock_shared(me, slot, mutex, HP_CALLER);
}

HP_EXPORT int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
	const struct blocking how = { .timed = hp_real()->pthread_mutex_timedlock, .until = until };

	return lock(mutex, HP_CALLER, &how);
}

HP_EXPORT int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock,
				      const struct timespec *until)
{
	const struct blocking how = { .clocked = hp_real()->pthread_mutex_clocklock,
				      .until = until,
				      .clock = clock };

	if (HP_UNLIKELY(is_odd_clock(mutex, clock)))
		return lock_untried(mutex, HP_CALLER, &how);
	return lock(mutex, HP_CALLER, &how);
}

HP_EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	return try_only(mutex, HP_CALLER, hp_real()->pthread_mutex_trylock, EBUSY);
}

HP_EXPORT HP_AT_LINE int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	struct hp_waiter_local *me = hp_waiter();

	if (HP_UNLIKELY(hp_lock_is_off()))
		return hp_real_table.pthread_mutex_unlock(mutex);
	/* Releasing a mutex that does not check its owner cannot fail. */
	if (HP_LIKELY(mutex->__data.__kind == PTHREAD_MUTEX_NORMAL &&
		      hp_lock_drop_usual(me, (uintptr_t)mutex)))
		return hp_real_table.pthread_mutex_unlock(mutex);
	return unlock(mutex, real_unlock);
}

HP_EXPORT int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
	int result = hp_real()->pthread_mutex_init(mutex, attributes);

	if (result == 0)
		made(mutex, HP_CALLER);
	return result;
}

/* Before the real call: after it the memory may be another lock. */
HP_EXPORT int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
	hp_lock_gone((uintptr_t)mutex);
	return hp_real()->pthread_mutex_destroy(mutex);
}

HP_EXPORT int mtx_init(mtx_t *mutex, int type)
{
	int result = hp_real()->mtx_init(mutex, type);

	if (result == thrd_success)
		made((pthread_mutex_t *)mutex, HP_CALLER);
	return result;
}

HP_EXPORT void mtx_destroy(mtx_t *mutex)
{
	hp_lock_gone((uintptr_t)mutex);
	hp_real()->mtx_destroy(mutex);
}

HP_EXPORT int mtx_lock(mtx_t *mutex)
{
	const struct blocking how = { .c11 = hp_real()->mtx_lock };

	return lock((pthread_mutex_t *)mutex, HP_CALLER, &how);
}

HP_EXPORT int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict until)
{
	const struct blocking how = { .c11_timed = hp_real()->mtx_timedlock, .until = until };

	return lock((pthread_mutex_t *)mutex, HP_CALLER, &how);
}

HP_EXPORT int mtx_trylock(mtx_t *mutex)
{
	hp_real();
	return try_only((pthread_mutex_t *)mutex, HP_CALLER, real_mtx_trylock, thrd_busy);
}

HP_EXPORT int mtx_unlock(mtx_t *mutex)
{
	return unlock((pthread_mutex_t *)mutex, real_mtx_unlock);
}
