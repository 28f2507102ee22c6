/* SPDX-License-Identifier: MIT */
/*
 * inline.h - the functions that were inlined at an address.
 *
 * libdw finds them by walking the unit's tree of entries for each address.  Here
 * a unit is walked once, when the first of its addresses is asked for, and its
 * code becomes a sorted list of pieces, each with its innermost function.
 */
#ifndef HP_REPORT_INLINE_H
#define HP_REPORT_INLINE_H

#include <stddef.h>
#include <stdint.h>

#include "report/dwarf.h"

#define HP_INLINES_MOST 32	/* at one address, the outer function among them */

struct hp_inlines;

/* A function at an address.  Texts live as long as the symbols. */
struct hp_inline {
	const char *name;	/* as the linker knows it; NULL = no name */
	const char *file;	/* where this address is, seen from this function; NULL = not known */
	int line;
	int is_inlined;	/* 0: the function itself */
};

/* `symbols` may be NULL if only hp_inlines_in is called. */
struct hp_inlines *hp_inlines_new(struct hp_symbols *symbols);
void hp_inlines_free(struct hp_inlines *inlines);

/* The functions at an address, the innermost first; returns how many, 0 = not known. */
size_t hp_inlines_at(struct hp_inlines *inlines, uint32_t object, uint64_t address,
		     struct hp_inline list[HP_INLINES_MOST]);

/* The same at an address of the debug information, in its unit. */
size_t hp_inlines_in(struct hp_inlines *inlines, Dwarf_Die *unit, uint64_t address,
		     struct hp_inline list[HP_INLINES_MOST]);

#endif
