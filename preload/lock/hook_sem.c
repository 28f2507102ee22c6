/* SPDX-License-Identifier: MIT */
/*
 * hook_sem.c - interposes semaphores and barriers, which are waited for but not
 * held.
 *
 * sem_wait is a cancellation point even if it does not wait: it checks for
 * cancellation first, then takes an available unit. So does the stand-in; only
 * if there is none, it reads the clock and makes the real call. The timed ones
 * first refuse an invalid time: then the stand-in only passes the call on.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/lock/way.h"
#include "preload/wait/offcpu_note.h"
#include "util/count.h"

static bool take(sem_t *sem)
{
	int saved = errno;
	bool is_taken;

	hp_real()->pthread_testcancel();
	is_taken = hp_real()->sem_trywait(sem) == 0;
	errno = saved;
	return is_taken;
}

#define TOLD(wait) \
	do { \
		if (HP_UNLIKELY(hp_lock_tells)) \
			hp_lock_tell(false, 0, 0); \
		wait; \
		if (HP_UNLIKELY(hp_lock_tells)) \
			hp_lock_tell(true, 0, 0); \
	} while (0)

#define TAKE(sem, may_try, block) \
	HP_CALL_OF(sem, HP_LOCK_SEM, HP_SIDE_ONLY); \
	struct hp_use *use = hp_lock_use(&call); \
	struct hp_wait wait; \
	int result, saved; \
\
	if (!use || !(may_try)) { \
		HP_OFFCPU_NOTED(TOLD(result = block), HP_ON_FUTEX, HP_OFFCPU_NO_FD); \
		return result; \
	} \
	if (take(sem)) { \
		use->count++; \
		return 0; \
	} \
	hp_wait_begin(&wait, use, &call); \
	TOLD(result = block); \
	saved = errno; \
	hp_wait_told(&wait, result == 0); \
	if (result != 0 && saved == ETIMEDOUT) \
		hp_count_up(&use->timeouts); \
	errno = saved; \
	return result

HP_EXPORT int sem_wait(sem_t *sem)
{
	TAKE(sem, true, hp_real()->sem_wait(sem));
}

HP_EXPORT int sem_timedwait(sem_t *restrict sem, const struct timespec *restrict until)
{
	TAKE(sem, hp_is_time(until), hp_real()->sem_timedwait(sem, until));
}

HP_EXPORT int sem_clockwait(sem_t *restrict sem, clockid_t clock,
			    const struct timespec *restrict until)
{
	TAKE(sem, hp_is_time(until) && hp_is_clock(clock),
	     hp_real()->sem_clockwait(sem, clock, until));
}

HP_EXPORT int sem_trywait(sem_t *sem)
{
	HP_CALL_OF(sem, HP_LOCK_SEM, HP_SIDE_ONLY);
	struct hp_use *use = hp_lock_use(&call);
	int result = hp_real()->sem_trywait(sem);

	if (use && result == 0)
		use->count++;
	else if (use)
		use->failed++;
	return result;
}

/* May be called in a signal handler. */
HP_EXPORT int sem_post(sem_t *sem)
{
	HP_CALL_OF(sem, HP_LOCK_SEM, HP_SIDE_POST);
	struct hp_use *use = hp_lock_use(&call);
	int result = hp_real()->sem_post(sem);

	if (use && result == 0)
		use->count++;
	return result;
}

HP_EXPORT int sem_init(sem_t *sem, int is_shared, unsigned value)
{
	HP_WAY_MAKE(sem, HP_LOCK_SEM, hp_real()->sem_init(sem, is_shared, value));
}

HP_EXPORT int sem_destroy(sem_t *sem)
{
	hp_lock_gone((uintptr_t)sem);
	return hp_real()->sem_destroy(sem);
}

/* --- barriers --- */

HP_EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	HP_WAY_WAIT(barrier, HP_LOCK_BARRIER, hp_real()->pthread_barrier_wait(barrier),
		    result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD, false);
}

HP_EXPORT int pthread_barrier_init(pthread_barrier_t *restrict barrier,
				   const pthread_barrierattr_t *restrict attributes, unsigned count)
{
	HP_WAY_MAKE(barrier, HP_LOCK_BARRIER,
		    hp_real()->pthread_barrier_init(barrier, attributes, count));
}

HP_EXPORT int pthread_barrier_destroy(pthread_barrier_t *barrier)
{
	hp_lock_gone((uintptr_t)barrier);
	return hp_real()->pthread_barrier_destroy(barrier);
}
