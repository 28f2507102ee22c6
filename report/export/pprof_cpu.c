/* SPDX-License-Identifier: MIT */
/*
 * pprof_cpu.c - pprof's profile.proto, packed by gzip: `go tool pprof`.
 */
#include <stdlib.h>

#include "report/export/export.h"
#include "report/export/pprof.h"

static void functions_put(struct hp_pprof *p, struct hp_report *report)
{
	const struct hp_cpu *cpu = hp_report_cpu(report);

	for (size_t i = 0; i < cpu->function_count; i++)
		hp_pprof_function(p, i + 1, hp_cpu_name(report, &cpu->functions[i]), NULL);
}

static void locations_put(struct hp_pprof *p, const struct hp_cpu *cpu)
{
	struct hp_pprof_bytes m = { .at = NULL }, line = { .at = NULL };

	for (size_t i = 0; i < cpu->place_count; i++) {
		const struct hp_cpu_place *place = &cpu->places[i];

		hp_pprof_number(&m, 1, i + 1);
		hp_pprof_number(&m, 3, place->address);
		for (uint32_t f = 0; f < place->count; f++) {
			const struct hp_cpu_frame *frame = &cpu->frames[place->first + f];

			hp_pprof_number(&line, 1, frame->function + 1u);
			hp_pprof_number(&line, 2, frame->line > 0 ? (uint64_t)frame->line : 0);
			hp_pprof_message(&m, 4, &line);
		}
		hp_pprof_message(&p->all, 4, &m);
	}
	free(m.at);
	free(line.at);
}

static void samples_put(struct hp_pprof *p, const struct hp_report *report)
{
	const struct hp_model_sampling *sampling = &report->model.sampling;
	const struct hp_cpu *cpu = hp_report_cpu(report);
	struct hp_pprof_bytes m = { .at = NULL }, packed = { .at = NULL };

	for (uint32_t i = 1; i < sampling->stack_count; i++) {
		if (!sampling->stacks[i].samples)
			continue;
		for (uint32_t at = i; at; at = sampling->stacks[at].parent)
			hp_pprof_varint(&packed, cpu->of_stack[at] + 1u);
		hp_pprof_message(&m, 1, &packed);
		hp_pprof_varint(&packed, sampling->stacks[i].samples);
		hp_pprof_varint(&packed, sampling->stacks[i].cpu_ns);
		hp_pprof_message(&m, 2, &packed);
		hp_pprof_message(&p->all, 2, &m);
	}
	free(m.at);
	free(packed.at);
}

int hp_export_pprof(struct hp_report *report, int fd)
{
	struct hp_pprof p;
	int error;

	hp_pprof_init(&p);
	hp_pprof_type(&p, 1, "samples", "count");
	hp_pprof_type(&p, 1, "cpu", "nanoseconds");
	samples_put(&p, report);
	locations_put(&p, hp_report_cpu(report));
	functions_put(&p, report);
	hp_pprof_number(&p.all, 9, (uint64_t)report->model.reader.header.created_unix_ns);
	hp_pprof_number(&p.all, 10, report->model.elapsed_ns);
	hp_pprof_type(&p, 11, "cpu", "nanoseconds");
	hp_pprof_number(&p.all, 12, (uint64_t)hp_sampling_period_ns(&report->model.sampling));
	error = hp_pprof_write(&p, fd);
	hp_pprof_release(&p);
	return error;
}
