/* SPDX-License-Identifier: MIT */
/*
 * hook_rwlock.c - stand-ins of pthread_rwlock_* and pthread_spin_*.
 *
 * A rwlock has two uses, one for each side.  Its try has the same rules as the
 * blocking call (one that prefers writers lets no reader pass a waiting
 * writer).
 *
 * Waiting for a spin lock burns the processor: its time is CPU time, too.
 */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/lock/way.h"

#define READ(lock, block) \
	HP_WAY_LOCK(lock, HP_LOCK_RWLOCK, HP_SIDE_READ, (lock)->__data.__cur_writer, \
		    hp_real_table.pthread_rwlock_tryrdlock(lock), block)
#define WRITE(lock, block) \
	HP_WAY_LOCK(lock, HP_LOCK_RWLOCK, HP_SIDE_WRITE, (lock)->__data.__cur_writer, \
		    hp_real_table.pthread_rwlock_trywrlock(lock), block)

HP_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
	READ(lock, hp_real()->pthread_rwlock_rdlock(lock));
}

HP_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *until)
{
	if (!hp_is_time_or_none(until))
		return hp_real()->pthread_rwlock_timedrdlock(lock, until);
	READ(lock, hp_real()->pthread_rwlock_timedrdlock(lock, until));
}

HP_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock,
					 const struct timespec *until)
{
	if (!hp_is_clock(clock) || !hp_is_time_or_none(until))
		return hp_real()->pthread_rwlock_clockrdlock(lock, clock, until);
	READ(lock, hp_real()->pthread_rwlock_clockrdlock(lock, clock, until));
}

HP_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
	WRITE(lock, hp_real()->pthread_rwlock_wrlock(lock));
}

HP_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *until)
{
	if (!hp_is_time_or_none(until))
		return hp_real()->pthread_rwlock_timedwrlock(lock, until);
	WRITE(lock, hp_real()->pthread_rwlock_timedwrlock(lock, until));
}

HP_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock,
					 const struct timespec *until)
{
	if (!hp_is_clock(clock) || !hp_is_time_or_none(until))
		return hp_real()->pthread_rwlock_clockwrlock(lock, clock, until);
	WRITE(lock, hp_real()->pthread_rwlock_clockwrlock(lock, clock, until));
}

HP_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock)
{
	HP_WAY_TRY(lock, HP_LOCK_RWLOCK, HP_SIDE_READ, hp_real()->pthread_rwlock_tryrdlock(lock));
}

HP_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t *lock)
{
	HP_WAY_TRY(lock, HP_LOCK_RWLOCK, HP_SIDE_WRITE, hp_real()->pthread_rwlock_trywrlock(lock));
}

static HP_COLD int unlock_told(pthread_rwlock_t *lock)
{
	HP_WAY_UNLOCK_TOLD(lock, hp_real()->pthread_rwlock_unlock(lock));
}

HP_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
	HP_WAY_UNLOCK(lock, hp_real_table.pthread_rwlock_unlock(lock), unlock_told);
}

HP_EXPORT int pthread_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attributes)
{
	HP_WAY_MAKE(lock, HP_LOCK_RWLOCK, hp_real()->pthread_rwlock_init(lock, attributes));
}

HP_EXPORT int pthread_rwlock_destroy(pthread_rwlock_t *lock)
{
	hp_lock_gone((uintptr_t)lock);
	return hp_real()->pthread_rwlock_destroy(lock);
}

/* --- spin locks --- */

HP_EXPORT int pthread_spin_lock(pthread_spinlock_t *lock)
{
	HP_WAY_LOCK(lock, HP_LOCK_SPIN, HP_SIDE_ONLY, 0, hp_real_table.pthread_spin_trylock(lock),
		    hp_real()->pthread_spin_lock(lock));
}

HP_EXPORT int pthread_spin_trylock(pthread_spinlock_t *lock)
{
	HP_WAY_TRY(lock, HP_LOCK_SPIN, HP_SIDE_ONLY, hp_real()->pthread_spin_trylock(lock));
}

static HP_COLD int spin_unlock_told(pthread_spinlock_t *lock)
{
	HP_WAY_UNLOCK_TOLD(lock, hp_real()->pthread_spin_unlock(lock));
}

HP_EXPORT int pthread_spin_unlock(pthread_spinlock_t *lock)
{
	HP_WAY_UNLOCK(lock, hp_real_table.pthread_spin_unlock(lock), spin_unlock_told);
}

HP_EXPORT int pthread_spin_init(pthread_spinlock_t *lock, int is_shared)
{
	HP_WAY_MAKE(lock, HP_LOCK_SPIN, hp_real()->pthread_spin_init(lock, is_shared));
}

HP_EXPORT int pthread_spin_destroy(pthread_spinlock_t *lock)
{
	hp_lock_gone((uintptr_t)lock);
	return hp_real()->pthread_spin_destroy(lock);
}
