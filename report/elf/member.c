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

#define DEPTH_MAX 16 /* of types in types; damaged information must not exhaust our stack */
#define MEMBER_PATH_MAX 256 /* bytes of a member's path */
#define TYPE_NAME_MAX 512 /* bytes of a type's name with its namespaces */
#define STEPS_MAX 1000000 /* entries looked at */

/* How well a type explains a block; of the best fit there must be one type only. */
enum fit {
	FIT_NONE,
	FIT_BEGIN, /* the block is larger: a head, with data after it */
	FIT_ARRAY,
	FIT_SHARED, /* after the counts of make_shared */
	FIT_WHOLE, /* the block is one object */
	FIT_NAMED, /* added: the allocating functions name the type */
};

struct search {
	const struct hp_dwarf *dw;
	const struct hp_member_wanted *wanted;
	uint64_t deadline_ns;
	size_t seen;
	int best;
	bool is_ambiguous;
	char scope[TYPE_NAME_MAX]; /* namespaces and classes around, with "::" at the end */
	char name[TYPE_NAME_MAX]; /* of the best type */
	char path[MEMBER_PATH_MAX]; /* of its member */
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

/* Is a member of the wanted type at `offset`?  Its path is added; members of std's types aren't. */
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

/* A member `_M_...` is the C++ library's own: the type around it is the program's word for it. */
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
	strcpy(s->name, name);
	strcpy(s->path, path);
}

static void type_try(struct search *s, Dwarf_Die *type, const char *name)
{
	static const uint64_t heads[] = { 0, 8, 16, 24 };
	const struct hp_member_wanted *w = s->wanted;
	uint64_t size = number_of(s->dw, type, DW_AT_byte_size, 0);

	if (!size || size > w->size)
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
		    !member_at(s, *type, (w->offset - head) % size, path, 0) || !*path)
			continue;
		path_end(path);
		candidate_add(s, fit, name, path, (w->offset - head) / size,
			      fit == FIT_ARRAY ? room / size : 1);
	}
}

static void walk(struct search *s, Dwarf_Die *parent, int depth);

static void inside_walk(struct search *s, Dwarf_Die *die, const char *name, int depth)
{
	size_t length = strlen(s->scope);

	if (name && length + strlen(name) + 3 < TYPE_NAME_MAX) {
		strcpy(s->scope + length, name);
		strcat(s->scope, "::");
	}
	walk(s, die, depth + 1);
	s->scope[length] = '\0';
}

static void compound_note(struct search *s, Dwarf_Die *die, const char *name, int depth)
{
	char whole[TYPE_NAME_MAX];

	/* The C++ library's own types don't count as owners. */
	if (strncmp(s->scope, "std::", 5) == 0 || strncmp(s->scope, "__gnu_cxx::", 11) == 0)
		return;
	if (name && strlen(s->scope) + strlen(name) < sizeof(whole)) {
		strcpy(whole, s->scope);
		strcat(whole, name);
		type_try(s, die, whole);
	}
	inside_walk(s, die, name, depth);
}

/* A type without its own name has that of the typedef: typedef struct { ... } session; */
static void typedef_note(struct search *s, Dwarf_Die *die, const char *name)
{
	char whole[TYPE_NAME_MAX];
	Dwarf_Die type;

	if (!name || strlen(s->scope) + strlen(name) >= sizeof(whole) ||
	    !type_of(s->dw, die, &type) || !is_compound(s->dw->dwarf_tag(&type)) ||
	    s->dw->dwarf_diename(&type))
		return;
	strcpy(whole, s->scope);
	strcat(whole, name);
	type_try(s, &type, whole);
}

static void walk(struct search *s, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;

	if (depth > DEPTH_MAX || s->dw->dwarf_child(parent, &die) != 0)
		return;
	do {
		const char *name = s->dw->dwarf_diename(&die);
		int tag = s->dw->dwarf_tag(&die);

		s->seen++;
		if (is_over(s)) {
			s->is_ambiguous = true;
			return;
		}
		if (is_compound(tag))
			compound_note(s, &die, name, depth);
		else if (tag == DW_TAG_typedef)
			typedef_note(s, &die, name);
		else if (tag == DW_TAG_namespace || tag == DW_TAG_subprogram ||
			 tag == DW_TAG_lexical_block)
			inside_walk(s, &die, tag == DW_TAG_namespace ? name : NULL, depth);
	} while (s->dw->dwarf_siblingof(&die, &die) == 0);
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

/* A variable of that name and size among a unit's or a namespace's. */
static bool variable_find(struct search *s, Dwarf_Die *parent, const char *wanted, int depth)
{
	Dwarf_Die die, type;

	if (depth > DEPTH_MAX || s->dw->dwarf_child(parent, &die) != 0)
		return false;
	do {
		const char *name = s->dw->dwarf_diename(&die);
		int tag = s->dw->dwarf_tag(&die);

		s->seen++;
		if (is_over(s))
			return false;
		if (tag == DW_TAG_namespace && variable_find(s, &die, wanted, depth + 1))
			return true;
		if (tag == DW_TAG_variable && name && strcmp(name, wanted) == 0 &&
		    type_of(s->dw, &die, &type) && size_of(s, type, 0) == s->wanted->size &&
		    member_at(s, type, s->wanted->offset, s->path, 0))
			return true;
		*s->path = '\0';
	} while (s->dw->dwarf_siblingof(&die, &die) == 0);
	return false;
}

static uint64_t spent_ns;

/* False = too much time was spent already. */
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
	bool is_found = false;
	Dwfl_Module *module = NULL;
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;

	if (search_begin(&s, file, began))
		module = hp_symbol_file_module(file);
	while (module && !is_found && !is_over(&s) &&
	       (unit = s.dw->dwfl_module_nextcu(module, unit, &bias)))
		is_found = variable_find(&s, unit, name, 0);
	spent_ns += cpu_ns() - began;
	path_end(s.path);
	return is_found && *s.path ? hp_xprintf("%s%s%s", name, *s.path == '[' ? "" : ".", s.path)
				   : NULL;
}

char *hp_member_name(struct hp_symbol_file *file, const struct hp_member_wanted *wanted)
{
	uint64_t address = wanted->address, began = cpu_ns();
	struct search s = { .dw = hp_dwarf_load(), .wanted = wanted };
	Dwarf_Die *unit = NULL;

	if (search_begin(&s, file, began))
		unit = hp_symbol_file_unit(file, &address);
	if (!unit)
		return NULL;
	walk(&s, unit, 0);
	spent_ns += cpu_ns() - began;
	return text_of(&s);
}
