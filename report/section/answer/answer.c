/* SPDX-License-Identifier: MIT */
/*
 * answer.c - see answer.h.
 */
#include "report/section/answer/answer.h"

#include <stdlib.h>
#include <unistd.h>

#include "report/base/memory.h"

static void answer_free(void *held)
{
	struct hp_answer *answer = held;

	for (size_t i = 0; i < answer->cpu_count; i++) {
		free(answer->cpu[i].name);
		for (size_t j = 0; j < answer->cpu[i].callee_count; j++)
			free(answer->cpu[i].callees[j].name);
	}
	for (size_t i = 0; i < answer->timed_count; i++)
		free(answer->timed[i].name);
	for (size_t i = 0; i < answer->wait_count; i++) {
		free(answer->waits[i].who);
		free(answer->waits[i].what);
	}
	for (size_t i = 0; i < answer->memory_count; i++)
		free(answer->memory[i].path);
	free(answer->launch.is_object);
	free(answer);
}

/* The machine where it ran; this one only while it runs here. */
static uint64_t cores_of(const struct hp_report *report)
{
	uint64_t cores = hp_facts_cores(report->record.facts, &report->model);
	long here = report->record.is_live ? sysconf(_SC_NPROCESSORS_ONLN) : 0;

	if (cores)
		return cores;
	return here > 0 ? (uint64_t)here : 0;
}

const struct hp_answer *hp_answer_of(struct hp_report *report)
{
	static const struct hp_view_kind kind = { .free = answer_free };
	struct hp_answer *answer = hp_views_get(&report->views, &kind);

	if (answer)
		return answer;
	answer = hp_views_add(&report->views, &kind, hp_xcalloc(1, sizeof(*answer)));
	answer->wall_ns = (double)report->model.elapsed_ns;
	answer->cores = cores_of(report);
	hp_answer_launch_make(report, answer);
	hp_answer_time_make(report, answer);
	hp_answer_cpu_make(report, answer);
	hp_answer_waits_make(report, answer);
	hp_answer_memory_make(report, answer);
	return answer;
}
