/* SPDX-License-Identifier: MIT */
/*
 * debug.h - what the debug information of a file says of an address.
 */
#ifndef HP_REPORT_ELF_DEBUG_H
#define HP_REPORT_ELF_DEBUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_DEBUG_LINES_MOST 32	/* of one answer */

struct hp_inlines;
struct hp_symbol_file;

enum hp_debug_want {
	HP_WANT_SOURCE = 0,	/* one line: file, line, column */
	HP_WANT_PRODUCER,	/* one line: the name is the compiler */

	/*
	 * The functions that an instruction is of, the innermost first, as people read
	 * them; the name of the last one is NULL: it is the symbol's.
	 */
	HP_WANT_LINES,
	HP_WANT_INLINES,	/* the same, with names as files have them, and all of them */
};

struct hp_debug_line {
	const char *name;	/* NULL = not known */
	const char *file;	/* NULL = not known */
	int line;	/* of the instruction, or of the call that was inlined */
	int column;
	bool is_inlined;
};

/* Texts of HP_WANT_LINES are its own, those of others the file's or the inlines'. */
struct hp_debug {
	enum hp_debug_want want;
	size_t count;	/* 0 = there is nothing to be known */
	struct hp_debug_line *lines;
};

void hp_debug_init(struct hp_debug *debug, struct hp_inlines *inlines, struct hp_symbol_file *file,
		   uint64_t address, enum hp_debug_want want);
void hp_debug_release(struct hp_debug *debug);

#endif
