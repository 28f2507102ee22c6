/* SPDX-License-Identifier: MIT */
/*
 * folded.c - collapsed stacks: a line for each, outermost function first,
 * then microseconds of CPU.  flamegraph.pl, speedscope and others read them.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "report/export/export.h"
#include "report/base/memory.h"

static void name_write(struct hp_report *report, const struct hp_cpu_function *function, FILE *out)
{
	fputc(';', out);
	for (const char *c = hp_cpu_name(report, function); *c; c++)
		fputc(*c == ';' ? ':' : *c, out);
}

static void stack_write(struct hp_report *report, uint32_t stack, uint32_t *chain, FILE *out)
{
	const struct hp_model_stack *stacks = report->model.sampling.stacks;
	const struct hp_cpu *cpu = hp_report_cpu(report);
	size_t count = 0;

	for (uint32_t i = stack; i; i = stacks[i].parent)
		chain[count++] = i;
	fputs(report->caller, out);
	while (count-- > 0) {
		const struct hp_cpu_place *place = &cpu->places[cpu->of_stack[chain[count]]];

		for (uint32_t i = place->count; i-- > 0;)
			name_write(report, &cpu->functions[cpu->frames[place->first + i].function],
				   out);
	}
	fprintf(out, " %llu\n", (unsigned long long)(stacks[stack].cpu_ns / 1000));
}

int hp_export_folded(struct hp_report *report, int fd)
{
	const struct hp_model_sampling *sampling = &report->model.sampling;
	uint32_t *chain = hp_xcalloc(sampling->stack_count, sizeof(*chain));
	int copy = dup(fd);
	FILE *out = copy < 0 ? NULL : fdopen(copy, "w");
	int error = 0;

	if (!out) {
		error = -errno;
	} else {
		for (uint32_t i = 1; i < sampling->stack_count; i++)
			if (sampling->stacks[i].samples)
				stack_write(report, i, chain, out);
		error = fclose(out) == 0 ? 0 : -errno;
	}
	free(chain);
	return error;
}
