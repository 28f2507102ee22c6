/* SPDX-License-Identifier: MIT */
/*
 * hook_join.c - stand-ins for waiting for a thread's end, and receiving its result.
 */
#include <errno.h>
#include <pthread.h>
#include <threads.h>
#include <time.h>

#include "preload/channel/channel.h"
#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/lock/way.h"
#include "preload/wait/offcpu_note.h"

/* The next thread may have the same address, but is a different one. */
static int joined(uintptr_t thread, int result)
{
	if (result == 0)
		hp_channel_thread_joined(thread);
	return result;
}

#define JOIN(thread, real, is_late) \
	HP_WAY_WAIT(thread, HP_LOCK_THREAD, joined((uintptr_t)(thread), real), \
		    result == 0 && (hp_lock_joined(use), true), is_late)

HP_EXPORT int pthread_join(pthread_t thread, void **value)
{
	JOIN(thread, hp_real()->pthread_join(thread, value), false);
}

HP_EXPORT int pthread_timedjoin_np(pthread_t thread, void **value, const struct timespec *until)
{
	JOIN(thread, hp_real()->pthread_timedjoin_np(thread, value, until), result == ETIMEDOUT);
}

HP_EXPORT int pthread_clockjoin_np(pthread_t thread, void **value, clockid_t clock,
				   const struct timespec *until)
{
	JOIN(thread, hp_real()->pthread_clockjoin_np(thread, value, clock, until),
	     result == ETIMEDOUT);
}

HP_EXPORT int thrd_join(thrd_t thread, int *value)
{
	JOIN(thread, hp_real()->thrd_join(thread, value), false);
}
