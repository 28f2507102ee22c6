/* SPDX-License-Identifier: MIT */
/*
 * source.h - the source of names: the program's files, the same files read by a
 * background thread, or a kept run.
 *
 * symbol.h uses any of them. A kept run provides names of functions and other
 * places; files provide symbols and debug information.
 */
#ifndef HP_REPORT_NAME_SOURCE_H
#define HP_REPORT_NAME_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "report/elf/debug.h"
#include "report/name/places.h"

struct hp_name_source;
struct hp_symbol_file;

/* A stored name and its source location. */
struct hp_noted {
	uint32_t object;	/* of the legend; after hp_legend_bind of the model, or HP_NONE */
	bool is_main;
	char kind;	/* f, a, d: see legend.h */
	uint64_t address;
	const char *name;
	const char *file;	/* "" = not known */
	const char *producer;	/* the compiler; "" = not known */
	int line;
	int column;
};

/* Objects are places in the model. */
struct hp_name_source_kind {
	void (*free)(struct hp_name_source *source);

	/* The function that starts at an address; NULL = not stored. The member may be NULL. */
	const struct hp_noted *(*find)(struct hp_name_source *source, uint32_t object,
				       uint64_t address);

	/* The same for any address of code or data. */
	const struct hp_noted *(*spot)(struct hp_name_source *source, uint32_t object,
				       uint64_t address, bool is_data);

	/* All stored places of one kind, with their frames. The member may be NULL. */
	const struct hp_places *(*places)(struct hp_name_source *source, enum hp_places_of of);

	/*
	 * An object's file, with its symbols; NULL = none, or not yet.
	 * `is_any`: for an address that could not be stored, so the file is
	 * read even if names were stored.
	 */
	struct hp_symbol_file *(*file)(struct hp_name_source *source, uint32_t object, bool is_any);

	/*
	 * An answer from debug information, valid until the next call; NULL =
	 * unknown, or not yet.
	 */
	const struct hp_debug *(*debug)(struct hp_name_source *source, uint32_t object,
					uint64_t address, enum hp_debug_want want);

	/* Why a queried object has no names, as a text after its path; NULL = it has names. */
	const char *(*fault)(struct hp_name_source *source, uint32_t object);

	/* Names of the program will be asked for soon. The member may be NULL. */
	void (*expect)(struct hp_name_source *source);

	/* Total of lookups without an answer yet. NULL = all answers come at once. */
	uint64_t (*missing)(struct hp_name_source *source);

	bool is_lasting;	/* texts outlive the source */
};

/* The first member of each source. */
struct hp_name_source {
	const struct hp_name_source_kind *kind;
};

#endif
