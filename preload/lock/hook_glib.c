/* SPDX-License-Identifier: MIT */
/*
 * hook_glib.c - stand-ins of GLib's locks: GMutex, GRecMutex, GRWLock, GCond.
 *
 * GLib's own locking bypasses the dynamic linker, and is not recorded.
 * GRecMutex and GRWLock contain a pthread lock: during the real call
 * recording pauses for this thread, so that they are not counted twice.
 */
#include <errno.h>

#include "preload/guest/guest.h"
#include "preload/lock/glib.h"
#include "preload/lock/way.h"
#include "util/count.h"

/* Real calls with another lock inside. */
#define PAUSED(call) \
	({ \
		struct hp_waiter_local *was = hp_lock_pause(); \
		call; \
		hp_lock_go_on(was); \
		0; \
	})

#define PAUSED_TRY(call) \
	({ \
		struct hp_waiter_local *was = hp_lock_pause(); \
		int is_got_ = call; \
		hp_lock_go_on(was); \
		is_got_ ? 0 : EBUSY; \
	})

#define PASS(call) \
	do { \
		if (HP_UNLIKELY(hp_glib_is_without)) \
			return call; \
	} while (0)

/* The bodies of way.h return a number; GLib's functions return none. */
#define LOCK(name, object, kind, side, how, attempt, block) \
	static HP_HOT int name##_way(void *object) \
	{ \
		HP_WAY_LOCK_HOW(object, kind, side, 0, attempt, block, how); \
	} \
	HP_EXPORT void name(void *object); \
	HP_EXPORT void name(void *object) \
	{ \
		PASS(hp_glib()->name(object)); \
		name##_way(object); \
	}

#define TRY(name, object, kind, side, how, attempt) \
	static HP_HOT int name##_way(void *object) \
	{ \
		HP_WAY_TRY_HOW(object, kind, side, attempt, how); \
	} \
	HP_EXPORT int name(void *object); \
	HP_EXPORT int name(void *object) \
	{ \
		PASS(hp_glib()->name(object)); \
		return name##_way(object) == 0; \
	}

#define UNLOCK(name, object, real) \
	static HP_COLD int name##_told(void *object) \
	{ \
		HP_WAY_UNLOCK_TOLD(object, real); \
	} \
	static HP_HOT int name##_way(void *object) \
	{ \
		HP_WAY_UNLOCK(object, real, name##_told); \
	} \
	HP_EXPORT void name(void *object); \
	HP_EXPORT void name(void *object) \
	{ \
		PASS(hp_glib()->name(object)); \
		name##_way(object); \
	}

#define MAKE(name, object, kind) \
	static HP_HOT int name##_way(void *object) \
	{ \
		HP_WAY_MAKE(object, kind, PAUSED(hp_glib()->name(object))); \
	} \
	HP_EXPORT void name(void *object); \
	HP_EXPORT void name(void *object) \
	{ \
		PASS(hp_glib()->name(object)); \
		name##_way(object); \
	}

#define CLEAR(name, object) \
	HP_EXPORT void name(void *object); \
	HP_EXPORT void name(void *object) \
	{ \
		PASS(hp_glib()->name(object)); \
		hp_lock_gone((uintptr_t)object); \
		PAUSED(hp_glib()->name(object)); \
	}

MAKE(g_mutex_init, mutex, HP_LOCK_GMUTEX)
CLEAR(g_mutex_clear, mutex)
LOCK(g_mutex_lock, mutex, HP_LOCK_GMUTEX, HP_SIDE_ONLY, HP_GOT_PLAIN,
     hp_glib()->g_mutex_trylock(mutex) ? 0 : EBUSY, (hp_glib()->g_mutex_lock(mutex), 0))
TRY(g_mutex_trylock, mutex, HP_LOCK_GMUTEX, HP_SIDE_ONLY, HP_GOT_PLAIN,
    hp_glib()->g_mutex_trylock(mutex) ? 0 : EBUSY)
UNLOCK(g_mutex_unlock, mutex, (hp_glib()->g_mutex_unlock(mutex), 0))

MAKE(g_rec_mutex_init, mutex, HP_LOCK_GRECMUTEX)
CLEAR(g_rec_mutex_clear, mutex)
LOCK(g_rec_mutex_lock, mutex, HP_LOCK_GRECMUTEX, HP_SIDE_ONLY, HP_GOT_RECURSIVE,
     PAUSED_TRY(hp_glib()->g_rec_mutex_trylock(mutex)), PAUSED(hp_glib()->g_rec_mutex_lock(mutex)))
TRY(g_rec_mutex_trylock, mutex, HP_LOCK_GRECMUTEX, HP_SIDE_ONLY, HP_GOT_RECURSIVE,
    PAUSED_TRY(hp_glib()->g_rec_mutex_trylock(mutex)))
UNLOCK(g_rec_mutex_unlock, mutex, PAUSED(hp_glib()->g_rec_mutex_unlock(mutex)))

MAKE(g_rw_lock_init, lock, HP_LOCK_GRWLOCK)
CLEAR(g_rw_lock_clear, lock)
LOCK(g_rw_lock_reader_lock, lock, HP_LOCK_GRWLOCK, HP_SIDE_READ, HP_GOT_PLAIN,
     PAUSED_TRY(hp_glib()->g_rw_lock_reader_trylock(lock)),
     PAUSED(hp_glib()->g_rw_lock_reader_lock(lock)))
TRY(g_rw_lock_reader_trylock, lock, HP_LOCK_GRWLOCK, HP_SIDE_READ, HP_GOT_PLAIN,
    PAUSED_TRY(hp_glib()->g_rw_lock_reader_trylock(lock)))
UNLOCK(g_rw_lock_reader_unlock, lock, PAUSED(hp_glib()->g_rw_lock_reader_unlock(lock)))
LOCK(g_rw_lock_writer_lock, lock, HP_LOCK_GRWLOCK, HP_SIDE_WRITE, HP_GOT_PLAIN,
     PAUSED_TRY(hp_glib()->g_rw_lock_writer_trylock(lock)),
     PAUSED(hp_glib()->g_rw_lock_writer_lock(lock)))
TRY(g_rw_lock_writer_trylock, lock, HP_LOCK_GRWLOCK, HP_SIDE_WRITE, HP_GOT_PLAIN,
    PAUSED_TRY(hp_glib()->g_rw_lock_writer_trylock(lock)))
UNLOCK(g_rw_lock_writer_unlock, lock, PAUSED(hp_glib()->g_rw_lock_writer_unlock(lock)))

/* --- conditions --- */

MAKE(g_cond_init, cond, HP_LOCK_GCOND)
CLEAR(g_cond_clear, cond)

/* `real` tells if it was woken up. */
static HP_HOT int cond_wait(void *cond, void *mutex, int64_t until, bool is_timed)
{
	HP_CALL_OF(cond, HP_LOCK_GCOND, HP_SIDE_ONLY);
	struct hp_use *use = hp_lock_use(&call);
	struct hp_cond_wait wait;
	int is_woken = 1;

	if (use)
		hp_cond_begin(&wait, use, &call, (uintptr_t)mutex);
	if (is_timed)
		is_woken = hp_glib()->g_cond_wait_until(cond, mutex, until);
	else
		hp_glib()->g_cond_wait(cond, mutex);
	if (use)
		hp_cond_end(&wait, &call, (uintptr_t)mutex, is_woken);
	if (use && !is_woken)
		hp_count_up(&use->timeouts);
	return is_woken;
}

HP_EXPORT void g_cond_wait(void *cond, void *mutex);
HP_EXPORT void g_cond_wait(void *cond, void *mutex)
{
	PASS(hp_glib()->g_cond_wait(cond, mutex));
	cond_wait(cond, mutex, 0, false);
}

HP_EXPORT int g_cond_wait_until(void *cond, void *mutex, int64_t until);
HP_EXPORT int g_cond_wait_until(void *cond, void *mutex, int64_t until)
{
	PASS(hp_glib()->g_cond_wait_until(cond, mutex, until));
	return cond_wait(cond, mutex, until, true);
}

static HP_HOT void cond_signal(void *cond)
{
	HP_CALL_OF(cond, HP_LOCK_GCOND, HP_SIDE_POST);
	struct hp_use *use = hp_lock_use(&call);

	if (use)
		hp_cond_signal(use);
}

HP_EXPORT void g_cond_signal(void *cond);
HP_EXPORT void g_cond_signal(void *cond)
{
	if (!hp_glib_is_without)
		cond_signal(cond);
	hp_glib()->g_cond_signal(cond);
}

HP_EXPORT void g_cond_broadcast(void *cond);
HP_EXPORT void g_cond_broadcast(void *cond)
{
	if (!hp_glib_is_without)
		cond_signal(cond);
	hp_glib()->g_cond_broadcast(cond);
}
