/* SPDX-License-Identifier: MIT */
/*
 * hook_thread.c - interposes pthread_create and thrd_create to record a
 * thread's creator, start and function; and fork.
 *
 * The new thread's record holds its function. The thread starts in one of our
 * functions, which jumps there, so none of our frames is on its stack. A thread
 * without a record starts as without us.
 */
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

#include "preload/channel/channel.h"
#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/hook/birth.h"
#include "preload/wait/cpu_timer.h"
#include "segment/layout/process.h"

static void *run(void *record)
{
	struct hp_thread *thread = record;
	uintptr_t address = thread->routine;
	void *(*routine)(void *);

	memcpy(&routine, &address, sizeof(routine));
	return routine(hp_birth_begin(thread));
}

static int run_c11(void *record)
{
	struct hp_thread *thread = record;
	uintptr_t address = thread->routine;
	thrd_start_t routine;

	memcpy(&routine, &address, sizeof(routine));
	return routine(hp_birth_begin(thread));
}

/* thrd_success is 0, too. */
static int begun(struct hp_thread *thread, int error)
{
	if (HP_UNLIKELY(error))
		hp_birth_failed(thread);
	return error;
}

HP_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			     void *(*routine)(void *), void *argument)
{
	struct hp_thread *record = hp_birth((uintptr_t)routine, argument, HP_CALLER);

	if (record)
		return begun(record, hp_timer_create(thread, attributes, run, record));
	int error = hp_timer_create(thread, attributes, routine, argument);

	if (!error)
		hp_birth_more(HP_CALLER);
	return error;
}

HP_EXPORT int thrd_create(thrd_t *thread, thrd_start_t routine, void *argument)
{
	struct hp_thread *record = hp_birth((uintptr_t)routine, argument, HP_CALLER);

	if (record)
		return begun(record, hp_timer_create_c11(thread, run_c11, record));
	int result = hp_timer_create_c11(thread, routine, argument);

	if (result == thrd_success)
		hp_birth_more(HP_CALLER);
	return result;
}

/* --- processes --- */

HP_EXPORT pid_t fork(void)
{
	pid_t child;

	hp_channel_fork();
	child = hp_real()->fork();
	if (child < 0)
		hp_channel_fork_failed();
	if (child == 0)
		hp_birth_forked();
	return child;
}
