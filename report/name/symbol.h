/* SPDX-License-Identifier: MIT */
/*
 * symbol.h - from (object, address) to a name, and to a place in the source.
 *
 * An object is opened when its first name is needed, so a report without
 * functions opens nothing. Its line table is read when the first source
 * location is needed. libdw is loaded on first use, so commands without symbols
 * do not pay for it.
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

#define HP_FRAMES_MAX HP_DEBUG_LINES_MAX	/* most functions at one place */

struct hp_name_source;
struct hp_symbols;

struct hp_source {
	const char *file;
	int line;
	int column;
};

/* The model's objects and functions must not move while this exists. Takes over the source. */
struct hp_symbols *hp_symbols_new(const struct hp_model *model, struct hp_name_source *source);
void hp_symbols_free(struct hp_symbols *symbols);

/*
 * A thread reads the symbols of the program's file meanwhile, if it is large: sorting the 110,000
 * of node takes 8 ms. To be called once.
 */
void hp_symbols_expect(struct hp_symbols *symbols);

/* Total of requested names that were not available yet; it only grows. */
uint64_t hp_symbols_missing(const struct hp_symbols *symbols);

/* True if texts from the program's files outlive the symbols. */
bool hp_symbols_is_lasting(const struct hp_symbols *symbols);

/* The kept run's names; NULL = not a kept run. */
const struct hp_places *hp_symbols_places(const struct hp_symbols *symbols, enum hp_places_of of);

/*
 * The full name of model->functions[function], demangled and without control
 * characters: the symbol that starts there, else module+0xoffset.
 */
const char *hp_symbols_name(struct hp_symbols *symbols, uint32_t function);

/*
 * True if the label applies to a function that the file calls `name`
 * (demangled; NULL = unknown). For a block it always does. A HOTPATH_NAME in a
 * function that the compiler did not instrument may have been attributed to its
 * caller; then the names differ.
 */
bool hp_label_is_of(const struct hp_model_label *label, const char *name);

/* True if that name comes from a symbol. */
bool hp_symbols_has_name(struct hp_symbols *symbols, uint32_t function);

/* Its source location; false = unknown. */
bool hp_symbols_source(struct hp_symbols *symbols, uint32_t function, struct hp_source *source);

/* The compiler and its flags, from debug information; NULL = unknown. */
const char *hp_symbols_producer(struct hp_symbols *symbols, uint32_t function);

/* True if the symbol `name` starts at `address` of the object. */
bool hp_symbols_is(struct hp_symbols *symbols, uint32_t object, uint64_t address, const char *name);

/*
 * Why names of an object are missing, as a text after its path; NULL = not
 * missing, or none requested.
 */
const char *hp_symbols_fault(const struct hp_symbols *symbols, uint32_t object);

/* Sets the reason for an object that is not an ELF file; `fault` is not copied. */
void hp_symbols_blame(struct hp_symbols *symbols, uint32_t object, const char *fault);

/*
 * The symbol that contains `address` of an object: its name as in the file, and
 * its start; NULL = none.
 */
const char *hp_symbols_near(struct hp_symbols *symbols, uint32_t object, uint64_t address,
			    uint64_t *start);

/* A function that contains an instruction: an inlined one, or the called one. */
struct hp_frame_line {
	char *name;	/* fresh; NULL = unknown: use the symbol's */
	char *file;	/* fresh; NULL = not known */
	int line;	/* of the instruction, or of the call that was inlined */
};

/* Those of `address`, the innermost first; returns how many, 0 = not known. */
size_t hp_symbols_lines(struct hp_symbols *symbols, uint32_t object, uint64_t address,
			struct hp_frame_line *lines, size_t most);

/*
 * The same with names as in the file (HP_WANT_INLINES), valid until the next
 * call; NULL = unknown.
 */
const struct hp_debug *hp_symbols_inlines(struct hp_symbols *symbols, uint32_t object,
					  uint64_t address);

/*
 * The member at an offset of a heap block, from debug information of the unit with this code: a
 * fresh "Session::m" (report/elf/member.h); NULL = not known, or must not be requested here.
 */
char *hp_symbols_member(struct hp_symbols *symbols, uint32_t object, uint64_t address,
			const char *type, uint64_t size, uint64_t offset);

/* The same of a variable of the object: a fresh "accounts[7].m". */
char *hp_symbols_variable_member(struct hp_symbols *symbols, uint32_t object, uint64_t address,
				 const char *type);

/*
 * The name of any address of an object, code or data: its symbol plus offset,
 * and for code the source location. It is remembered, so that a kept run can
 * store it.
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

/* All spots queried so far, in order. */
size_t hp_symbols_spot_count(const struct hp_symbols *symbols);
const struct hp_symbol_spot *hp_symbols_spot_at(const struct hp_symbols *symbols, size_t i);

#endif
