/* SPDX-License-Identifier: MIT */
/* gap_samples.c - see gap_samples.h. */
#include "report/section/cpu/gap_samples.h"

#include "report/base/memory.h"
#include "report/read/event.h"
#include "report/section/cpu/cpu.h"

struct shares {
	struct hp_report *report;
	struct hp_model_gap_share *all;
	size_t count;
	size_t room;
};

/* The thread's last gap that began before; gaps of one thread do not overlap. */
static const struct hp_model_gap *gap_at(const struct hp_model *model, uint32_t tid, uint64_t ns)
{
	size_t low = 0, high = model->gap_count;
	const struct hp_model_gap *gap;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		gap = &model->gaps[middle];
		if (gap->tid < tid || (gap->tid == tid && gap->start_ns <= ns))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return NULL;
	gap = &model->gaps[low - 1];
	return gap->tid == tid && ns <= gap->end_ns ? gap : NULL;
}

static struct hp_model_gap_share *share_of(struct shares *s, uint32_t node, uint32_t function)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->all[i].node == node && s->all[i].function == function)
			return &s->all[i];
	s->all = hp_xgrow(s->all, s->count, &s->room, sizeof(*s->all));
	s->all[s->count] = (struct hp_model_gap_share){ .node = node, .function = function };
	return &s->all[s->count++];
}

static void event_add(void *context, const struct hp_event *event)
{
	struct shares *s = context;
	const struct hp_model_gap *gap = gap_at(&s->report->model, event->tid, event->ns);
	struct hp_model_gap_share *share;
	uint32_t owner = HP_NONE;

	if (!gap || event->kind != HP_EVENT_CPU)
		return;
	if (event->node && event->node < s->report->model.sampling.stack_count)
		owner = hp_cpu_owner(s->report, event->node);
	if (owner != HP_NONE)
		owner = hp_report_cpu(s->report)->functions[owner].instrumented;
	share = share_of(s, gap->node, owner);
	share->ns += (double)event->span_ns;
	share->squares += (double)event->span_ns * (double)event->span_ns;
}

void hp_cpu_sample_gaps(struct hp_report *report)
{
	const struct hp_model *model = &report->model;
	struct shares s = { .report = report };

	/* Dropped events are the last ones: those that are there would not stand for all. */
	if (!model->gap_count || !model->sampling.is_there || model->sampling.record.event_lost)
		return;
	hp_events_each(model, event_add, &s);
	if (s.count)
		hp_model_take_gap_shares(&report->model, s.all, s.count);
}
