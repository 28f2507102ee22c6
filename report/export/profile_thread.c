/* SPDX-License-Identifier: MIT */
/*
 * profile_thread.c - threads of a profile, times and stacks of their samples: see profile.h.
 */
#include "report/base/memory.h"
#include "report/export/profile.h"
#include "report/section/cpu/cpu.h"
#include "segment/layout/process.h"

struct hp_profile_thread *hp_profile_thread(struct hp_profile *p, uint32_t pid, uint32_t tid)
{
	for (size_t i = p->thread_count; i-- > 0;)
		if (p->threads[i].tid == tid && p->threads[i].pid == pid)
			return &p->threads[i];
	p->threads = hp_xgrow(p->threads, p->thread_count, &p->thread_room, sizeof(*p->threads));
	p->threads[p->thread_count] = (struct hp_profile_thread){ .pid = pid, .tid = tid };
	return &p->threads[p->thread_count++];
}

double hp_profile_ms(const struct hp_profile *p, uint64_t raw_ns)
{
	uint64_t start = p->report->model.reader.header.start.ns;

	return raw_ns > start ? (double)(raw_ns - start) / 1e6 : 0;
}

static enum hp_profile_category category_of(const struct hp_model *model, uint32_t object)
{
	if (object == HP_NONE)
		return HP_PROFILE_OTHER;
	return model->objects[object].kind == HP_OBJECT_KERNEL ? HP_PROFILE_KERNEL
							       : HP_PROFILE_USER;
}

uint32_t hp_profile_sample_stack(struct hp_profile *p, uint32_t stack)
{
	struct hp_report *report = p->report;
	const struct hp_cpu *cpu = hp_report_cpu(report);
	const struct hp_cpu_place *place;
	uint32_t at;

	if (!stack || p->stacks[stack])
		return stack ? p->stacks[stack] : 0;
	at = hp_profile_sample_stack(p, report->model.sampling.stacks[stack].parent);
	place = &cpu->places[cpu->of_stack[stack]];
	for (uint32_t i = place->count; i-- > 0;) {
		const struct hp_cpu_frame *frame = &cpu->frames[place->first + i];
		const struct hp_cpu_frame *outer = &cpu->frames[place->first + place->count - 1];

		at = hp_profile_stack(
			&p->tables, at,
			&(struct hp_profile_frame){
				.name = hp_cpu_name(report, &cpu->functions[frame->function]),
				.file = frame->file,
				.line = frame->line,
				.object = place->object,
				.address = place->address,
				.depth = place->count - 1 - i,
				.category = category_of(&report->model, place->object),
				.start = place->start,
				.symbol = cpu->functions[outer->function].name,
			});
	}
	return p->stacks[stack] = at;
}
