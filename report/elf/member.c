/* SPDX-License-Identifier: MIT */
/*
 * member.c - see member.h.
 *
 * The header before the first object of a block:
 *   nothing; the number of objects, 8 bytes, in C++'s new T[n] where T has a destructor (Itanium C++
 *   ABI, 2.7); the counts of std::make_shared, 16 bytes, in libstdc++ and (24) in libc++.
 */
#include "report/elf/member.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/base/memory.h"

#define DEPTH_MAX 16	/* of types in types; damaged information must not exhaust our stack */
#define MEMBER_PATH_MAX 256	/* bytes of a member's path */
#define TYPE_NAME_MAX 512	/* bytes of a type's name with its namespaces */
#define STEPS_MAX 1000000	/* entries looked at */

/* How well a type explains a block; there must be only one type with the best fit. */
enum fit {
	FIT_NONE,
	FIT_BEGIN,	/* the block is larger: a head, with data after it */
	FIT_ARRAY,
	FIT_SHARED,	/* after the counts of make_shared */
	FIT_WHOLE,	/* the block is one object */
	FIT_NAMED,	/* added: the allocating functions name the type */
};

/* A type of a unit that may own a lock. */
struct type {
	char *name;	/* with namespaces and classes */
	uint64_t size;
	Dwarf_Die die;
};

struct unit {
	const void *id;	/* of its entry */
	bool is_cut;	/* there are more types than could be read */
	struct type *types;
	size_t count;
	size_t room;
};

/* A variable outside functions. */
struct variable {
	const char *name;	/* the debug information's */
	uint32_t place;	/* in the order of the file */
	Dwarf_Die die;
};

/* Each unit is walked once, however many questions follow. */
struct hp_members {
	struct unit *units;
	size_t count;
	size_t room;
	bool has_variables;
	struct variable *variables;	/* by name and place */
	size_t variable_count;
	size_t variable_room;
};

struct search {
	const struct hp_dwarf *dw;
	const struct hp_member_wanted *wanted;
	uint64_t deadline_ns;
	size_t seen;
	int best;
	bool is_ambiguous;
	const char *name;	/* of the best type */
	char path[MEMBER_PATH_MAX];	/* of its member */
	uint64_t index;
	uint64_t count;
};

static uint64_t cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Damaged information may have types that contain each other many times over. */
static bool is_over(struct search *s)
{
	return s->seen > STEPS_MAX || (s->seen % 64 == 0 && cpu_ns() > s->deadline_ns);
}

/* --- types --- */

static bool type_of(const struct hp_dwarf *dw, Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attribute;

	return dw->dwarf_attr_integrate(die, DW_AT_type, &attribute) &&
	       dw->dwarf_formref_die(&attribute, type);
}

static uint64_t number_of(const struct hp_dwarf *dw, Dwarf_Die *die, unsigned name, uint64_t other)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	return dw->dwarf_attr(die, name, &attribute) && dw->dwarf_formudata(&attribute, &value) == 0
		       ? value
		       : other;
}

static bool is_compound(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

/* Skips const, volatile and names of types; true if one of these names is the wanted one. */
static bool strip(struct search *s, Dwarf_Die *type)
{
	for (int i = 0; i < DEPTH_MAX; i++) {
		int tag = s->dw->dwarf_tag(type);
		const char *name = s->dw->dwarf_diename(type);

		if (name && strcmp(name, s->wanted->type) == 0)
			return true;
		if (tag != DW_TAG_typedef && tag != DW_TAG_const_type &&
		    tag != DW_TAG_volatile_type && tag != DW_TAG_atomic_type)
			return false;
		if (!type_of(s->dw, type, type))
			return false;
	}
	return false;
}

/* Bytes of a type; 0 = not known. */
static uint64_t size_of(struct search *s, Dwarf_Die type, int depth)
{
	uint64_t size, count = 1;
	Dwarf_Die child;

	if (depth > DEPTH_MAX)
		return 0;
	size = number_of(s->dw, &type, DW_AT_byte_size, 0);
	if (size)
		return size;
	if (s->dw->dwarf_tag(&type) != DW_TAG_array_type)
		return type_of(s->dw, &type, &child) ? size_of(s, child, depth + 1) : 0;
	if (s->dw->dwarf_child(&type, &child) == 0) {
		do {
			uint64_t upper = number_of(s->dw, &child, DW_AT_upper_bound, UINT64_MAX);
			uint64_t own = number_of(s->dw, &child, DW_AT_count, upper + 1);

			if (s->dw->dwarf_tag(&child) == DW_TAG_subrange_type)
				count = own > UINT32_MAX || count > UINT32_MAX ? 0 : count * own;
		} while (s->dw->dwarf_siblingof(&child, &child) == 0);
	}
	return type_of(s->dw, &type, &child) ? count * size_of(s, child, depth + 1) : 0;
}

static void path_add(char path[MEMBER_PATH_MAX], const char *text, bool is_member)
{
	size_t length = strlen(path), more = strlen(text);

	if (length + more + 2 > MEMBER_PATH_MAX)
		return;
	if (is_member && length)
		path[length++] = '.';
	memcpy(path + length, text, more + 1);
}

static bool member_at(struct search *s, Dwarf_Die type, uint64_t offset, char path[MEMBER_PATH_MAX],
		      int depth);

/* One member or base class of a type, which starts at `begin` there. */
static bool part_at(struct search *s, Dwarf_Die *part, uint64_t offset, char path[MEMBER_PATH_MAX],
		    int depth)
{
	uint64_t begin = number_of(s->dw, part, DW_AT_data_member_location, 0);
	const char *name = s->dw->dwarf_diename(part);
	size_t before = strlen(path);
	Dwarf_Die type;

	if (offset < begin || !type_of(s->dw, part, &type))
		return false;
	if (s->dw->dwarf_tag(part) == DW_TAG_member && name)
		path_add(path, name, true);
	if (member_at(s, type, offset - begin, path, depth + 1))
		return true;
	path[before] = '\0';
	return false;
}

static bool in_array(struct search *s, Dwarf_Die *type, uint64_t offset, char path[MEMBER_PATH_MAX],
		     int depth)
{
	uint64_t whole = size_of(s, *type, depth), each;
	char *place;
	bool is_it;
	Dwarf_Die of;

	if (offset >= whole || !type_of(s->dw, type, &of) || !(each = size_of(s, of, depth)))
		return false;
	place = hp_xprintf("[%llu]", (unsigned long long)(offset / each));
	path_add(path, place, false);
	free(place);
	is_it = member_at(s, of, offset % each, path, depth + 1);
	return is_it;
}

/* Is a member of the wanted type at `offset`? Its path is added, except for members of std's
 * types. */
static bool member_at(struct search *s, Dwarf_Die type, uint64_t offset, char path[MEMBER_PATH_MAX],
		      int depth)
{
	Dwarf_Die part;

	s->seen++;
	if (depth > DEPTH_MAX || is_over(s))
		return false;
	if (strip(s, &type))
		return offset == 0;
	if (s->dw->dwarf_tag(&type) == DW_TAG_array_type)
		return in_array(s, &type, offset, path, depth);
	if (!is_compound(s->dw->dwarf_tag(&type)) || s->dw->dwarf_child(&type, &part) != 0)
		return false;
	do {
		int tag = s->dw->dwarf_tag(&part);

		if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) &&
		    part_at(s, &part, offset, path, depth))
			return true;
	} while (s->dw->dwarf_siblingof(&part, &part) == 0);
	return false;
}

/* --- candidates --- */

/* A member `_M_...` is the C++ library's own: the program knows it as the enclosing type. */
static void path_end(char path[MEMBER_PATH_MAX])
{
	static const char *const inner[] = { "._M_", ".__m_", ".__cv_" };

	for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++) {
		char *at = strstr(path, inner[i]);

		if (at)
			*at = '\0';
	}
}

static bool is_named(const struct search *s, const char *name)
{
	for (size_t i = 0; i < s->wanted->function_count; i++)
		if (strstr(s->wanted->functions[i], name))
			return true;
	return false;
}

static void candidate_add(struct search *s, int fit, const char *name, const char *path,
			  uint64_t index, uint64_t count)
{
	if (is_named(s, name))
		fit += FIT_NAMED;
	if (fit < s->best)
		return;
	if (fit == s->best) {
		s->is_ambiguous |= strcmp(s->name, name) != 0 || strcmp(s->path, path) != 0;
		return;
	}
	s->best = fit;
	s->is_ambiguous = false;
	s->index = index;
	s->count = count;
	s->name = name;
	strcpy(s->path, path);
}

static void type_try(struct search *s, struct type *type)
{
	static const uint64_t heads[] = { 0, 8, 16, 24 };
	const struct hp_member_wanted *w = s->wanted;
	uint64_t size = type->size;

	if (size > w->size)
		return;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		uint64_t head = heads[i], room = w->size - head;
		char path[MEMBER_PATH_MAX] = "";
		int fit = FIT_NONE;

		if (w->offset < head || room < size || w->size < head)
			continue;
		if (head >= 16)
			fit = room - size < 8 ? FIT_SHARED : FIT_NONE;
		else if (room == size)
			fit = head ? FIT_NONE : FIT_WHOLE;
		else if (room % size == 0)
			fit = FIT_ARRAY;
		else
			fit = head ? FIT_NONE : FIT_BEGIN;
		if (fit == FIT_NONE || (fit != FIT_ARRAY && w->offset - head >= size) ||
		    !member_at(s, type->die, (w->offset - head) % size, path, 0) || !*path)
			continue;
		path_end(path);
		candidate_add(s, fit, type->name, path, (w->offset - head) / size,
			      fit == FIT_ARRAY ? room / size : 1);
	}
}

/* --- a unit's types --- */

struct walk {
	struct search *search;
	struct unit *unit;
	char scope[TYPE_NAME_MAX];	/* namespaces and classes around, with "::" at the end */
};

static void type_add(struct walk *w, Dwarf_Die *die, const char *name)
{
	struct unit *unit = w->unit;
	uint64_t size = number_of(w->search->dw, die, DW_AT_byte_size, 0);

	if (!size || !name || strlen(w->scope) + strlen(name) >= TYPE_NAME_MAX)
		return;
	unit->types = hp_xgrow(unit->types, unit->count, &unit->room, sizeof(*unit->types));
	unit->types[unit->count++] =
		(struct type){ hp_xprintf("%s%s", w->scope, name), size, *die };
}

static void types_walk(struct walk *w, Dwarf_Die *parent, int depth);

static void inside_walk(struct walk *w, Dwarf_Die *die, const char *name, int depth)
{
	size_t length = strlen(w->scope);

	if (name && length + strlen(name) + 3 < TYPE_NAME_MAX) {
		strcpy(w->scope + length, name);
		strcat(w->scope, "::");
	}
	types_walk(w, die, depth + 1);
	w->scope[length] = '\0';
}

static void compound_note(struct walk *w, Dwarf_Die *die, const char *name, int depth)
{
	/* The C++ library's own types do not count as owners. */
	if (strncmp(w->scope, "std::", 5) == 0 || strncmp(w->scope, "__gnu_cxx::", 11) == 0)
		return;
	type_add(w, die, name);
	inside_walk(w, die, name, depth);
}

/* A type without its own name has that of the typedef: typedef struct { ... } session; */
static void typedef_note(struct walk *w, Dwarf_Die *die)
{
	const struct hp_dwarf *dw = w->search->dw;
	Dwarf_Die type;

	if (type_of(dw, die, &type) && is_compound(dw->dwarf_tag(&type)) &&
	    !dw->dwarf_diename(&type))
		type_add(w, &type, dw->dwarf_diename(die));
}

static void types_walk(struct walk *w, Dwarf_Die *parent, int depth)
{
	const struct hp_dwarf *dw = w->search->dw;
	Dwarf_Die die;

	if (depth > DEPTH_MAX || dw->dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = dw->dwarf_tag(&die);

		w->search->seen++;
		if (is_over(w->search)) {
			w->unit->is_cut = true;
			return;
		}
		if (is_compound(tag))
			compound_note(w, &die, dw->dwarf_diename(&die), depth);
		else if (tag == DW_TAG_typedef)
			typedef_note(w, &die);
		else if (tag == DW_TAG_namespace)
			inside_walk(w, &die, dw->dwarf_diename(&die), depth);
		else if (tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block)
			inside_walk(w, &die, NULL, depth);
	} while (dw->dwarf_siblingof(&die, &die) == 0);
}

static void members_free(struct hp_members *members)
{
	for (size_t i = 0; i < members->count; i++) {
		for (size_t k = 0; k < members->units[i].count; k++)
			free(members->units[i].types[k].name);
		free(members->units[i].types);
	}
	free(members->units);
	free(members->variables);
	free(members);
}

static struct hp_members *members_of(struct hp_symbol_file *file)
{
	if (!file->members)
		file->members = hp_xcalloc(1, sizeof(*file->members));
	file->members_free = members_free;
	return file->members;
}

static const struct unit *unit_of(struct search *s, struct hp_members *members, Dwarf_Die *die)
{
	struct walk walk = { .search = s };

	for (size_t i = 0; i < members->count; i++)
		if (members->units[i].id == die->addr)
			return &members->units[i];
	members->units =
		hp_xgrow(members->units, members->count, &members->room, sizeof(*members->units));
	walk.unit = &members->units[members->count++];
	*walk.unit = (struct unit){ .id = die->addr };
	types_walk(&walk, die, 0);
	return walk.unit;
}

static char *text_of(const struct search *s)
{
	if (s->best == FIT_NONE || s->is_ambiguous)
		return NULL;
	if (s->count > 1)
		return hp_xprintf("%s::%s[%llu of %llu]", s->name, s->path,
				  (unsigned long long)s->index, (unsigned long long)s->count);
	return hp_xprintf("%s::%s", s->name, s->path);
}

/* --- variables --- */

/* The variables of a unit or a namespace. */
static void variables_walk(struct search *s, struct hp_members *members, Dwarf_Die *parent,
			   int depth)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX || s->dw->dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = s->dw->dwarf_tag(&die);
		const char *name = tag == DW_TAG_variable ? s->dw->dwarf_diename(&die) : NULL;

		s->seen++;
		if (is_over(s))
			return;
		if (tag == DW_TAG_namespace)
			variables_walk(s, members, &die, depth + 1);
		if (!name)
			continue;
		members->variables = hp_xgrow(members->variables, members->variable_count,
					      &members->variable_room, sizeof(*members->variables));
		members->variables[members->variable_count] =
			(struct variable){ name, (uint32_t)members->variable_count, die };
		members->variable_count++;
	} while (s->dw->dwarf_siblingof(&die, &die) == 0);
}

static int compare_variables(const void *left, const void *right)
{
	const struct variable *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	return order ? order : a->place < b->place ? -1 : a->place > b->place;
}

static void variables_read(struct search *s, struct hp_members *members, Dwfl_Module *module)
{
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;

	if (members->has_variables)
		return;
	members->has_variables = true;
	while (!is_over(s) && (unit = s->dw->dwfl_module_nextcu(module, unit, &bias)))
		variables_walk(s, members, unit, 0);
	if (members->variable_count)
		qsort(members->variables, members->variable_count, sizeof(*members->variables),
		      compare_variables);
}

/* The first of a name. */
static size_t variable_first(const struct hp_members *members, const char *name)
{
	size_t low = 0, high = members->variable_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(members->variables[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A variable of that name and size that has the member. */
static bool variable_find(struct search *s, struct hp_members *members, const char *name)
{
	Dwarf_Die type;

	for (size_t i = variable_first(members, name); i < members->variable_count; i++) {
		struct variable *variable = &members->variables[i];

		if (strcmp(variable->name, name) != 0)
			return false;
		if (type_of(s->dw, &variable->die, &type) &&
		    size_of(s, type, 0) == s->wanted->size &&
		    member_at(s, type, s->wanted->offset, s->path, 0))
			return true;
		*s->path = '\0';
	}
	return false;
}

static uint64_t spent_ns;

/* False = too much time has been spent already. */
static bool search_begin(struct search *s, const struct hp_symbol_file *file, uint64_t began)
{
	if (!s->dw || !file->has_debug || spent_ns >= HP_MEMBER_MS * UINT64_C(1000000))
		return false;
	s->deadline_ns = began + HP_MEMBER_MS * UINT64_C(1000000) - spent_ns;
	return true;
}

char *hp_member_of_variable(struct hp_symbol_file *file, const char *name,
			    const struct hp_member_wanted *wanted)
{
	struct search s = { .dw = hp_dwarf_load(), .wanted = wanted };
	uint64_t began = cpu_ns();
	Dwfl_Module *module = NULL;
	bool is_found = false;

	if (search_begin(&s, file, began))
		module = hp_symbol_file_module(file);
	if (module) {
		variables_read(&s, members_of(file), module);
		is_found = variable_find(&s, members_of(file), name);
	}
	spent_ns += cpu_ns() - began;
	path_end(s.path);
	return is_found && *s.path ? hp_xprintf("%s%s%s", name, *s.path == '[' ? "" : ".", s.path)
				   : NULL;
}

char *hp_member_name(struct hp_symbol_file *file, const struct hp_member_wanted *wanted)
{
	uint64_t address = wanted->address, began = cpu_ns();
	struct search s = { .dw = hp_dwarf_load(), .wanted = wanted };
	Dwarf_Die *die = NULL;
	const struct unit *unit;

	if (search_begin(&s, file, began))
		die = hp_symbol_file_unit(file, &address);
	if (!die)
		return NULL;
	unit = unit_of(&s, members_of(file), die);
	for (size_t i = 0; i < unit->count && !is_over(&s); i++)
		type_try(&s, &unit->types[i]);
	s.is_ambiguous |= unit->is_cut || is_over(&s);
	spent_ns += cpu_ns() - began;
	return text_of(&s);
}
