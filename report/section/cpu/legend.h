/* SPDX-License-Identifier: MIT */
/*
 * legend.h - the names that a kept file carries for the places of samples.
 *
 * Lines of a legend (report/name/legend.h), numbered from 0 in their order: a function's
 * name; a file of the source; then a place, with the functions that are there,
 * the innermost first, as FUNCTION.FILE.LINE with commas between them:
 *
 *   k  name
 *   l  file
 *   s  object  address (hex)  start of its symbol (hex)  0.0.17,4.-.0
 */
#ifndef HP_REPORT_SECTION_CPU_LEGEND_H
#define HP_REPORT_SECTION_CPU_LEGEND_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct hp_report;

struct hp_cpu_legend_place {
	uint32_t object;	/* of the legend; after hp_cpu_legend_bind of the model */
	uint64_t address;
	uint64_t start;	/* 0 = not known */
	char *frames;	/* as it stands in the line */
};

struct hp_cpu_legend {
	const char **names;
	size_t name_count;
	size_t name_room;
	const char **files;
	size_t file_count;
	size_t file_room;
	struct hp_cpu_legend_place *places;	/* bound: by object and address */
	size_t place_count;
	size_t place_room;
};

/* A frame of a place; `at` moves behind it.  Returns 0 at the end. */
int hp_cpu_legend_frame(const struct hp_cpu_legend *legend, char **at, const char **name,
			const char **file, int *line);

/* Takes a line's fields, if they are one of these; texts stay the caller's. */
void hp_cpu_legend_read(struct hp_cpu_legend *legend, char *const *fields);

/* `places`: of each object of the legend the place in the model. */
void hp_cpu_legend_bind(struct hp_cpu_legend *legend, const uint32_t *places, size_t count);
const struct hp_cpu_legend_place *hp_cpu_legend_find(const struct hp_cpu_legend *legend,
						     uint32_t object, uint64_t address);
void hp_cpu_legend_release(struct hp_cpu_legend *legend);

/* Writes the lines of all places of the report's samples. */
void hp_cpu_legend_write(struct hp_report *report, FILE *out);

#endif
