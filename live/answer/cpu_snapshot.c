/* SPDX-License-Identifier: MIT */
/*
 * cpu_snapshot.c - see cpu_snapshot.h.
 */
#include "live/answer/cpu_snapshot.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

#include "report/base/memory.h"
#include "report/read/model.h"
#include "report/section/core/report.h"

void hp_cpu_snapshot_release(struct hp_cpu_snapshot *capture)
{
	cJSON_Delete(capture->report);
	free(capture->error);
	free(capture->seen);
	free(capture->folder);
	*capture = (struct hp_cpu_snapshot){ .status = HP_CPU_SNAPSHOT_IDLE };
}

struct hp_cpu_seen *hp_cpu_seen_new(const struct hp_report *report)
{
	const struct hp_model_sampling *sampling = &report->model.sampling;
	struct hp_cpu_seen *seen =
		hp_xmalloc(sizeof(*seen) + sampling->stack_count * sizeof(seen->stacks[0]));

	*seen = (struct hp_cpu_seen){ .elapsed_ns = report->model.elapsed_ns,
				      .samples = sampling->record.samples,
				      .count = sampling->stack_count };
	for (size_t i = 0; i < seen->count; i++) {
		seen->stacks[i].samples = sampling->stacks[i].samples;
		seen->stacks[i].cpu_ns = sampling->stacks[i].cpu_ns;
	}
	return seen;
}

static uint64_t less(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

/* Stacks keep their numbers. */
void hp_cpu_seen_take_off(struct hp_report *report, const struct hp_cpu_seen *seen)
{
	struct hp_model_sampling *sampling = &report->model.sampling;

	hp_model_sampling_spoil(sampling);
	for (size_t i = 0; i < seen->count && i < sampling->stack_count; i++) {
		struct hp_model_stack *stack = &sampling->stacks[i];

		stack->samples = less(stack->samples, seen->stacks[i].samples);
		stack->cpu_ns = less(stack->cpu_ns, seen->stacks[i].cpu_ns);
	}
	sampling->record.samples = less(sampling->record.samples, seen->samples);
	report->model.elapsed_ns = less(report->model.elapsed_ns, seen->elapsed_ns);
}
