/* SPDX-License-Identifier: MIT */
/*
 * debug.c - see debug.h.
 */
#include "report/elf/debug.h"

#include <dwarf.h>
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/elf/demangle.h"
#include "report/elf/dwarf.h"
#include "report/elf/inline.h"
#include "report/elf/symbol_file.h"

static_assert(HP_INLINES_MOST == HP_DEBUG_LINES_MOST, "an answer has a line for each");

static void source_find(struct hp_debug *debug, Dwarf_Die *unit, uint64_t address)
{
	const struct hp_dwarf *dw = hp_dwarf_load();
	Dwarf_Line *line = dw->dwarf_getsrc_die(unit, address);
	const char *file = line ? dw->dwarf_linesrc(line, NULL, NULL) : NULL;

	if (!file)
		return;
	debug->lines = hp_xcalloc(1, sizeof(*debug->lines));
	debug->lines->file = file;
	dw->dwarf_lineno(line, &debug->lines->line);
	dw->dwarf_linecol(line, &debug->lines->column);
	debug->count = 1;
}

static void producer_find(struct hp_debug *debug, Dwarf_Die *unit)
{
	const struct hp_dwarf *dw = hp_dwarf_load();
	Dwarf_Attribute attribute;

	if (!dw->dwarf_attr(unit, DW_AT_producer, &attribute))
		return;
	debug->lines = hp_xcalloc(1, sizeof(*debug->lines));
	debug->lines->name = dw->dwarf_formstring(&attribute);
	debug->count = debug->lines->name != NULL;
}

static void inlines_find(struct hp_debug *debug, struct hp_inlines *inlines,
			 struct hp_symbol_file *file, uint64_t address)
{
	struct hp_inline list[HP_INLINES_MOST];

	debug->count = hp_inlines_in(inlines, file, address, list);
	debug->lines = hp_xcalloc(debug->count, sizeof(*debug->lines));
	for (size_t i = 0; i < debug->count; i++)
		debug->lines[i] = (struct hp_debug_line){ .name = list[i].name,
							  .file = list[i].file,
							  .line = list[i].line,
							  .is_inlined = list[i].is_inlined };
}

static char *clean_copy(const char *text)
{
	return text ? hp_text_clean(text) : NULL;
}

/* Code of no function that the debug information knows has lines, too. */
static void line_only(struct hp_debug *debug, Dwarf_Die *unit, uint64_t address)
{
	const struct hp_dwarf *dw = hp_dwarf_load();
	Dwarf_Line *line = dw->dwarf_getsrc_die(unit, address);

	if (!line)
		return;
	debug->lines = hp_xcalloc(1, sizeof(*debug->lines));
	debug->lines->file = clean_copy(dw->dwarf_linesrc(line, NULL, NULL));
	dw->dwarf_lineno(line, &debug->lines->line);
	debug->count = 1;
}

static void lines_find(struct hp_debug *debug, struct hp_inlines *inlines,
		       struct hp_symbol_file *file, uint64_t address)
{
	inlines_find(debug, inlines, file, address);
	for (size_t i = 0; i < debug->count; i++) {
		struct hp_debug_line *line = &debug->lines[i];

		line->name = line->is_inlined && line->name ? hp_name_readable(line->name) : NULL;
		line->file = clean_copy(line->file);
	}
}

void hp_debug_init(struct hp_debug *debug, struct hp_inlines *inlines, struct hp_symbol_file *file,
		   uint64_t address, enum hp_debug_want want)
{
	uint64_t inside = address;
	Dwarf_Die *unit = hp_symbol_file_unit(file, &inside);

	*debug = (struct hp_debug){ .want = want };
	if (!unit)
		return;
	if (want == HP_WANT_SOURCE)
		source_find(debug, unit, inside);
	else if (want == HP_WANT_PRODUCER)
		producer_find(debug, unit);
	else if (want == HP_WANT_LINES)
		lines_find(debug, inlines, file, address);
	else
		inlines_find(debug, inlines, file, address);
	if (want == HP_WANT_LINES && !debug->count) {
		free(debug->lines);
		debug->lines = NULL;
		line_only(debug, unit, inside);
	}
}

void hp_debug_release(struct hp_debug *debug)
{
	for (size_t i = 0; debug->want == HP_WANT_LINES && i < debug->count; i++) {
		free((char *)debug->lines[i].name);
		free((char *)debug->lines[i].file);
	}
	free(debug->lines);
	*debug = (struct hp_debug){ .count = 0 };
}
