/* SPDX-License-Identifier: MIT */
/*
 * hook_cond.c - stand-ins of condition variables: pthread_cond_* in both of
 * their versions, and C11's cnd_*.
 *
 * Waiting releases the mutex and takes it again through functions that cannot
 * be intercepted. So the hold ends when the wait begins, and the time after it
 * is another acquisition. The wait for the signal and the wait for the mutex
 * cannot be distinguished: both count for the condition.
 *
 * The version 2.2.5 of these functions works on another struct.  A program that
 * was linked with it must get it, so both are defined here, and each calls its own.
 *
 * These are cancellation points. A cancelled thread unwinds through our
 * function, which has nothing to clean up: see hp_wait_repair.
 */
#include <errno.h>
#include <pthread.h>
#include <threads.h>
#include <time.h>

#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/lock/lock.h"
#include "preload/wait/offcpu_note.h"
#include "util/count.h"

static struct hp_lock_call call_of(const void *cond, uintptr_t caller, uint32_t side)
{
	return (struct hp_lock_call){
		.address = (uintptr_t)cond, .caller = caller, .kind = HP_LOCK_COND, .side = side
	};
}

/* NULL = nothing is recorded. */
static HP_COLD struct hp_use *find_post(const void *cond, uintptr_t caller)
{
	struct hp_lock_call call = call_of(cond, caller, HP_SIDE_POST);

	hp_real();	/* it may be the first of our functions that is called */
	return hp_lock_use(&call);
}

/* The body of all waits: `real` is the call, `timeout` its result on timeout. */
#define WAIT(cond, mutex, real, timeout) \
	struct hp_lock_call call = call_of(cond, HP_CALLER, HP_SIDE_ONLY); \
	struct hp_use *use = hp_lock_use(&call); \
	struct hp_cond_wait wait; \
	int result; \
\
	if (HP_UNLIKELY(hp_lock_tells)) \
		hp_lock_tell(false, 0, 0); \
	if (!use) { \
		HP_OFFCPU_NOTED(result = real, HP_ON_FUTEX, HP_OFFCPU_NO_FD); \
	} else { \
		hp_cond_begin(&wait, use, &call, (uintptr_t)(mutex)); \
		result = real; \
		hp_cond_end(&wait, &call, (uintptr_t)(mutex), result == 0); \
		if (result == (timeout)) \
			hp_count_up(&use->timeouts); \
	} \
	if (HP_UNLIKELY(hp_lock_tells)) \
		hp_lock_tell(true, 0, 0); \
	return result

typedef int (*signal_call)(pthread_cond_t *cond);

static HP_COLD int signal_first(pthread_cond_t *cond, uintptr_t caller, const signal_call *real)
{
	struct hp_use *use = find_post(cond, caller);

	if (use)
		hp_cond_signal(use);
	return (*real)(cond);
}

static HP_COLD int signal_somebody(pthread_cond_t *cond, const struct hp_use *use,
				   const signal_call *real)
{
	hp_cond_wake(hp_lock_of(use));
	return (*real)(cond);
}

/*
 * Usually nobody waits, and the call costs the C library almost nothing. So
 * everything else is behind a jump, and nothing is left to do after the real
 * call.
 */
static HP_HOT int signal_with(pthread_cond_t *cond, uintptr_t caller, const signal_call *real)
{
	const struct hp_lock_slot *slot;
	struct hp_use *use;

	if (HP_UNLIKELY(hp_lock_is_off()))
		return (*real)(cond);
	slot = hp_lock_quick(hp_waiter(), (uintptr_t)cond, HP_SIDE_POST);
	if (HP_UNLIKELY(!slot))
		return signal_first(cond, caller, real);
	use = slot->use;
	use->count++;
	if (HP_UNLIKELY(atomic_load_explicit(&hp_lock_of(use)->waiting, memory_order_relaxed)))
		return signal_somebody(cond, use, real);
	return (*real)(cond);
}

#define MAKE(cond, real) \
	struct hp_lock_call call = call_of(cond, HP_CALLER, HP_SIDE_ONLY); \
	int result = real; \
\
	if (result == 0) \
		hp_lock_made(&call); \
	return result

#define NEVER (-1)	/* no such result */

/* Defines `here`_wait and the others of one version; `real` begins the names of the calls. */
#define FUNCTIONS(here, real) \
	HP_EXPORT int here##_wait(pthread_cond_t *cond, pthread_mutex_t *mutex); \
	HP_EXPORT int here##_wait(pthread_cond_t *cond, pthread_mutex_t *mutex) \
	{ \
		WAIT(cond, mutex, hp_real()->real##_wait(cond, mutex), NEVER); \
	} \
	HP_EXPORT int here##_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, \
				       const struct timespec *until); \
	HP_EXPORT int here##_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, \
				       const struct timespec *until) \
	{ \
		WAIT(cond, mutex, hp_real()->real##_timedwait(cond, mutex, until), ETIMEDOUT); \
	} \
	HP_EXPORT int here##_signal_one(pthread_cond_t *cond); \
	HP_EXPORT int here##_signal_one(pthread_cond_t *cond) \
	{ \
		return signal_with(cond, HP_CALLER, &hp_real_table.real##_signal); \
	} \
	HP_EXPORT int here##_signal_all(pthread_cond_t *cond); \
	HP_EXPORT int here##_signal_all(pthread_cond_t *cond) \
	{ \
		return signal_with(cond, HP_CALLER, &hp_real_table.real##_broadcast); \
	} \
	HP_EXPORT int here##_init(pthread_cond_t *cond, const pthread_condattr_t *attributes); \
	HP_EXPORT int here##_init(pthread_cond_t *cond, const pthread_condattr_t *attributes) \
	{ \
		MAKE(cond, hp_real()->real##_init(cond, attributes)); \
	} \
	HP_EXPORT int here##_destroy(pthread_cond_t *cond); \
	HP_EXPORT int here##_destroy(pthread_cond_t *cond) \
	{ \
		hp_lock_gone((uintptr_t)cond); \
		return hp_real()->real##_destroy(cond); \
	}

/* --- version 2.3.2, or the only version --- */

/* Defines the function `here`, which programs know by `name` in a version. */
#if defined(__x86_64__) && defined(__LP64__)
#define NEW(here, name) __asm__(".symver " #here ", " #name "@@GLIBC_2.3.2, remove")
#define OLD(here, name) __asm__(".symver " #here ", " #name "@GLIBC_2.2.5, remove")
#else
#define NEW(here, name) extern __typeof__(here) name __attribute__((alias(#here)))
#endif

FUNCTIONS(hp_cond, pthread_cond)
NEW(hp_cond_wait, pthread_cond_wait);
NEW(hp_cond_timedwait, pthread_cond_timedwait);
NEW(hp_cond_signal_one, pthread_cond_signal);
NEW(hp_cond_signal_all, pthread_cond_broadcast);
NEW(hp_cond_init, pthread_cond_init);
NEW(hp_cond_destroy, pthread_cond_destroy);

/* Came with 2.30. */
HP_EXPORT int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
				     const struct timespec *until)
{
	WAIT(cond, mutex, hp_real()->pthread_cond_clockwait(cond, mutex, clock, until), ETIMEDOUT);
}

/* --- version 2.2.5 --- */

#ifdef OLD
FUNCTIONS(hp_old_cond, old_cond)
OLD(hp_old_cond_wait, pthread_cond_wait);
OLD(hp_old_cond_timedwait, pthread_cond_timedwait);
OLD(hp_old_cond_signal_one, pthread_cond_signal);
OLD(hp_old_cond_signal_all, pthread_cond_broadcast);
OLD(hp_old_cond_init, pthread_cond_init);
OLD(hp_old_cond_destroy, pthread_cond_destroy);
#endif

/* --- C11: a cnd_t is a pthread_cond_t there --- */

HP_EXPORT int cnd_init(cnd_t *cond)
{
	MAKE(cond, hp_real()->cnd_init(cond));
}

HP_EXPORT void cnd_destroy(cnd_t *cond)
{
	hp_lock_gone((uintptr_t)cond);
	hp_real()->cnd_destroy(cond);
}

HP_EXPORT int cnd_wait(cnd_t *cond, mtx_t *mutex)
{
	WAIT(cond, mutex, hp_real()->cnd_wait(cond, mutex), NEVER);
}

HP_EXPORT int cnd_timedwait(cnd_t *restrict cond, mtx_t *restrict mutex,
			    const struct timespec *restrict until)
{
	WAIT(cond, mutex, hp_real()->cnd_timedwait(cond, mutex, until), thrd_timedout);
}

HP_EXPORT int cnd_signal(cnd_t *cond)
{
	struct hp_use *use = hp_lock_is_off() ? NULL : find_post(cond, HP_CALLER);

	if (use)
		hp_cond_signal(use);
	return hp_real()->cnd_signal(cond);
}

HP_EXPORT int cnd_broadcast(cnd_t *cond)
{
	struct hp_use *use = hp_lock_is_off() ? NULL : find_post(cond, HP_CALLER);

	if (use)
		hp_cond_signal(use);
	return hp_real()->cnd_broadcast(cond);
}
