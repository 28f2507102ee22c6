/* SPDX-License-Identifier: MIT */
/*
 * places.h - the functions at the places that a kept run noted: of samples, and of
 * allocations' call paths.
 *
 * Lines of a legend (legend.h), numbered from 0 in their order: a function's name;
 * a file of the source; then a place, with the functions that are there, the
 * innermost first, as FUNCTION.FILE.LINE with commas between them:
 *
 *   k  name
 *   l  file
 *   s  object  address (hex)  start of its symbol (hex)  0.0.17,4.-.0
 *
 * Those of allocations have K, L and S.  Their address is the return address less
 * 1; the last function of a place is the one whose symbol it is in.
 *
 * The subjects write them: report/section/cpu/legend.c, memory/legend.c.
 */
#ifndef HP_REPORT_NAME_PLACES_H
#define HP_REPORT_NAME_PLACES_H

#include <stddef.h>
#include <stdint.h>

enum hp_places_of { HP_PLACES_CPU = 0, HP_PLACES_ALLOC, HP_PLACES_KINDS };

struct hp_noted_place {
	uint32_t object;	/* of the legend; after hp_places_bind of the model */
	uint64_t address;
	uint64_t start;	/* 0 = not known */
	char *frames;	/* as it stands in the line */
};

struct hp_places {
	const char **names;
	size_t name_count;
	size_t name_room;
	const char **files;
	size_t file_count;
	size_t file_room;
	struct hp_noted_place *list;	/* bound: by object and address */
	size_t count;
	size_t room;
};

/* Takes a line's fields, if they are of these; texts stay the caller's. */
void hp_places_read(struct hp_places *places, enum hp_places_of of, char *const *fields);

/* `objects`: of each object of the legend the place in the model. */
void hp_places_bind(struct hp_places *places, const uint32_t *objects, size_t count);
const struct hp_noted_place *hp_places_find(const struct hp_places *places, uint32_t object,
					    uint64_t address);

/* A frame of a place; `at` moves behind it.  Returns 0 at the end. */
int hp_places_frame(const struct hp_places *places, char **at, const char **name, const char **file,
		    int *line);
void hp_places_release(struct hp_places *places);

#endif
