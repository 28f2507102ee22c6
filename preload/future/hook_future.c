/* SPDX-License-Identifier: MIT */
/*
 * hook_future.c - HOTPATH_FUTURE and related macros of include/hotpath.h.
 */
#include <errno.h>

#include "preload/future/future.h"

/* Addresses of the program's own objects; the other kinds of futures have other keys. */
static uint64_t key_of(const void *object)
{
	return (uint64_t)(uintptr_t)object << 8 | HP_FUTURE_CUSTOM;
}

static HP_HOT bool flight_of(const void *object, struct hp_object_flight *found)
{
	return hp_self->process && hp_objects_find(key_of(object), found);
}

static void begin(struct hotpath_value *place, const void *object)
{
	struct hp_future *future = place ? hp_future_of_place(place) : NULL;

	if (future)
		hp_future_begin_at(future, key_of(object));
}

static HP_COLD void other_step(struct hotpath_value *place, int step, const void *object,
			       const char *text)
{
	struct hp_object_flight found;
	int saved = errno;

	switch (step) {
	case HOTPATH_STEP_RESULT:
		if (flight_of(object, &found))
			hp_flight_result(found.flight, text);
		break;
	case HOTPATH_STEP_BEGIN:
		begin(place, object);
		break;
	case HOTPATH_STEP_READY:
		hp_future_end_at(key_of(object), HP_FUTURE_READY, text);
		break;
	case HOTPATH_STEP_CANCEL:
		hp_future_end_at(key_of(object), HP_FUTURE_CANCELLED, text);
		break;
	default:
		break;
	}
	errno = saved;
}

/* A poll never changes errno. */
HP_EXPORT void hotpath_future(struct hotpath_value *place, int step, const void *object,
			      const char *text)
{
	struct hp_object_flight found;

	if (HP_UNLIKELY(hp_future_is_off || hp_is_early()))
		return;
	if (HP_UNLIKELY(step != HOTPATH_STEP_POLL && step != HOTPATH_STEP_PENDING))
		other_step(place, step, object, text);
	else if (HP_UNLIKELY(!flight_of(object, &found)))
		return;
	else if (step == HOTPATH_STEP_POLL)
		hp_flight_poll(found.flight);
	else
		hp_flight_pause(found.flight);
}
