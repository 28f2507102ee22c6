/* SPDX-License-Identifier: MIT */
/*
 * legend.h - the names that a kept file carries for the addresses in it.
 *
 * Lines of fields.  An object, numbered from 0 in this order; the compiler of the
 * functions that follow; a function of an object:
 *
 *   o  build-id (hex digits)  path  device  inode  why its names are missing, if they are
 *   p  compiler, as the debug information has it
 *   f  object  address (hex)  flags  name  file  line  column
 *   a  the same of an address in code that is no function's start
 *   d  object  address  -  name, of a variable
 *
 * Flags: m = the symbol `main` starts here.  Lines that start otherwise are
 * ignored, so that later versions may add some.
 */
#ifndef HP_REPORT_NAME_LEGEND_H
#define HP_REPORT_NAME_LEGEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/section/cpu/legend.h"
#include "report/read/model.h"

struct hp_legend_entry {
	uint32_t object;	/* of the legend; after hp_legend_bind of the model, or HP_NONE */
	bool is_main;
	char kind;	/* f, a, d */
	uint64_t address;
	const char *name;
	const char *file;	/* "" = not known */
	const char *producer;	/* the compiler; "" = not known */
	int line;
	int column;
};

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
	struct hp_legend_entry *entries;	/* bound: by object and address */
	size_t entry_count;
	struct hp_cpu_legend cpu;	/* places of samples */
	struct hp_cpu_legend alloc;	/* steps of allocations' paths */
	const char **faults;	/* bound: of each object of the model, NULL = none */
	size_t fault_count;
};

/* Takes over `text`. */
struct hp_legend *hp_legend_new(char *text);
void hp_legend_free(struct hp_legend *legend);

/* Finds its objects in the model. */
void hp_legend_bind(struct hp_legend *legend, const struct hp_model *model);

/* NULL = not known. */
const struct hp_legend_entry *hp_legend_find(const struct hp_legend *legend, uint32_t object,
					     uint64_t address);
const struct hp_legend_entry *hp_legend_spot(const struct hp_legend *legend, uint32_t object,
					     uint64_t address, bool is_data);
const char *hp_legend_fault(const struct hp_legend *legend, uint32_t object);

struct hp_symbols;

/* A fresh text with the names of all functions that were called, and of what else was asked for. */
char *hp_legend_gather(const struct hp_model *model, struct hp_symbols *symbols);

#endif
