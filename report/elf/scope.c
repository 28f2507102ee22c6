/* SPDX-License-Identifier: MIT */
/*
 * scope.c - see scope.h.
 */
#include "report/elf/scope.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/elf/demangle.h"

#define DEPTH_MAX 200	/* nesting depth: damaged information must not exhaust our stack */

/* A function, or something that may contain one. */
struct entry {
	Dwarf_Die die;
	uint32_t outer;	/* place of its container; HP_NONE = the unit itself */
	uint64_t copy;	/* of a function: start of a copy that is not inlined; 0 = none known */
	char *name;	/* NULL = not made yet */
};

struct hp_scopes {
	struct hp_map units;	/* address of a unit's entry: already walked */
	struct hp_map places;	/* address of an entry -> its place */
	struct entry *entries;
	size_t count;
	size_t room;
};

struct hp_scopes *hp_scopes_new(void)
{
	return hp_xcalloc(1, sizeof(struct hp_scopes));
}

void hp_scopes_free(struct hp_scopes *scopes)
{
	if (!scopes)
		return;
	for (size_t i = 0; i < scopes->count; i++)
		free(scopes->entries[i].name);
	free(scopes->entries);
	hp_map_release(&scopes->units);
	hp_map_release(&scopes->places);
	free(scopes);
}

static uint64_t key_of(const Dwarf_Die *die)
{
	return (uint64_t)(uintptr_t)die->addr;
}

/* --- a unit's entries --- */

static uint32_t entry_add(struct hp_scopes *scopes, Dwarf_Die *die, uint32_t outer)
{
	bool is_new;

	*hp_map_at(&scopes->places, key_of(die), &is_new) = (uint32_t)scopes->count;
	scopes->entries =
		hp_xgrow(scopes->entries, scopes->count, &scopes->room, sizeof(*scopes->entries));
	scopes->entries[scopes->count] = (struct entry){ .die = *die, .outer = outer };
	return (uint32_t)scopes->count++;
}

/* An entry's children belong to it; those of a block to the block's container. */
static void walk(const struct hp_dwarf *dw, struct hp_scopes *scopes, Dwarf_Die *parent,
		 uint32_t outer, int depth)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX || dw->dwarf_child(parent, &die) != 0)
		return;
	do {
		switch (dw->dwarf_tag(&die)) {
		case DW_TAG_namespace:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
		case DW_TAG_subprogram:
			walk(dw, scopes, &die, entry_add(scopes, &die, outer), depth + 1);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			walk(dw, scopes, &die, outer, depth + 1);
			break;
		default:
			break;
		}
	} while (dw->dwarf_siblingof(&die, &die) == 0);
}

static struct entry *entry_of(struct hp_scopes *scopes, const Dwarf_Die *die)
{
	const uint32_t *place = hp_map_find(&scopes->places, key_of(die));

	return place ? &scopes->entries[*place] : NULL;
}

/* The entry that this one refers to: the origin of an inlined copy, or a declaration in a class. */
static bool origin_of(const struct hp_dwarf *dw, const Dwarf_Die *die, Dwarf_Die *origin)
{
	static const unsigned kinds[] = { DW_AT_abstract_origin, DW_AT_specification };
	Dwarf_Die from = *die;
	Dwarf_Attribute attribute;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (dw->dwarf_attr(&from, kinds[i], &attribute) &&
		    dw->dwarf_formref_die(&attribute, origin))
			return true;
	return false;
}

/* The end of that chain: the same for all copies of a function. */
static Dwarf_Die first_of(const struct hp_dwarf *dw, const Dwarf_Die *die)
{
	Dwarf_Die first = *die, origin;

	for (int i = 0; i < DEPTH_MAX && origin_of(dw, &first, &origin); i++)
		first = origin;
	return first;
}

static void copies_note(const struct hp_dwarf *dw, struct hp_scopes *scopes, size_t from)
{
	for (size_t i = from; i < scopes->count; i++) {
		Dwarf_Die die = scopes->entries[i].die, first;
		struct entry *entry;
		Dwarf_Addr low;

		if (dw->dwarf_tag(&die) != DW_TAG_subprogram || dw->dwarf_lowpc(&die, &low) != 0)
			continue;
		first = first_of(dw, &die);
		entry = entry_of(scopes, &first);
		if (entry && !entry->copy)
			entry->copy = low;
	}
}

static void unit_walk(struct hp_scopes *scopes, const Dwarf_Die *die)
{
	const struct hp_dwarf *dw = hp_dwarf_load();
	Dwarf_Die from = *die, unit;
	size_t before = scopes->count;
	bool is_new;

	if (!dw->dwarf_diecu(&from, &unit, NULL, NULL))
		return;
	hp_map_at(&scopes->units, key_of(&unit), &is_new);
	if (!is_new)
		return;
	walk(dw, scopes, &unit, HP_NONE, 0);
	copies_note(dw, scopes, before);
}

/* --- names --- */

static const char *linkage_of(const struct hp_dwarf *dw, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	return dw->dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute)
		       ? dw->dwarf_formstring(&attribute)
		       : NULL;
}

/* An unnamed class that can be called: a lambda. */
static bool is_lambda(const struct hp_dwarf *dw, Dwarf_Die *class)
{
	Dwarf_Die die;

	if (dw->dwarf_child(class, &die) != 0)
		return false;
	do {
		const char *name = dw->dwarf_diename(&die);

		if (name && strncmp(name, "operator()", strlen("operator()")) == 0)
			return true;
	} while (dw->dwarf_siblingof(&die, &die) == 0);
	return false;
}

/* The demangler counts lambdas; here their lines distinguish them. */
static char *unnamed_part(const struct hp_dwarf *dw, Dwarf_Die *die)
{
	int line = 0;

	if (dw->dwarf_tag(die) == DW_TAG_namespace)
		return hp_xstrdup("(anonymous namespace)");
	if (!is_lambda(dw, die) || dw->dwarf_decl_line(die, &line) != 0)
		return hp_xstrdup("{unnamed}");
	return hp_xprintf("{lambda:%d}", line);
}

/* Its own part of the name, fresh. */
static char *part_of(const struct hp_dwarf *dw, struct entry *entry)
{
	const char *name = dw->dwarf_diename(&entry->die);

	return name ? hp_xstrdup(name) : unnamed_part(dw, &entry->die);
}

/* The name of a container of functions and classes, fresh. */
static char *scope_name(const struct hp_dwarf *dw, struct hp_scopes *scopes, uint32_t place,
			int depth)
{
	Dwarf_Die die = scopes->entries[place].die;
	const char *linkage =
		dw->dwarf_tag(&die) == DW_TAG_subprogram ? linkage_of(dw, &die) : NULL;
	char *part, *outer, *whole;
	uint32_t next;

	if (linkage)
		return hp_name_readable(linkage);
	if (dw->dwarf_tag(&die) == DW_TAG_subprogram) {
		const struct entry *first;
		Dwarf_Die first_die = first_of(dw, &die);

		unit_walk(scopes, &first_die);
		first = entry_of(scopes, &first_die);
		place = first ? (uint32_t)(first - scopes->entries) : place;
	}
	part = part_of(dw, &scopes->entries[place]);
	next = scopes->entries[place].outer;
	if (next == HP_NONE || depth > DEPTH_MAX)
		return part;
	outer = scope_name(dw, scopes, next, depth + 1);
	whole = hp_xprintf("%s::%s", outer, part);
	free(outer);
	free(part);
	return whole;
}

static bool has_scopes(const struct hp_dwarf *dw, Dwarf_Die *die)
{
	Dwarf_Die unit;

	if (!dw->dwarf_diecu(die, &unit, NULL, NULL))
		return false;
	switch (dw->dwarf_srclang(&unit)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case 0x2b:	/* DW_LANG_C_plus_plus_17 of DWARF 6 */
	case 0x2c:	/* DW_LANG_C_plus_plus_20 */
		return true;
	default:
		return false;
	}
}

const char *hp_scopes_name(struct hp_scopes *scopes, const struct hp_symbol_file *file,
			   uint64_t bias, Dwarf_Die *function)
{
	const struct hp_dwarf *dw = hp_dwarf_load();
	const char *linkage = linkage_of(dw, function);
	const struct hp_symbol *symbol;
	struct entry *entry;
	Dwarf_Die first;

	if (linkage)
		return linkage;
	first = first_of(dw, function);
	if (!dw->dwarf_diename(&first) || !has_scopes(dw, &first))
		return dw->dwarf_diename(function);
	unit_walk(scopes, &first);
	entry = entry_of(scopes, &first);
	if (!entry)
		return dw->dwarf_diename(function);
	symbol = entry->copy ? hp_symbol_at(file, entry->copy + bias) : NULL;
	if (symbol && symbol->address == entry->copy + bias)
		return symbol->name;
	if (!entry->name) {
		char *name = scope_name(dw, scopes, (uint32_t)(entry - scopes->entries), 0);

		entry = entry_of(scopes, &first);	/* they may have moved */
		entry->name = name;
	}
	return entry->name;
}
