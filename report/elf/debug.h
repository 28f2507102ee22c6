/* SPDX-License-Identifier: MIT */
/*
 * debug.h - look up an address in a file's debug information.
 */
#ifndef HP_REPORT_ELF_DEBUG_H
#define HP_REPORT_ELF_DEBUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_DEBUG_LINES_MAX 32	/* of one answer */

struct hp_inlines;
struct hp_symbol_file;

enum hp_debug_want {
	HP_WANT_SOURCE = 0,	/* one line: file, line, column */
	HP_WANT_PRODUCER,	/* one line: the name is the compiler */

	/*
	 * The functions that contain an instruction, innermost first, with
	 * readable names; the last name is NULL: use the symbol's.
	 */
	HP_WANT_LINES,
	HP_WANT_INLINES,	/* the same with all names, as in the file */
};

struct hp_debug_line {
	const char *name;	/* NULL = not known */
	const char *file;	/* NULL = not known */
	int line;	/* of the instruction, or of the call that was inlined */
	int column;
	bool is_inlined;
};

/* Texts of HP_WANT_LINES belong to it, others to the file or the inlines. */
struct hp_debug {
	enum hp_debug_want want;
	size_t count;	/* 0 = no information */
	struct hp_debug_line *lines;
};

void hp_debug_init(struct hp_debug *debug, struct hp_inlines *inlines, struct hp_symbol_file *file,
		   uint64_t address, enum hp_debug_want want);
void hp_debug_release(struct hp_debug *debug);

/*
 * If the file's debug information had to be read although an earlier report cached answers from it
 * (answer.h): caches those for its other functions, so that later reports need not read it.  Takes
 * some 0.1 s.
 */
void hp_debug_learn_rest(struct hp_inlines *inlines, struct hp_symbol_file *file);

#endif
