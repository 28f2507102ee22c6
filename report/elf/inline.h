/* SPDX-License-Identifier: MIT */
/*
 * inline.h - the functions that were inlined at an address.
 *
 * libdw finds them by walking the unit's tree of entries for each address. This
 * walks a unit only once, on the first query for one of its addresses, and
 * makes a sorted list of code pieces, each with its innermost function.
 */
#ifndef HP_REPORT_ELF_INLINE_H
#define HP_REPORT_ELF_INLINE_H

#include <stddef.h>
#include <stdint.h>

#include "report/elf/symbol_file.h"

#define HP_INLINES_MAX 32	/* at one address, the outer function among them */

struct hp_inlines;

/* A function at an address.  */
struct hp_inline {
	const char *name;	/* linkage name, else scope.h's; NULL = no name */
	const char *file;	/* source file of this address within this function; NULL = unknown */
	int line;
	int is_inlined;	/* 0: the function itself */
};

struct hp_inlines *hp_inlines_new(void);
void hp_inlines_free(struct hp_inlines *inlines);

/*
 * The functions at an address of a file, the innermost first; returns how many, 0 =
 * not known.  Texts live as long as the inlines and the file.
 */
size_t hp_inlines_in(struct hp_inlines *inlines, struct hp_symbol_file *file, uint64_t address,
		     struct hp_inline list[HP_INLINES_MAX]);

/* All addresses from this one up to the returned one, which is higher, have the same answer. */
uint64_t hp_inlines_until(struct hp_inlines *inlines, struct hp_symbol_file *file,
			  uint64_t address);

#endif
