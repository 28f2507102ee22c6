/* SPDX-License-Identifier: MIT */
/*
 * source.h - where names come from: the files of the program, those files read by a
 * thread aside, or what a kept run noted.
 *
 * symbol.h asks without knowing which.  What a kept run noted are names of
 * functions and of other places; beside them there are files, with symbols and
 * debug information.
 */
#ifndef HP_REPORT_NAME_SOURCE_H
#define HP_REPORT_NAME_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "report/elf/debug.h"
#include "report/name/places.h"

struct hp_name_source;
struct hp_symbol_file;

/* A name that was noted, and where it stands in the source. */
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

	/* The function that starts at an address; NULL = it was not noted.  May be NULL. */
	const struct hp_noted *(*find)(struct hp_name_source *source, uint32_t object,
				       uint64_t address);

	/* The same of any address of code or data. */
	const struct hp_noted *(*spot)(struct hp_name_source *source, uint32_t object,
				       uint64_t address, bool is_data);

	/* All places of one kind that were noted, with their frames.  May be NULL. */
	const struct hp_places *(*places)(struct hp_name_source *source, enum hp_places_of of);

	/*
	 * The file that an object is, with its symbols; NULL = there is none, or none
	 * yet.  `is_any`: for an address that nobody could note, so that the file is
	 * looked into even where names were noted.
	 */
	struct hp_symbol_file *(*file)(struct hp_name_source *source, uint32_t object, bool is_any);

	/* What debug information says, up to the next question; NULL = not known, or not yet. */
	const struct hp_debug *(*debug)(struct hp_name_source *source, uint32_t object,
					uint64_t address, enum hp_debug_want want);

	/* Why an object that was asked about has no names, as a text after its path; NULL = it has. */
	const char *(*fault)(struct hp_name_source *source, uint32_t object);

	/* Questions that had no answer yet, so far.  NULL = all answers come at once. */
	uint64_t (*missing)(struct hp_name_source *source);

	bool is_lasting;	/* texts outlive the source */
};

/* The first member of each source. */
struct hp_name_source {
	const struct hp_name_source_kind *kind;
};

#endif
