/* SPDX-License-Identifier: MIT */
/*
 * legend.c - see legend.h.
 */
#include "report/section/cpu/legend.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/section/cpu/cpu.h"
#include "report/base/field.h"
#include "report/base/map.h"
#include "report/base/memory.h"

/* --- writing --- */

static void line_write(char kind, const char *text, FILE *out)
{
	fprintf(out, "%c\t", kind);
	hp_field_write(text, out);
	fputc('\n', out);
}

/* Files are told apart by where libdw keeps their names: a name twice is no harm. */
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
	const struct hp_cpu_frame *frames = &cpu->frames[place->first];

	for (uint32_t i = 0; i < place->count; i++)
		if (frames[i].file)
			file_number(files, count, frames[i].file, out);
	fprintf(out, "s\t%" PRIu32 "\t%" PRIx64 "\t%" PRIx64 "\t", place->object, place->address,
		place->start);
	for (uint32_t i = 0; i < place->count; i++) {
		fprintf(out, "%s%" PRIu32 ".", i ? "," : "", frames[i].function);
		if (frames[i].file)
			fprintf(out, "%" PRIu32, file_number(files, count, frames[i].file, out));
		else
			fputc('-', out);
		fprintf(out, ".%d", frames[i].line);
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

/* --- reading --- */

void hp_cpu_legend_read(struct hp_cpu_legend *legend, char *const *fields)
{
	if (strcmp(fields[0], "k") == 0) {
		legend->names = hp_xgrow(legend->names, legend->name_count, &legend->name_room,
					 sizeof(*legend->names));
		legend->names[legend->name_count++] = fields[1];
	} else if (strcmp(fields[0], "l") == 0) {
		legend->files = hp_xgrow(legend->files, legend->file_count, &legend->file_room,
					 sizeof(*legend->files));
		legend->files[legend->file_count++] = fields[1];
	} else if (strcmp(fields[0], "s") == 0) {
		legend->places = hp_xgrow(legend->places, legend->place_count, &legend->place_room,
					  sizeof(*legend->places));
		legend->places[legend->place_count++] = (struct hp_cpu_legend_place){
			.object = (uint32_t)hp_field_number(fields[1]),
			.address = hp_field_address(fields[2]),
			.start = hp_field_address(fields[3]),
			.frames = fields[4],
		};
	}
}

static const char *text_at(const char *const *texts, size_t count, uint64_t number)
{
	return number < count ? texts[number] : NULL;
}

int hp_cpu_legend_frame(const struct hp_cpu_legend *legend, char **at, const char **name,
			const char **file, int *line)
{
	char *end;

	if (**at < '0' || **at > '9')
		return 0;
	*name = text_at(legend->names, legend->name_count, strtoull(*at, &end, 10));
	*file = NULL;
	if (*end++ != '.' || !*name)
		return 0;
	if (*end == '-')
		end++;
	else
		*file = text_at(legend->files, legend->file_count, strtoull(end, &end, 10));
	if (*end++ != '.')
		return 0;
	*line = (int)(strtoul(end, &end, 10) & INT32_MAX);
	*at = end + (*end == ',');
	return 1;
}

static int compare_places(const void *left, const void *right)
{
	const struct hp_cpu_legend_place *a = left, *b = right;

	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

void hp_cpu_legend_bind(struct hp_cpu_legend *legend, const uint32_t *places, size_t count)
{
	for (size_t i = 0; i < legend->place_count; i++) {
		uint32_t object = legend->places[i].object;

		legend->places[i].object = object < count ? places[object] : HP_NONE;
	}
	if (legend->place_count)
		qsort(legend->places, legend->place_count, sizeof(*legend->places), compare_places);
}

const struct hp_cpu_legend_place *hp_cpu_legend_find(const struct hp_cpu_legend *legend,
						     uint32_t object, uint64_t address)
{
	struct hp_cpu_legend_place key = { .object = object, .address = address };

	return legend->place_count ? bsearch(&key, legend->places, legend->place_count, sizeof(key),
					     compare_places)
				   : NULL;
}

void hp_cpu_legend_release(struct hp_cpu_legend *legend)
{
	free(legend->names);
	free(legend->files);
	free(legend->places);
}
