/* SPDX-License-Identifier: MIT */
/*
 * begin.c - see begin.h. preload/hook/start.c has the start itself.
 */
#include "preload/guest/begin.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "preload/guest/above.h"
#include "preload/guest/early.h"

enum hp_start_state { HP_START_NONE = 0, HP_START_RUNNING, HP_START_RECORDS, HP_START_PASSES };

extern char **environ;

static _Atomic uint32_t state;
static uintptr_t starter;	/* the thread that is starting us */

/* Not gettid(): an excluded program may forbid that system call. */
static uintptr_t self(void)
{
	return (uintptr_t)pthread_self();
}

/* Another thread is starting the library; that takes bounded time, so wait. */
static uint32_t wait_for_start(void)
{
	uint32_t now = HP_START_RUNNING;

	if (starter == self())
		return now;
	while ((now = atomic_load_explicit(&state, memory_order_acquire)) == HP_START_RUNNING)
		sched_yield();
	return now;
}

/* Later it may be missing after clearenv(), but then the start is over. */
bool hp_start_is_early(void)
{
	return !environ && atomic_load_explicit(&state, memory_order_acquire) == HP_START_NONE;
}

bool hp_start_is_running(void)
{
	return atomic_load_explicit(&state, memory_order_acquire) == HP_START_RUNNING;
}

bool hp_start(void)
{
	uint32_t now = atomic_load_explicit(&state, memory_order_acquire);
	int saved;

	if (hp_is_early())
		return false;
	saved = errno;
	if (now == HP_START_NONE &&
	    atomic_compare_exchange_strong_explicit(&state, &now, HP_START_RUNNING,
						    memory_order_acq_rel, memory_order_acquire)) {
		starter = self();
		now = hp_above.start() ? HP_START_RECORDS : HP_START_PASSES;
		atomic_store_explicit(&state, now, memory_order_release);
	}
	if (now == HP_START_RUNNING)
		now = wait_for_start();
	errno = saved;
	return now == HP_START_RECORDS;
}
