/* SPDX-License-Identifier: MIT */
/*
 * symbol.h - from (object, address) to a name, and to a place in the source.
 *
 * An object is opened when the first of its names is asked for, so a report
 * without functions opens nothing; its line table is read when the first place
 * is asked for.  libdw is loaded on first use: commands that need no symbol do
 * not pay for starting it.
 *
 * Folder: report/name - from addresses to names and places in the source:
 *   files, debug information, kept legends; one source interface for all
 * May use: report/base report/elf report/read segment segment/layout util
 */
#ifndef HP_REPORT_NAME_SYMBOL_H
#define HP_REPORT_NAME_SYMBOL_H

#include <stdbool.h>
#include <stdint.h>

#include "report/elf/debug.h"
#include "report/name/places.h"
#include "report/read/model.h"

#define HP_FRAMES_MOST HP_DEBUG_LINES_MOST	/* functions of one place */

struct hp_name_source;
struct hp_symbols;

struct hp_source {
	const char *file;
	int line;
	int column;
};

/* The model's objects and functions stay where they are while this lives.  Takes over the source. */
struct hp_symbols *hp_symbols_new(const struct hp_model *model, struct hp_name_source *source);
void hp_symbols_free(struct hp_symbols *symbols);

/* Names that were asked for and are not there yet, so far: it only grows. */
uint64_t hp_symbols_missing(const struct hp_symbols *symbols);

/* True if texts of the program's files outlive the symbols. */
bool hp_symbols_is_lasting(const struct hp_symbols *symbols);

/* What a kept run noted; NULL = this is none. */
const struct hp_places *hp_symbols_places(const struct hp_symbols *symbols, enum hp_places_of of);

/*
 * The full name of model->functions[function], demangled and without control
 * characters: of the symbol that starts there or, not found, module+0xoffset.
 */
const char *hp_symbols_name(struct hp_symbols *symbols, uint32_t function);

/*
 * True if a function that the file calls `name` (demangled; NULL = it does not
 * say) is to be called as the label says.  A block always is.  HOTPATH_NAME in
 * a function that the compiler did not instrument may have been taken for its
 * caller's: then the names tell.
 */
bool hp_label_is_of(const struct hp_model_label *label, const char *name);

/* True if that name is a symbol's. */
bool hp_symbols_has_name(struct hp_symbols *symbols, uint32_t function);

/* Where it stands in the source; false = unknown. */
bool hp_symbols_source(struct hp_symbols *symbols, uint32_t function, struct hp_source *source);

/* The compiler and its flags, as debug information has them; NULL = unknown. */
const char *hp_symbols_producer(struct hp_symbols *symbols, uint32_t function);

/* True if `address` of the object is where the symbol `name` starts. */
bool hp_symbols_is(struct hp_symbols *symbols, uint32_t object, uint64_t address, const char *name);

/*
 * Why names of an object are missing, as a text after its path; NULL = they are
 * not, or nobody asked for one.
 */
const char *hp_symbols_fault(const struct hp_symbols *symbols, uint32_t object);

/* Of an object that is no ELF file, whoever looks for its names says so; `fault` is kept as it is. */
void hp_symbols_blame(struct hp_symbols *symbols, uint32_t object, const char *fault);

/*
 * The symbol that holds `address` of an object: its name as in the file, and
 * where it starts; NULL = none does.
 */
const char *hp_symbols_near(struct hp_symbols *symbols, uint32_t object, uint64_t address,
			    uint64_t *start);

/* A function that an instruction is of: an inlined one, or the one that is called. */
struct hp_frame_line {
	char *name;	/* fresh; NULL = not known: it is the symbol's */
	char *file;	/* fresh; NULL = not known */
	int line;	/* of the instruction, or of the call that was inlined */
};

/* Those of `address`, the innermost first; returns how many, 0 = not known. */
size_t hp_symbols_lines(struct hp_symbols *symbols, uint32_t object, uint64_t address,
			struct hp_frame_line *lines, size_t most);

/* The same as the files have it (HP_WANT_INLINES), up to the next question; NULL = not known. */
const struct hp_debug *hp_symbols_inlines(struct hp_symbols *symbols, uint32_t object,
					  uint64_t address);

/*
 * What is at any address of an object, code or data: the name of the symbol
 * that holds it, with what is added to it; and of code the place in the source.
 * It is kept, so that it can be told again from a kept run.
 */
struct hp_symbol_spot {
	uint32_t object;
	uint64_t address;
	bool is_data;
	char *name;	/* without a symbol module+0xoffset */
	char *file;	/* NULL = not known */
	int line;
	int column;
};

const struct hp_symbol_spot *hp_symbols_spot(struct hp_symbols *symbols, uint32_t object,
					     uint64_t address, bool is_data);

/* A fresh "dir/file.c:12" of a spot, else its name; "<other>" for NULL. */
char *hp_spot_text(const struct hp_symbol_spot *spot);

/* All that were asked for so far, in the order of the questions. */
size_t hp_symbols_spot_count(const struct hp_symbols *symbols);
const struct hp_symbol_spot *hp_symbols_spot_at(const struct hp_symbols *symbols, size_t i);

#endif
