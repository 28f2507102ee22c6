/* SPDX-License-Identifier: MIT */
/*
 * frame_lines.c - the functions that one instruction is of, inlined ones included.
 */
#include <dwarf.h>
#include <stdlib.h>

#include "report/dwarf.h"
#include "report/format.h"
#include "report/frame.h"
#include "report/memory.h"
#include "report/resolver.h"

static char *die_name(const struct hp_dwarf *dw, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dw->dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute))
		name = dw->dwarf_formstring(&attribute);
	if (!name)
		name = dw->dwarf_diename(die);
	return name ? hp_symbols_readable(name) : NULL;
}

static char *clean_copy(const char *text)
{
	return text ? hp_text_clean(text) : NULL;
}

/* Where an inlined function was called. */
static void call_place(const struct hp_dwarf *dw, Dwarf_Die *unit, Dwarf_Die *die,
		       struct hp_frame_line *frame)
{
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	Dwarf_Word number;
	size_t count;

	if (dw->dwarf_attr(die, DW_AT_call_line, &attribute) &&
	    dw->dwarf_formudata(&attribute, &number) == 0)
		frame->line = (int)number;
	if (dw->dwarf_attr(die, DW_AT_call_file, &attribute) &&
	    dw->dwarf_formudata(&attribute, &number) == 0 &&
	    dw->dwarf_getsrcfiles(unit, &files, &count) == 0 && number < count)
		frame->file = clean_copy(dw->dwarf_filesrc(files, (size_t)number, NULL, NULL));
}

/* The scopes around an address, those of the function it was inlined into included. */
static int scopes_at(const struct hp_dwarf *dw, Dwarf_Die *unit, uint64_t address,
		     Dwarf_Die **scopes)
{
	Dwarf_Die *first = NULL;
	Dwarf_Die innermost;
	int count = dw->dwarf_getscopes(unit, address, &first);

	*scopes = NULL;
	if (count <= 0)
		return 0;
	innermost = first[0];
	free(first);
	return dw->dwarf_getscopes_die(&innermost, scopes);
}

static size_t frames_of(const struct hp_dwarf *dw, Dwarf_Die *unit, uint64_t address,
			struct hp_frame_line *frames, size_t most)
{
	Dwarf_Line *line = dw->dwarf_getsrc_die(unit, address);
	struct hp_frame_line here = { .name = NULL };
	Dwarf_Die *scopes;
	int scope_count = scopes_at(dw, unit, address, &scopes);
	size_t count = 0;

	if (line) {
		here.file = clean_copy(dw->dwarf_linesrc(line, NULL, NULL));
		dw->dwarf_lineno(line, &here.line);
	}
	for (int i = 0; i < scope_count && count + 1 < most; i++) {
		if (dw->dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine)
			continue;
		here.name = die_name(dw, &scopes[i]);
		frames[count++] = here;
		here = (struct hp_frame_line){ .name = NULL };
		call_place(dw, unit, &scopes[i], &here);
	}
	free(scopes);
	frames[count++] = here;
	return count;
}

static size_t lines_resolved(struct hp_symbols *symbols, uint32_t object, uint64_t address,
			     struct hp_frame_line *lines, size_t most)
{
	const struct hp_resolved *resolved =
		hp_symbols_resolve(symbols, object, address, HP_WANT_LINES);
	size_t count = resolved ? resolved->count : 0;

	count = count < most ? count : most;
	for (size_t i = 0; i < count; i++)
		lines[i] = (struct hp_frame_line){
			.name = resolved->lines[i].name ? hp_xstrdup(resolved->lines[i].name)
							: NULL,
			.file = resolved->lines[i].file ? hp_xstrdup(resolved->lines[i].file)
							: NULL,
			.line = resolved->lines[i].line,
		};
	return count;
}

size_t hp_frame_lines(struct hp_symbols *symbols, uint32_t object, uint64_t address,
		      struct hp_frame_line *lines, size_t most)
{
	Dwarf_Die *unit;

	if (hp_symbols_resolver(symbols))
		return lines_resolved(symbols, object, address, lines, most);
	unit = most ? hp_symbols_unit(symbols, object, &address) : NULL;
	return unit ? frames_of(hp_dwarf_load(), unit, address, lines, most) : 0;
}
