/* SPDX-License-Identifier: MIT */
/*
 * events.c - see events.h.
 */
#include "report/section/finding/events.h"

#include <string.h>

#include "report/section/cpu/cpu.h"
#include "report/section/wait/offcpu.h"

void hp_survey_events(struct hp_survey *survey,
		      void (*add)(void *context, const struct hp_event *event), void *context)
{
	struct hp_report *report = survey->report;
	const struct hp_model_sampling *sampling = &report->model.sampling;
	struct hp_reader reader = report->model.reader;
	struct hp_event_chunk chunk;
	struct hp_event event;

	if (!sampling->is_there || sampling->record.fault || sampling->record.event_lost ||
	    sampling->has_bursts || !sampling->record.blocked_ns)
		return;
	hp_report_cpu(report);
	hp_reader_restart(&reader, 2);
	for (uint64_t at = sampling->record.events;
	     hp_reader_step(&reader, at, &chunk, sizeof(chunk)); at = chunk.next) {
		const char *events = hp_reader_take(&reader, at + sizeof(chunk),
						    (size_t)chunk.count * sizeof(event));

		for (uint32_t i = 0; events && i < chunk.count; i++) {
			memcpy(&event, events + i * sizeof(event), sizeof(event));
			if (event.kind == HP_EVENT_WAIT && event.node < sampling->stack_count &&
			    !hp_offcpu_is_profiler(report, event.node))
				add(context, &event);
		}
	}
}
