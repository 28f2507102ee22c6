/* SPDX-License-Identifier: MIT */
/*
 * frame_lines.c - the functions that one instruction is of, inlined ones included.
 */
#include "report/name/dwarf.h"
#include "report/base/format.h"
#include "report/name/frame.h"
#include "report/name/inline.h"
#include "report/base/memory.h"
#include "report/name/resolver.h"

static char *clean_copy(const char *text)
{
	return text ? hp_text_clean(text) : NULL;
}

/* Code of no function that the debug information knows has lines, too. */
static size_t line_only(struct hp_symbol_file *file, uint64_t address, struct hp_frame_line *line)
{
	Dwarf_Die *unit = file->module ? hp_symbol_file_unit(file, &address) : NULL;
	Dwarf_Line *at = unit ? hp_dwarf_load()->dwarf_getsrc_die(unit, address) : NULL;

	if (!at)
		return 0;
	*line = (struct hp_frame_line){
		.file = clean_copy(hp_dwarf_load()->dwarf_linesrc(at, NULL, NULL)),
	};
	hp_dwarf_load()->dwarf_lineno(at, &line->line);
	return 1;
}

size_t hp_frame_lines_in(struct hp_inlines *inlines, struct hp_symbol_file *file, uint64_t address,
			 struct hp_frame_line *lines, size_t most)
{
	struct hp_inline list[HP_INLINES_MOST];
	size_t count = hp_inlines_in(inlines, file, address, list);

	count = count < most ? count : most;
	for (size_t i = 0; i < count; i++)
		lines[i] = (struct hp_frame_line){
			/* The function itself is the symbol's name. */
			.name = list[i].is_inlined && list[i].name
					? hp_symbols_readable(list[i].name)
					: NULL,
			.file = clean_copy(list[i].file),
			.line = list[i].line,
		};
	return count || !most ? count : line_only(file, address, lines);
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
	struct hp_symbol_file *file;

	if (hp_symbols_resolver(symbols))
		return lines_resolved(symbols, object, address, lines, most);
	file = hp_symbols_file(symbols, object);
	return file ? hp_frame_lines_in(hp_symbols_inlines(symbols), file, address, lines, most)
		    : 0;
}
