/* SPDX-License-Identifier: MIT */
/*
 * hook_coroutine.c - coroutines of C++20, by include/hotpath_coroutine.h.
 *
 * The promise stores its flight and the number of its call: a flight is reused once this call has
 * ended, and a forked child has no flights of its parent.
 */
#include <errno.h>

#include "preload/future/future.h"

static HP_HOT struct hp_flight *flight_of(const struct hotpath_task *task)
{
	struct hp_flight *flight = task->flight;

	return HP_LIKELY(task->owner && task->owner == hp_self->process &&
			 __atomic_load_n(&flight->number, __ATOMIC_RELAXED) == task->number)
		       ? flight
		       : NULL;
}

static HP_COLD void begin(struct hotpath_task *task, uintptr_t function)
{
	struct hp_future *future = hp_future_of_code(HP_FUTURE_COROUTINE, function);
	struct hp_flight *flight = future ? hp_flight_begin(future) : NULL;

	if (!flight)
		return;
	task->flight = flight;
	task->future = future;
	task->number = flight->number;
	task->owner = hp_self->process;
}

static HP_COLD void end(struct hotpath_task *task, enum hp_future_state how)
{
	struct hp_flight *flight = flight_of(task);

	if (flight)
		hp_flight_end(task->future, flight, how, NULL);
	task->flight = NULL;
	task->owner = NULL;
}

static HP_COLD void other_step(struct hotpath_task *task, int step, const void *with)
{
	int saved = errno;

	switch (step) {
	case HOTPATH_STEP_BEGIN:
		if (!hp_is_early())
			begin(task, (uintptr_t)with);
		break;
	case HOTPATH_STEP_READY:
		end(task, HP_FUTURE_READY);
		break;
	case HOTPATH_STEP_CANCEL:
		end(task, HP_FUTURE_CANCELLED);
		break;
	case HOTPATH_STEP_CONTINUE:
		if (flight_of(task))
			hp_flight_continue(task->flight);
		break;
	case HOTPATH_STEP_RESULT:
		if (flight_of(task))
			hp_flight_result(task->flight, with);
		break;
	default:
		break;
	}
	errno = saved;
}

HP_EXPORT void hotpath_task_step(struct hotpath_task *task, int step, const void *with)
{
	struct hp_flight *flight;

	if (HP_UNLIKELY(hp_future_is_off))
		return;
	if (HP_LIKELY(step == HOTPATH_STEP_POLL || step == HOTPATH_STEP_PENDING)) {
		flight = flight_of(task);
		if (HP_UNLIKELY(!flight))
			return;
		if (step == HOTPATH_STEP_POLL)
			hp_flight_poll(flight);
		else
			hp_flight_pause(flight);
	} else {
		other_step(task, step, with);
	}
}
