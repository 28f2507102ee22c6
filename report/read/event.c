/* SPDX-License-Identifier: MIT */
/* event.c - see event.h. */
#include "report/read/event.h"

#include <string.h>

void hp_events_each_wanted(const struct hp_model *model, hp_events_want *want,
			   void (*add)(void *context, const struct hp_event *event), void *context)
{
	struct hp_reader reader = model->reader;	/* not released: the model's */
	struct hp_event_chunk chunk;
	struct hp_event event;

	hp_reader_restart(&reader, 2);
	for (uint64_t at = model->sampling.record.events;
	     hp_reader_step(&reader, at, &chunk, sizeof(chunk)); at = chunk.next) {
		const char *events = hp_reader_take(&reader, at + sizeof(chunk),
						    (size_t)chunk.count * sizeof(event));

		if (!events || (want && !want(context, &chunk, events)))
			continue;
		for (uint32_t i = 0; i < chunk.count; i++) {
			memcpy(&event, events + i * sizeof(event), sizeof(event));
			add(context, &event);
		}
	}
}

void hp_events_each(const struct hp_model *model,
		    void (*add)(void *context, const struct hp_event *event), void *context)
{
	hp_events_each_wanted(model, NULL, add, context);
}
