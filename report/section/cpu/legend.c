/* SPDX-License-Identifier: MIT */
/*
 * legend.c - see legend.h.
 */
#include "report/section/cpu/legend.h"

#include <stdlib.h>

#include "report/section/cpu/cpu.h"
#include "report/base/field.h"
#include "report/base/map.h"
#include "report/base/memory.h"

static void line_write(char kind, const char *text, FILE *out)
{
	fprintf(out, "%c\t", kind);
	hp_field_write(text, out);
	fputc('\n', out);
}

/* Files are distinguished by the address of their names in libdw: a duplicate is harmless. */
static uint32_t file_number(struct hp_map *files, uint32_t *count, const char *file, FILE *out)
{
	bool is_new;
	uint32_t *number = hp_map_at(files, (uint64_t)(uintptr_t)file, &is_new);

	if (is_new) {
		*number = (*count)++;
		line_write('l', file, out);
	}
	return *number;
}

static void place_write(const struct hp_cpu *cpu, const struct hp_cpu_place *place,
			struct hp_map *files, uint32_t *count, FILE *out)
{
	uint32_t found;
	const struct hp_cpu_frame *frames = hp_cpu_found(cpu, place, &found);

	for (uint32_t i = 0; i < found; i++)
		if (frames[i].file)
			file_number(files, count, frames[i].file, out);
	fputs("s\t", out);
	hp_field_write_number(place->object, '\t', out);
	hp_field_write_address(place->address, '\t', out);
	hp_field_write_address(place->start, '\t', out);
	for (uint32_t i = 0; i < found; i++) {
		if (i)
			fputc(',', out);
		hp_field_write_number(frames[i].function, '.', out);
		if (frames[i].file)
			hp_field_write_number(file_number(files, count, frames[i].file, out), '.',
					      out);
		else
			fputs("-.", out);
		hp_field_write_number(frames[i].line > 0 ? (uint64_t)frames[i].line : 0, 0, out);
	}
	fputc('\n', out);
}

void hp_cpu_legend_write(struct hp_report *report, FILE *out)
{
	const struct hp_cpu *cpu = hp_report_cpu(report);
	struct hp_map files = HP_MAP_NONE;
	uint32_t count = 0;

	for (size_t i = 0; i < cpu->function_count; i++)
		line_write('k', cpu->functions[i].name, out);
	for (size_t i = 0; i < cpu->place_count; i++)
		if (cpu->places[i].object != HP_NONE)
			place_write(cpu, &cpu->places[i], &files, &count, out);
	hp_map_release(&files);
}
