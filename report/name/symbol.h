/* SPDX-License-Identifier: MIT */
/*
 * symbol.h - from (object, address) to a name, and to a place in the source.
 *
 * An object is opened when the first of its names is asked for, so a report
 * without functions opens nothing; its line table is read when the first place
 * is asked for.  libdw is loaded on first use: commands that need no symbol do
 * not pay for starting it.
 */
#ifndef HP_REPORT_NAME_SYMBOL_H
#define HP_REPORT_NAME_SYMBOL_H

#include <stdbool.h>
#include <stdint.h>

#include "report/read/model.h"

struct hp_symbols;
struct hp_legend;
struct hp_resolver;

struct hp_source {
	const char *file;
	int line;
	int column;
};

/*
 * The model's objects and functions stay where they are while this lives.  With
 * a `legend`, which stays the caller's, names come from it alone: files of
 * today's machine need not be those of then.  With a `resolver`, the caller's
 * too, what is not found yet is told as not known.
 */
struct hp_symbols *hp_symbols_new(const struct hp_model *model, const struct hp_legend *legend,
				  struct hp_resolver *resolver);
void hp_symbols_free(struct hp_symbols *symbols);

/* The legend that it was made with. */
const struct hp_legend *hp_symbols_legend(const struct hp_symbols *symbols);

/*
 * The full name of model->functions[function], demangled and without control
 * characters: of the symbol that starts there or, not found, module+0xoffset.
 */
const char *hp_symbols_name(struct hp_symbols *symbols, uint32_t function);

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

/* A fresh copy of a symbol's name as people read it. */
char *hp_symbols_readable(const char *name);

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

/* All that were asked for so far, in the order of the questions. */
size_t hp_symbols_spot_count(const struct hp_symbols *symbols);
const struct hp_symbol_spot *hp_symbols_spot_at(const struct hp_symbols *symbols, size_t i);

#endif
