/* SPDX-License-Identifier: MIT */
/*
 * debug.c - see debug.h.
 */
#include "report/elf/debug.h"

#include <dwarf.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/elf/answer.h"
#include "report/elf/demangle.h"
#include "report/elf/dwarf.h"
#include "report/elf/inline.h"
#include "report/elf/symbol_file.h"

static_assert(HP_INLINES_MAX == HP_DEBUG_LINES_MAX, "an answer has a line for each");

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

/* --- functions at an address --- */

#define LEARN_MAX 262144 /* bytes of a function, whose answers are cached */
#define GAP_MAX 4096 /* bytes between two functions */
#define LEARN_STEPS 100000 /* addresses that one process looks up beyond those requested */

static _Atomic uint64_t steps;

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same(const struct hp_inline *a, const struct hp_inline *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!is_same_text(a[i].name, b[i].name) || !is_same_text(a[i].file, b[i].file) ||
		    a[i].line != b[i].line || a[i].is_inlined != b[i].is_inlined)
			return false;
	return true;
}

/* Resolves each address from `low` up to `high`; hp_answers_settle must follow. */
static void range_learn(struct hp_inlines *inlines, struct hp_symbol_file *file, uint64_t low,
			uint64_t high)
{
	struct hp_inline lists[2][HP_INLINES_MAX];
	struct hp_inline *last = lists[0], *now = lists[1], *swapped;
	size_t count = hp_inlines_in(inlines, file, low, last);

	for (uint64_t at = hp_inlines_until(inlines, file, low); at < high;
	     at = hp_inlines_until(inlines, file, at)) {
		size_t others = hp_inlines_in(inlines, file, at, now);

		steps++;
		if (others == count && is_same(last, now, count))
			continue;
		hp_answers_add(file->answers, low, at, last, count);
		swapped = last, last = now, now = swapped;
		count = others;
		low = at;
	}
	hp_answers_add(file->answers, low, high, last, count);
}

/* The function that contains the address; if it is too large, only the address. */
static void learn(struct hp_inlines *inlines, struct hp_symbol_file *file, uint64_t address)
{
	const struct hp_symbol *symbol = hp_symbol_at(file, address);
	uint64_t size = symbol ? symbol->size : 0;

	if (symbol && address - symbol->address < size && size <= LEARN_MAX && steps < LEARN_STEPS)
		range_learn(inlines, file, symbol->address, symbol->address + size);
	else
		range_learn(inlines, file, address, address + 1);
	hp_answers_settle(file->answers);
}

/*
 * The gaps between functions (padding, code without a symbol) as well: an address there must not
 * make the next report read the debug information.
 */
void hp_debug_learn_rest(struct hp_inlines *inlines, struct hp_symbol_file *file)
{
	uint64_t done = 0;

	if (!file->dwfl || !file->answers || !hp_answers_grow(file->answers))
		return;
	for (size_t i = 0; i < file->count && steps < LEARN_STEPS; i++) {
		const struct hp_symbol *symbol = &file->symbols[i];
		uint64_t low = symbol->address, high = low + symbol->size;

		if (done && low > done && low - done <= GAP_MAX)
			low = done;
		if (low < done)
			low = done;
		if (high <= low || high - low > LEARN_MAX)
			continue;
		done = high;
		if (!hp_answers_has(file->answers, low, high))
			range_learn(inlines, file, low, high);
	}
	hp_answers_settle(file->answers);
}

static size_t inlines_in(struct hp_inlines *inlines, struct hp_symbol_file *file, uint64_t address,
			 struct hp_inline list[HP_INLINES_MAX])
{
	size_t count;

	if (!file->answers)
		return hp_inlines_in(inlines, file, address, list);
	if (hp_answers_find(file->answers, address, list, &count))
		return count;
	/* A file that is unreadable now may be readable for the next report. */
	if (!hp_symbol_file_module(file))
		return 0;
	learn(inlines, file, address);
	return hp_answers_find(file->answers, address, list, &count) ? count : 0;
}

static void inlines_find(struct hp_debug *debug, struct hp_inlines *inlines,
			 struct hp_symbol_file *file, uint64_t address)
{
	struct hp_inline list[HP_INLINES_MAX];

	debug->count = inlines_in(inlines, file, address, list);
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

/* Code outside any known function has lines, too. */
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

/* The unit's data for an address outside any function. */
static void unit_find(struct hp_debug *debug, struct hp_symbol_file *file, uint64_t address)
{
	Dwarf_Die *unit = hp_symbol_file_unit(file, &address);

	if (!unit)
		return;
	if (debug->want == HP_WANT_SOURCE)
		source_find(debug, unit, address);
	else if (debug->want == HP_WANT_PRODUCER)
		producer_find(debug, unit);
	else
		line_only(debug, unit, address);
}

void hp_debug_init(struct hp_debug *debug, struct hp_inlines *inlines, struct hp_symbol_file *file,
		   uint64_t address, enum hp_debug_want want)
{
	*debug = (struct hp_debug){ .want = want };
	if (want == HP_WANT_INLINES)
		inlines_find(debug, inlines, file, address);
	else if (want == HP_WANT_LINES)
		lines_find(debug, inlines, file, address);
	if (debug->count || want == HP_WANT_INLINES)
		return;
	free(debug->lines);
	debug->lines = NULL;
	unit_find(debug, file, address);
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
