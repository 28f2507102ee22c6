/* SPDX-License-Identifier: MIT */
/*
 * hook_thread.c - interposes pthread_create and thrd_create to record a
 * thread's creator, start and function; and fork.
 *
 * What we pass to the new thread holds its function. The thread starts in one of our
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

static void *run(void *data)
{
	struct hp_birth *birth = data;
	uintptr_t address = birth->routine;
	void *(*routine)(void *);

	memcpy(&routine, &address, sizeof(routine));
	return routine(hp_birth_begin(birth));
}

static int run_c11(void *data)
{
	struct hp_birth *birth = data;
	uintptr_t address = birth->routine;
	thrd_start_t routine;

	memcpy(&routine, &address, sizeof(routine));
	return routine(hp_birth_begin(birth));
}

/* thrd_success is 0, too. */
static int begun(struct hp_birth *birth, int error)
{
	if (HP_UNLIKELY(error))
		hp_birth_failed(birth);
	return error;
}

HP_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			     void *(*routine)(void *), void *argument)
{
	struct hp_birth *birth = hp_birth((uintptr_t)routine, argument, HP_CALLER);

	if (birth)
		return begun(birth, hp_timer_create(thread, attributes, run, birth));
	int error = hp_timer_create(thread, attributes, routine, argument);

	if (!error)
		hp_birth_more(HP_CALLER);
	return error;
}

HP_EXPORT int thrd_create(thrd_t *thread, thrd_start_t routine, void *argument)
{
	struct hp_birth *birth = hp_birth((uintptr_t)routine, argument, HP_CALLER);

	if (birth)
		return begun(birth, hp_timer_create_c11(thread, run_c11, birth));
	int result = hp_timer_create_c11(thread, routine, argument);

	if (result == thrd_success)
		hp_birth_more(HP_CALLER);
	return result;
}

/* --- processes --- */

HP_EXPORT pid_t fork(void)
{
	uint64_t forks = hp_birth_forks();
	pid_t child;

	hp_channel_fork();
	child = hp_real()->fork();
	if (child < 0)
		hp_channel_fork_failed();
	if (child == 0)
		hp_birth_forked(forks);
	return child;
}
