/* SPDX-License-Identifier: MIT */
/*
 * places.h - the functions at the places stored in a kept run: of samples, and
 * of allocations' call paths.
 *
 * Lines of a legend (legend.h), numbered from 0 as they appear: a function's
 * name; a source file; then a place with its functions, innermost first, as
 * comma-separated FUNCTION.FILE.LINE:
 *
 *   k  name
 *   l  file
 *   s  object  address (hex)  start of its symbol (hex)  0.0.17,4.-.0
 *
 * Those of allocations have K, L and S. Their address is the return address
 * minus 1; the last function of a place is that of its symbol.  A place that only
 * has a symbol may have ~ and the symbol's number instead, of those that are numbered from 0, too:
 *
 *   M  symbol, as in the file
 *   S  object  address (hex)  start of its symbol (hex)  ~3
 *
 * Few paths of a large C++ program are ever shown, and making names readable would be a tenth of
 * the time that its end takes.
 *
 * The sections write them: report/section/cpu/legend.c, memory/legend.c.
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
	char *frames;	/* as in the line */
};

struct hp_places {
	const char **names;
	size_t name_count;
	size_t name_room;
	const char **symbols;
	size_t symbol_count;
	size_t symbol_room;
	const char **files;
	size_t file_count;
	size_t file_room;
	struct hp_noted_place *list;	/* bound: by object and address */
	size_t count;
	size_t room;
};

/* Accepts a line's fields if they belong here; the caller keeps the texts. */
void hp_places_read(struct hp_places *places, enum hp_places_of of, char *const *fields);

/* `objects`: of each object of the legend the place in the model. */
void hp_places_bind(struct hp_places *places, const uint32_t *objects, size_t count);
const struct hp_noted_place *hp_places_find(const struct hp_places *places, uint32_t object,
					    uint64_t address);

/* The symbol of a place that has only that, as in the file; NULL = it has frames. */
const char *hp_places_symbol(const struct hp_places *places, const struct hp_noted_place *place);

/* The next frame of a place; advances `at`.  Returns 0 at the end. */
int hp_places_frame(const struct hp_places *places, char **at, const char **name, const char **file,
		    int *line);
void hp_places_release(struct hp_places *places);

#endif
