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
	uint32_t function;	/* of a unit's: its place in the list of functions */
	bool is_inlined;
};

/* From `low` on, up to the next piece. */
struct piece {
	uint64_t low;
	uint32_t span;	/* HP_NONE = no function */
};

struct spans {
	struct span *spans;
	size_t span_count;
	size_t span_room;
	struct piece *pieces;
	size_t piece_count;
	size_t piece_room;
};

/* A function's contents are read when one of its addresses is requested. */
struct function {
	Dwarf_Die die;
	struct spans inner;
	bool is_walked;
};

struct unit {
	Dwarf_Die die;
	struct spans outer;	/* of its functions */
	struct function *functions;
	size_t function_count;
	size_t function_room;
	bool has_nested;	/* functions inside others are in the list, too */
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

static void spans_free(struct spans *list)
{
	free(list->spans);
	free(list->pieces);
}

static void unit_free(struct unit *unit)
{
	for (size_t i = 0; i < unit->function_count; i++)
		spans_free(&unit->functions[i].inner);
	free(unit->functions);
	spans_free(&unit->outer);
}

void hp_inlines_free(struct hp_inlines *inlines)
{
	if (!inlines)
		return;
	for (size_t i = 0; i < inlines->count; i++)
		unit_free(&inlines->units[i]);
	free(inlines->units);
	hp_scopes_free(inlines->scopes);
	hp_map_release(&inlines->places);
	free(inlines);
}

/* --- spans --- */

static void spans_add(const struct hp_dwarf *dw, struct spans *list, Dwarf_Die *die,
		      const struct span *kind)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while ((at = dw->dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		if (low >= high)
			continue;
		list->spans = hp_xgrow(list->spans, list->span_count, &list->span_room,
				       sizeof(*list->spans));
		list->spans[list->span_count] = *kind;
		list->spans[list->span_count].low = low;
		list->spans[list->span_count].high = high;
		list->spans[list->span_count].die = *die;
		list->spans[list->span_count++].outer = HP_NONE;
	}
}

/* A function's contents. */
static void inner_walk(const struct hp_dwarf *dw, struct spans *list, Dwarf_Die *parent,
		       uint32_t depth)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX || dw->dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = dw->dwarf_tag(&die);

		switch (tag) {
		case DW_TAG_inlined_subroutine:
		case DW_TAG_subprogram:
			spans_add(dw, list, &die,
				  &(struct span){ .depth = depth,
						  .is_inlined = tag == DW_TAG_inlined_subroutine });
			inner_walk(dw, list, &die, depth + 1);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			inner_walk(dw, list, &die, depth + 1);
			break;
		default:
			break;
		}
	} while (dw->dwarf_siblingof(&die, &die) == 0);
}

static void function_add(const struct hp_dwarf *dw, struct unit *unit, Dwarf_Die *die,
			 uint32_t depth)
{
	size_t before = unit->outer.span_count;

	spans_add(dw, &unit->outer, die,
		  &(struct span){ .depth = depth, .function = (uint32_t)unit->function_count });
	if (unit->outer.span_count == before)
		return;
	unit->functions = hp_xgrow(unit->functions, unit->function_count, &unit->function_room,
				   sizeof(*unit->functions));
	unit->functions[unit->function_count++] = (struct function){ .die = *die };
}

/*
 * A unit's functions.  Nested ones are inside the entry of another function, but their code is
 * elsewhere: they are searched for only if an address has no function otherwise.
 */
static void outer_walk(const struct hp_dwarf *dw, struct unit *unit, Dwarf_Die *parent,
		       uint32_t depth, bool is_nested)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX || dw->dwarf_child(parent, &die) != 0)
		return;
	do {
		switch (dw->dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			if (!unit->has_nested || is_nested)
				function_add(dw, unit, &die, depth);
			if (unit->has_nested)
				outer_walk(dw, unit, &die, depth + 1, true);
			break;
		case DW_TAG_inlined_subroutine:
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			if (unit->has_nested)
				outer_walk(dw, unit, &die, depth + 1, is_nested);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
			outer_walk(dw, unit, &die, depth + 1, is_nested);
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

static void piece_add(struct spans *list, uint64_t low, uint32_t span)
{
	if (list->piece_count && list->pieces[list->piece_count - 1].low == low) {
		list->pieces[list->piece_count - 1].span = span;
		return;
	}
	list->pieces =
		hp_xgrow(list->pieces, list->piece_count, &list->piece_room, sizeof(*list->pieces));
	list->pieces[list->piece_count++] = (struct piece){ low, span };
}

/* Walks the spans by address; the open ones form a chain. */
static void pieces_make(struct spans *list)
{
	uint32_t open = HP_NONE;

	if (list->span_count)
		qsort(list->spans, list->span_count, sizeof(*list->spans), compare_spans);
	for (uint32_t i = 0; i < list->span_count; i++) {
		struct span *span = &list->spans[i];

		for (; open != HP_NONE && list->spans[open].high <= span->low;
		     open = list->spans[open].outer)
			piece_add(list, list->spans[open].high, list->spans[open].outer);
		span->outer = open;
		open = i;
		piece_add(list, span->low, i);
	}
	for (; open != HP_NONE; open = list->spans[open].outer)
		piece_add(list, list->spans[open].high, list->spans[open].outer);
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
	outer_walk(hp_dwarf_load(), unit, &unit->die, 0, false);
	pieces_make(&unit->outer);
	return unit;
}

/* --- an address --- */

/* How many pieces start at an address that is not above this one. */
static size_t pieces_to(const struct spans *list, uint64_t address)
{
	size_t low = 0, high = list->piece_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->pieces[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint32_t span_at(const struct spans *list, uint64_t address)
{
	size_t count = pieces_to(list, address);

	return count ? list->pieces[count - 1].span : HP_NONE;
}

/* The unit's function at the address; NULL = none. */
static const struct span *function_at(struct unit *unit, uint64_t address)
{
	uint32_t at = span_at(&unit->outer, address);

	if (at == HP_NONE && !unit->has_nested) {
		unit->has_nested = true;
		unit->outer.piece_count = 0;
		outer_walk(hp_dwarf_load(), unit, &unit->die, 0, false);
		pieces_make(&unit->outer);
		at = span_at(&unit->outer, address);
	}
	return at == HP_NONE ? NULL : &unit->outer.spans[at];
}

/* The contents of a function that was found. */
static const struct spans *inner_of(struct unit *unit, const struct span *span)
{
	struct function *function = &unit->functions[span->function];

	if (!function->is_walked) {
		inner_walk(hp_dwarf_load(), &function->inner, &function->die, span->depth + 1);
		pieces_make(&function->inner);
	}
	function->is_walked = true;
	return &function->inner;
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

/* A function's next outer span at an address; NULL = none. */
static const struct span *next_outer(const struct spans *inner, const struct span *span,
				     const struct span *function)
{
	if (span == function || !span->is_inlined)
		return NULL;
	return span->outer == HP_NONE ? function : &inner->spans[span->outer];
}

/* In the addresses of the debug information; file's address = address + bias. */
static size_t spans_list(struct hp_inlines *inlines, const struct hp_symbol_file *file,
			 struct unit *unit, uint64_t address, uint64_t bias,
			 struct hp_inline list[HP_INLINES_MAX])
{
	const struct hp_dwarf *dw = hp_dwarf_load();
	const struct span *function = function_at(unit, address), *span;
	const struct spans *inner = function ? inner_of(unit, function) : NULL;
	uint32_t innermost = inner ? span_at(inner, address) : HP_NONE;
	Dwarf_Die before;
	size_t count = 0;

	span = innermost == HP_NONE ? function : &inner->spans[innermost];
	for (; span && count < HP_INLINES_MAX; span = next_outer(inner, span, function)) {
		Dwarf_Die die = span->die;

		list[count] = (struct hp_inline){
			.name = hp_scopes_name(inlines->scopes, file, bias, &die),
			.is_inlined = span->is_inlined,
		};
		if (count == 0)
			own_place(dw, unit, address, &list[0]);
		else
			call_place(dw, unit, &before, &list[count]);
		before = die;
		count++;
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

/*
 * The first row of the unit's line table above the address.  If no row covers the address, the
 * next row may be after another unit's code: then the next address.
 */
static uint64_t next_row(struct unit *unit, uint64_t address)
{
	const struct hp_dwarf *dw = hp_dwarf_load();
	Dwarf_Lines *lines;
	Dwarf_Addr at;
	size_t low = 0, count;
	bool is_end;

	if (dw->dwarf_getsrclines(&unit->die, &lines, &count) != 0)
		return address + 1;
	for (size_t high = count; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (dw->dwarf_lineaddr(dw->dwarf_onesrcline(lines, middle), &at) == 0 &&
		    at <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || low == count ||
	    dw->dwarf_lineendsequence(dw->dwarf_onesrcline(lines, low - 1), &is_end) != 0 ||
	    is_end || dw->dwarf_lineaddr(dw->dwarf_onesrcline(lines, low), &at) != 0)
		return address + 1;
	return at;
}

/* The start of the first piece above the address, if it is before `until`. */
static uint64_t next_piece(const struct spans *list, uint64_t address, uint64_t until)
{
	size_t next = pieces_to(list, address);

	return next < list->piece_count && list->pieces[next].low < until ? list->pieces[next].low
									  : until;
}

uint64_t hp_inlines_until(struct hp_inlines *inlines, struct hp_symbol_file *file, uint64_t address)
{
	uint64_t inside = address, until;
	Dwarf_Die *die = hp_symbol_file_unit(file, &inside);
	const struct span *function;
	struct unit *unit;

	if (!die)
		return address + 1;
	unit = unit_of(inlines, die);
	function = function_at(unit, inside);
	until = next_row(unit, inside);
	until = next_piece(&unit->outer, inside, until);
	if (function)
		until = next_piece(inner_of(unit, function), inside, until);
	return address + (until - inside);
}
