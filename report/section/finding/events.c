/* SPDX-License-Identifier: MIT */
/*
 * events.c - see events.h.
 */
#include "report/section/finding/events.h"

#include "report/read/event.h"
#include "report/section/cpu/cpu.h"
#include "report/section/wait/offcpu.h"

struct waits {
	struct hp_report *report;
	void (*add)(void *context, const struct hp_event *event);
	void *context;
};

static void wait_add(void *context, const struct hp_event *event)
{
	const struct waits *to = context;

	if (event->kind == HP_EVENT_WAIT && event->node < to->report->model.sampling.stack_count &&
	    !hp_offcpu_is_profiler(to->report, event->node))
		to->add(to->context, event);
}

void hp_survey_events(struct hp_survey *survey,
		      void (*add)(void *context, const struct hp_event *event), void *context)
{
	struct hp_report *report = survey->report;
	const struct hp_model_sampling *sampling = &report->model.sampling;

	if (!sampling->is_there || sampling->record.fault || sampling->record.event_lost ||
	    sampling->has_bursts || !sampling->record.blocked_ns)
		return;
	hp_report_cpu(report);
	hp_events_each(&report->model, wait_add, &(struct waits){ report, add, context });
}
