/* SPDX-License-Identifier: MIT */
/*
 * legend.h - the names in a kept file for its addresses.
 *
 * Lines of fields.  An object, numbered from 0 in this order; the compiler of the
 * functions that follow; a function of an object:
 *
 *   o  build-id (hex digits)  path  device  inode  why its names are missing, if they are
 *   p  compiler, as in the debug information
 *   f  object  address (hex)  flags  name  file  line  column
 *   a  the same of an address in code where no function starts
 *   d  object  address  -  name, of a variable
 *
 * Flags: m = the symbol `main` starts here.  Unknown lines are ignored, so
 * later versions may add some.
 */
#ifndef HP_REPORT_NAME_LEGEND_H
#define HP_REPORT_NAME_LEGEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/name/places.h"
#include "report/name/source.h"
#include "report/read/model.h"

struct hp_legend_object {
	const char *build_id;
	const char *path;
	uint64_t device;
	uint64_t inode;
	const char *fault;	/* "" = none */
};

struct hp_legend {
	char *text;
	struct hp_legend_object *objects;
	size_t object_count;
	struct hp_noted *entries;	/* bound: by object and address */
	size_t entry_count;
	struct hp_places places[HP_PLACES_KINDS];
	const char **faults;	/* bound: of each object of the model, NULL = none */
	size_t fault_count;
};

/* Takes over `text`. */
struct hp_legend *hp_legend_new(char *text);
void hp_legend_free(struct hp_legend *legend);

/* Finds its objects in the model. */
void hp_legend_bind(struct hp_legend *legend, const struct hp_model *model);

/* Why an object of the model has no names; NULL = it has names. */
const char *hp_legend_fault(const struct hp_legend *legend, uint32_t object);

/* Its names, for the model that it is bound to; the caller keeps both. */
struct hp_name_source *hp_legend_source(const struct hp_legend *legend,
					const struct hp_model *model);

/* Hex digits. */
void hp_build_id_text(const struct hp_model_object *object, char text[65]);

#endif
