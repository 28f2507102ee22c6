/* SPDX-License-Identifier: MIT */
/*
 * symbol_file.h - the symbols and debug information of one file, by address.
 *
 * Symbols of the usual files are read without libdw (symbol_table.h). libdw is
 * loaded when debug information is first needed and may exist.  Only one thread
 * at a time may do that; once read, all threads may use the symbols.
 *
 * Folder: report/elf - ELF files and their debug information:
 *   symbols, lines, scopes, inlined functions, readable names
 * May use: report/base report/read segment segment/layout util
 */
#ifndef HP_REPORT_ELF_SYMBOL_FILE_H
#define HP_REPORT_ELF_SYMBOL_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/elf/dwarf.h"
#include "report/elf/elf_file.h"
#include "report/read/model.h"

struct hp_answers;
struct hp_members;

struct hp_symbol {
	uint64_t address;	/* of the file */
	uint64_t size;
	const char *name;	/* as in the file */
	int binding;	/* the best of several at one address comes first */
};

/* A range of a compilation unit's code, in the addresses of the debug information. */
struct hp_unit_range {
	uint64_t low;
	uint64_t high;
	Dwarf_Die *unit;
};

/* All zero: not read. */
struct hp_symbol_file {
	const char *fault;	/* why it has no names, a static text; NULL = it has */
	const struct hp_model_object *recorded;
	int64_t created_unix_ns;
	bool has_debug;	/* debug information may exist */
	bool is_opened;	/* libdw was tried */
	_Atomic(const char *) debug_fault;	/* libdw's reason; NULL = none, or not tried */
	Dwfl *dwfl;
	Dwfl_Module *module;	/* NULL = not opened, or nothing to read */
	uint64_t bias;	/* libdwfl's address = address of the file + bias */
	struct hp_elf_bytes names;	/* texts of symbols are here, or libdw's */
	struct hp_answers *answers;	/* of debug information, from earlier reports; NULL = none */
	struct hp_members *members;	/* member.h's, as far as they were requested */
	void (*members_free)(struct hp_members *members);
	struct hp_symbol *symbols;	/* functions, by address */
	size_t count;
	struct hp_symbol *data;	/* variables */
	size_t data_count;
	struct hp_symbol *stubs;	/* symbol_plt.h */
	size_t stub_count;
	bool has_ranges;	/* was tried */
	struct hp_unit_range *ranges;	/* by address */
	size_t range_count;
	size_t range_room;
	Dwarf_Addr range_bias;	/* libdwfl's address = address of the debug information + this */
};

/* Forbids reading files; `fault` is a static text that says why. */
void hp_symbol_files_leave(const char *why);

/*
 * Reads the symbols of a recorded object, which must not move until the
 * release. A file other than the one that ran (different build-id; without one,
 * different inode or changed after `created_unix_ns`) yields no symbols.
 */
void hp_symbol_file_read(struct hp_symbol_file *file, const struct hp_model_object *recorded,
			 int64_t created_unix_ns);

/* The same, using only libdw. */
void hp_symbol_file_read_slowly(struct hp_symbol_file *file, const struct hp_model_object *recorded,
				int64_t created_unix_ns);
void hp_symbol_file_release(struct hp_symbol_file *file);

/* Opens the file of a recorded object, if it may be read and is the one that ran. In any case `elf` is to be released. */
bool hp_symbol_file_elf(struct hp_elf *elf, const struct hp_model_object *recorded,
			int64_t created_unix_ns);

/* Opens its debug information on first use; NULL = none. */
Dwfl_Module *hp_symbol_file_module(struct hp_symbol_file *file);

/* Why names or lines are missing, a static text; NULL = nothing missing so far. */
const char *hp_symbol_file_fault(struct hp_symbol_file *file);

/* symbol_find.c: the first symbol at the highest address that is not above `address`; NULL = none. */
const struct hp_symbol *hp_symbol_at(const struct hp_symbol_file *file, uint64_t address);
const struct hp_symbol *hp_symbol_data_at(const struct hp_symbol_file *file, uint64_t address);

/* The stub that contains `address`; NULL = none. */
const struct hp_symbol *hp_symbol_stub_at(const struct hp_symbol_file *file, uint64_t address);

/*
 * The compilation unit at the file's `address`, which is then converted to an
 * address of the debug information. NULL = none.
 */
Dwarf_Die *hp_symbol_file_unit(struct hp_symbol_file *file, uint64_t *address);

#endif
