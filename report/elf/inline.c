/* SPDX-License-Identifier: MIT */
/*
 * inline.c - see inline.h.
 */
#include "report/elf/inline.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>

#include "report/elf/dwarf.h"
#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/elf/scope.h"

#define DEPTH_MAX 200	/* nesting depth: damaged information must not exhaust our stack */

/* A code range of a function, or of a function inlined into it. */
struct span {
	uint64_t low;
	uint64_t high;
	Dwarf_Die die;
	uint32_t depth;
	uint32_t outer;	/* place of the enclosing one, HP_NONE = none */
	bool is_inlined;
};

/* From `low` on, up to the next piece. */
struct piece {
	uint64_t low;
	uint32_t span;	/* HP_NONE = no function */
};

struct unit {
	Dwarf_Die die;
	struct span *spans;
	size_t span_count;
	size_t span_room;
	struct piece *pieces;
	size_t piece_count;
	size_t piece_room;
	Dwarf_Files *files;	/* NULL = none, or not requested */
};

struct hp_inlines {
	struct hp_scopes *scopes;
	struct hp_map places;	/* address of the unit's die -> place + 1 */
	struct unit *units;
	size_t count;
	size_t room;
};

struct hp_inlines *hp_inlines_new(void)
{
	struct hp_inlines *inlines = hp_xcalloc(1, sizeof(*inlines));

	inlines->scopes = hp_scopes_new();
	return inlines;
}

void hp_inlines_free(struct hp_inlines *inlines)
{
	if (!inlines)
		return;
	for (size_t i = 0; i < inlines->count; i++) {
		free(inlines->units[i].spans);
		free(inlines->units[i].pieces);
	}
	free(inlines->units);
	hp_scopes_free(inlines->scopes);
	hp_map_release(&inlines->places);
	free(inlines);
}

/* --- a unit's spans --- */

static void spans_add(const struct hp_dwarf *dw, struct unit *unit, Dwarf_Die *die, uint32_t depth,
		      bool is_inlined)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while ((at = dw->dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		if (low >= high)
			continue;
		unit->spans = hp_xgrow(unit->spans, unit->span_count, &unit->span_room,
				       sizeof(*unit->spans));
		unit->spans[unit->span_count++] = (struct span){
			.low = low,
			.high = high,
			.die = *die,
			.depth = depth,
			.outer = HP_NONE,
			.is_inlined = is_inlined,
		};
	}
}

static void walk(const struct hp_dwarf *dw, struct unit *unit, Dwarf_Die *parent, uint32_t depth)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX || dw->dwarf_child(parent, &die) != 0)
		return;
	do {
		switch (dw->dwarf_tag(&die)) {
		case DW_TAG_inlined_subroutine:
			spans_add(dw, unit, &die, depth, true);
			walk(dw, unit, &die, depth + 1);
			break;
		case DW_TAG_subprogram:
			spans_add(dw, unit, &die, depth, false);
			walk(dw, unit, &die, depth + 1);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
		case DW_TAG_namespace:
		case DW_TAG_module:
			walk(dw, unit, &die, depth + 1);
			break;
		default:
			break;
		}
	} while (dw->dwarf_siblingof(&die, &die) == 0);
}

/* If they start at the same address, outer ones come first. */
static int compare_spans(const void *left, const void *right)
{
	const struct span *a = left, *b = right;

	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	return a->depth < b->depth ? -1 : a->depth > b->depth;
}

static void piece_add(struct unit *unit, uint64_t low, uint32_t span)
{
	if (unit->piece_count && unit->pieces[unit->piece_count - 1].low == low) {
		unit->pieces[unit->piece_count - 1].span = span;
		return;
	}
	unit->pieces =
		hp_xgrow(unit->pieces, unit->piece_count, &unit->piece_room, sizeof(*unit->pieces));
	unit->pieces[unit->piece_count++] = (struct piece){ low, span };
}

/* Walks the spans by address; the open ones form a chain. */
static void pieces_make(struct unit *unit)
{
	uint32_t open = HP_NONE;

	if (unit->span_count)
		qsort(unit->spans, unit->span_count, sizeof(*unit->spans), compare_spans);
	for (uint32_t i = 0; i < unit->span_count; i++) {
		struct span *span = &unit->spans[i];

		for (; open != HP_NONE && unit->spans[open].high <= span->low;
		     open = unit->spans[open].outer)
			piece_add(unit, unit->spans[open].high, unit->spans[open].outer);
		span->outer = open;
		open = i;
		piece_add(unit, span->low, i);
	}
	for (; open != HP_NONE; open = unit->spans[open].outer)
		piece_add(unit, unit->spans[open].high, unit->spans[open].outer);
}

static struct unit *unit_of(struct hp_inlines *inlines, Dwarf_Die *die)
{
	bool is_new;
	uint32_t *place = hp_map_at(&inlines->places, (uint64_t)(uintptr_t)die->addr, &is_new);
	struct unit *unit;

	if (!is_new)
		return &inlines->units[*place - 1];
	inlines->units =
		hp_xgrow(inlines->units, inlines->count, &inlines->room, sizeof(*inlines->units));
	unit = &inlines->units[inlines->count++];
	*place = (uint32_t)inlines->count;
	*unit = (struct unit){ .die = *die };
	walk(hp_dwarf_load(), unit, &unit->die, 0);
	pieces_make(unit);
	return unit;
}

/* --- an address --- */

static uint32_t span_at(const struct unit *unit, uint64_t address)
{
	size_t low = 0, high = unit->piece_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (unit->pieces[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? unit->pieces[low - 1].span : HP_NONE;
}

static Dwarf_Word number_of(const struct hp_dwarf *dw, Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;

	if (!dw->dwarf_attr(die, name, &attribute) || dw->dwarf_formudata(&attribute, &number) != 0)
		return 0;
	return number;
}

/* Where `caller` calls the function inlined into it as `die`. */
static void call_place(const struct hp_dwarf *dw, struct unit *unit, Dwarf_Die *die,
		       struct hp_inline *caller)
{
	Dwarf_Word file = number_of(dw, die, DW_AT_call_file);
	size_t count;

	caller->line = (int)number_of(dw, die, DW_AT_call_line);
	if (!unit->files && dw->dwarf_getsrcfiles(&unit->die, &unit->files, &count) != 0)
		unit->files = NULL;
	if (unit->files && file)
		caller->file = dw->dwarf_filesrc(unit->files, file, NULL, NULL);
}

static void own_place(const struct hp_dwarf *dw, struct unit *unit, uint64_t address,
		      struct hp_inline *innermost)
{
	Dwarf_Line *line = dw->dwarf_getsrc_die(&unit->die, address);

	if (!line)
		return;
	innermost->file = dw->dwarf_linesrc(line, NULL, NULL);
	dw->dwarf_lineno(line, &innermost->line);
}

/* In the addresses of the debug information; file's address = address + bias. */
static size_t spans_list(struct hp_inlines *inlines, const struct hp_symbol_file *file,
			 struct unit *unit, uint64_t address, uint64_t bias,
			 struct hp_inline list[HP_INLINES_MAX])
{
	const struct hp_dwarf *dw = hp_dwarf_load();
	struct span *inner = NULL;
	size_t count = 0;

	for (uint32_t i = span_at(unit, address); i != HP_NONE && count < HP_INLINES_MAX;
	     i = unit->spans[i].outer) {
		struct span *span = &unit->spans[i];

		list[count] = (struct hp_inline){
			.name = hp_scopes_name(inlines->scopes, file, bias, &span->die),
			.is_inlined = span->is_inlined,
		};
		if (count == 0)
			own_place(dw, unit, address, &list[0]);
		else
			call_place(dw, unit, &inner->die, &list[count]);
		inner = span;
		count++;
		if (!span->is_inlined)
			break;
	}
	return count;
}

size_t hp_inlines_in(struct hp_inlines *inlines, struct hp_symbol_file *file, uint64_t address,
		     struct hp_inline list[HP_INLINES_MAX])
{
	uint64_t inside = address;
	Dwarf_Die *die = hp_symbol_file_unit(file, &inside);

	return die ? spans_list(inlines, file, unit_of(inlines, die), inside, address - inside,
				list)
		   : 0;
}
