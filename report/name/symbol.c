/* SPDX-License-Identifier: MIT */
/*
 * symbol.c - see symbol.h.
 *
 * Names and places come from a kept file's legend, else from the program's files,
 * at once or, with a resolver, as soon as its thread has found them.
 */
#include "report/name/symbol.h"

#include <dwarf.h>
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#include "report/name/dwarf.h"
#include "report/base/format.h"
#include "report/name/frame.h"
#include "report/name/inline.h"
#include "report/name/legend.h"
#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/name/name.h"
#include "report/name/resolver.h"
#include "report/name/symbol_file.h"
#include "report/name/symbol_plt.h"
#include "segment/layout/process.h"
#include "util/hash.h"

struct object {
	bool is_open;	/* was tried */
	bool is_searched;	/* the same beside a legend */
	const char *fault;
	struct hp_symbol_file *file;	/* NULL = none, or not read yet */
	struct hp_symbol_file own;	/* `file`, if there is no resolver */
	uint32_t number;	/* at the resolver */
};

struct hp_symbols {
	const struct hp_model *model;
	const struct hp_legend *legend;	/* NULL = names are in the files */
	struct hp_resolver *resolver;	/* NULL = files are read when they are asked for */
	struct object *objects;	/* beside model->objects */
	char **names;	/* beside model->functions; NULL = not asked for yet */
	struct hp_symbol_spot **spots;
	size_t spot_count;
	size_t spot_room;
	struct hp_map same_spots;	/* what it is -> place */
	struct hp_inlines *inlines;	/* NULL = none asked for yet */
};

struct hp_symbols *hp_symbols_new(const struct hp_model *model, const struct hp_legend *legend,
				  struct hp_resolver *resolver)
{
	struct hp_symbols *symbols = hp_xcalloc(1, sizeof(*symbols));

	symbols->model = model;
	symbols->legend = legend;
	symbols->resolver = legend ? NULL : resolver;
	symbols->objects = hp_xcalloc(model->object_count, sizeof(*symbols->objects));
	symbols->names = hp_xcalloc(model->function_count, sizeof(*symbols->names));
	return symbols;
}

const struct hp_legend *hp_symbols_legend(const struct hp_symbols *symbols)
{
	return symbols->legend;
}

void hp_symbols_free(struct hp_symbols *symbols)
{
	if (!symbols)
		return;
	hp_inlines_free(symbols->inlines);
	for (size_t i = 0; i < symbols->model->object_count; i++)
		hp_symbol_file_release(&symbols->objects[i].own);
	for (size_t i = 0; i < symbols->model->function_count; i++)
		free(symbols->names[i]);
	for (size_t i = 0; i < symbols->spot_count; i++) {
		free(symbols->spots[i]->name);
		free(symbols->spots[i]->file);
		free(symbols->spots[i]);
	}
	free(symbols->spots);
	hp_map_release(&symbols->same_spots);
	free(symbols->objects);
	free(symbols->names);
	free(symbols);
}

/* --- objects --- */

static void object_read(struct hp_symbols *symbols, uint32_t place)
{
	struct object *object = &symbols->objects[place];

	hp_symbol_file_read(&object->own, &symbols->model->objects[place],
			    symbols->model->reader.header.created_unix_ns);
	object->file = &object->own;
}

static struct object *object_at(struct hp_symbols *symbols, uint32_t place)
{
	struct object *object;

	if (place >= symbols->model->object_count)
		return NULL;
	object = &symbols->objects[place];
	if (symbols->resolver && !object->file) {
		if (!object->is_open)
			object->number =
				hp_resolver_number(symbols->resolver,
						   &symbols->model->objects[place],
						   symbols->model->reader.header.created_unix_ns);
		object->file = hp_resolver_file(symbols->resolver, object->number);
	} else if (!symbols->resolver && !symbols->legend && !object->is_open) {
		object_read(symbols, place);
	}
	object->is_open = true;
	object->fault = symbols->legend ? hp_legend_fault(symbols->legend, place)
			: object->file	? object->file->fault
					: NULL;
	return object;
}

static const struct hp_symbol *symbol_at(const struct object *object, uint64_t address)
{
	return object && object->file ? hp_symbol_at(object->file, address) : NULL;
}

struct hp_resolver *hp_symbols_resolver(const struct hp_symbols *symbols)
{
	return symbols->resolver;
}

const struct hp_resolved *hp_symbols_resolve(struct hp_symbols *symbols, uint32_t place,
					     uint64_t address, enum hp_resolver_want want)
{
	struct object *object = object_at(symbols, place);

	/* What has no file has nothing that could still be found out. */
	if (!object || symbols->model->objects[place].kind != HP_OBJECT_ELF)
		return NULL;
	return hp_resolver_ask(symbols->resolver, object->number, address, want);
}

/* --- names --- */

/* Versions of symbols (@VERSION) are no part of a function's name; that it is a stub is. */
static char *demangled(const char *name)
{
	char *plain = hp_xprintf("%.*s", (int)strcspn(name, "@"), name);
	char *readable = NULL;

	if (plain[0] == '_')
		readable = cplus_demangle(plain, DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
	if (readable) {
		free(plain);
		plain = hp_name_of_coroutine(readable);
		free(readable);
	}
	if (!hp_symbol_is_plt(name))
		return plain;
	readable = hp_xprintf("%s" HP_SYMBOL_PLT, plain);
	free(plain);
	return readable;
}

static char *unknown_name(const struct hp_symbols *symbols, const struct hp_model_function *f)
{
	const struct hp_model_object *object;

	if (f->object == HP_NONE && f->address == 0)
		return hp_xstrdup("<other>");
	if (f->object == HP_NONE)
		return hp_xprintf("0x%llx", (unsigned long long)f->address);
	object = &symbols->model->objects[f->object];
	return hp_xprintf("%s+0x%llx", object->path[0] ? hp_name_file(object->path) : "?",
			  (unsigned long long)f->address);
}

static const struct hp_legend_entry *entry_of(const struct hp_symbols *symbols,
					      const struct hp_model_function *f)
{
	return symbols->legend ? hp_legend_find(symbols->legend, f->object, f->address) : NULL;
}

/* The symbol that `f` is, or lies in. */
static const struct hp_symbol *symbol_of(struct hp_symbols *symbols,
					 const struct hp_model_function *f)
{
	struct object *object = object_at(symbols, f->object);
	const struct hp_symbol *symbol = symbol_at(object, f->address);
	bool is_in = symbol &&
		     (f->address == symbol->address || f->address - symbol->address < symbol->size);

	return is_in ? symbol : NULL;
}

/* As the file says; NULL = it does not. */
static char *symbol_name(struct hp_symbols *symbols, const struct hp_model_function *f)
{
	const struct hp_symbol *symbol = symbol_of(symbols, f);
	char *name, *whole;

	if (!symbol)
		return NULL;
	name = demangled(symbol->name);
	if (f->address == symbol->address)
		return name;
	whole = hp_xprintf("%s+0x%llx", name, (unsigned long long)(f->address - symbol->address));
	free(name);
	return whole;
}

static bool is_block(const struct hp_model_function *f)
{
	return f->label && f->label->kind == HP_LABEL_BLOCK;
}

/* A block has no symbol, and a function may have another name in the source than in the file. */
static char *name_of(struct hp_symbols *symbols, const struct hp_model_function *f)
{
	const struct hp_legend_entry *entry = entry_of(symbols, f);
	char *name;

	if (is_block(f))
		return hp_xstrdup(f->label->text);
	if (entry)
		return hp_xstrdup(entry->name);
	name = symbol_name(symbols, f);
	if (!f->label || !hp_label_is_of(f->label, name))
		return name ? name : unknown_name(symbols, f);
	free(name);
	return hp_xstrdup(f->label->text);
}

const char *hp_symbols_name(struct hp_symbols *symbols, uint32_t function)
{
	char *raw;

	if (symbols->names[function])
		return symbols->names[function];
	raw = name_of(symbols, &symbols->model->functions[function]);
	symbols->names[function] = hp_text_clean(raw);
	free(raw);
	return symbols->names[function];
}

bool hp_symbols_has_name(struct hp_symbols *symbols, uint32_t function)
{
	const struct hp_model_function *f = &symbols->model->functions[function];

	return !is_block(f) && (entry_of(symbols, f) || symbol_of(symbols, f));
}

bool hp_symbols_is(struct hp_symbols *symbols, uint32_t object_place, uint64_t address,
		   const char *name)
{
	const struct object *object = object_at(symbols, object_place);
	const struct hp_symbol *symbol = symbol_at(object, address);
	const struct hp_legend_entry *entry =
		symbols->legend ? hp_legend_find(symbols->legend, object_place, address) : NULL;

	if (entry)
		return entry->is_main && strcmp(name, "main") == 0;
	for (; symbol && symbol < object->file->symbols + object->file->count; symbol++) {
		if (symbol->address != address)
			return false;
		if (strcmp(symbol->name, name) == 0)
			return true;
	}
	return false;
}

/* --- places --- */

static Dwarf_Die *unit_at(struct object *object, uint64_t *address)
{
	return object && object->file && object->file->module
		       ? hp_symbol_file_unit(object->file, address)
		       : NULL;
}

static bool source_resolved(struct hp_symbols *symbols, const struct hp_model_function *f,
			    struct hp_source *source)
{
	const struct hp_resolved *resolved =
		hp_symbols_resolve(symbols, f->object, f->address, HP_WANT_SOURCE);

	if (!resolved || !resolved->count)
		return false;
	*source = (struct hp_source){ resolved->lines->file, resolved->lines->line,
				      resolved->lines->column };
	return true;
}

bool hp_symbols_source(struct hp_symbols *symbols, uint32_t function, struct hp_source *source)
{
	const struct hp_model_function *f = &symbols->model->functions[function];
	struct object *object = object_at(symbols, f->object);
	const struct hp_legend_entry *entry = entry_of(symbols, f);
	uint64_t address = f->address;

	if (is_block(f)) {
		*source = (struct hp_source){ .file = f->label->file, .line = (int)f->label->line };
		return source->file != NULL;
	}
	if (entry) {
		*source = (struct hp_source){ entry->file, entry->line, entry->column };
		return *entry->file != 0;
	}
	if (symbols->resolver)
		return source_resolved(symbols, f, source);
	Dwarf_Die *unit = unit_at(object, &address);
	Dwarf_Line *line = unit ? hp_dwarf_load()->dwarf_getsrc_die(unit, address) : NULL;
	if (!line)
		return false;
	*source = (struct hp_source){ .file = hp_dwarf_load()->dwarf_linesrc(line, NULL, NULL) };
	hp_dwarf_load()->dwarf_lineno(line, &source->line);
	hp_dwarf_load()->dwarf_linecol(line, &source->column);
	return source->file != NULL;
}

const char *hp_symbols_producer(struct hp_symbols *symbols, uint32_t function)
{
	const struct hp_model_function *f = &symbols->model->functions[function];
	struct object *object = object_at(symbols, f->object);
	const struct hp_legend_entry *entry = entry_of(symbols, f);
	uint64_t address = f->address;
	Dwarf_Attribute attribute;

	if (entry)
		return *entry->producer ? entry->producer : NULL;
	if (symbols->resolver) {
		const struct hp_resolved *resolved =
			hp_symbols_resolve(symbols, f->object, address, HP_WANT_PRODUCER);

		return resolved && resolved->count ? resolved->lines->name : NULL;
	}
	Dwarf_Die *unit = unit_at(object, &address);
	if (!unit || !hp_dwarf_load()->dwarf_attr(unit, DW_AT_producer, &attribute))
		return NULL;
	return hp_dwarf_load()->dwarf_formstring(&attribute);
}

const char *hp_symbols_fault(const struct hp_symbols *symbols, uint32_t object)
{
	return object < symbols->model->object_count ? symbols->objects[object].fault : NULL;
}

void hp_symbols_blame(struct hp_symbols *symbols, uint32_t object, const char *fault)
{
	if (object < symbols->model->object_count)
		symbols->objects[object].fault = fault;
}

/* --- by address --- */

/*
 * A kept file has the names of functions and samples; those of other places are
 * looked for in the program's files, as long as they are the ones that were running.
 */
static struct object *object_beside_legend(struct hp_symbols *symbols, uint32_t place)
{
	struct object *object = object_at(symbols, place);

	if (!object || !symbols->legend || object->is_searched)
		return object;
	object->is_searched = true;
	object_read(symbols, place);
	return object;
}

const char *hp_symbols_near(struct hp_symbols *symbols, uint32_t place, uint64_t address,
			    uint64_t *start)
{
	struct object *object = object_beside_legend(symbols, place);
	const struct hp_symbol *symbol = symbol_at(object, address);
	const struct hp_symbol *end = symbol ? object->file->symbols + object->file->count : NULL;

	/* Of several at one address the first is the best name, but may have no size. */
	for (const struct hp_symbol *s = symbol; s && s < end && s->address == symbol->address; s++)
		if (address == s->address || address - s->address < s->size) {
			*start = symbol->address;
			return symbol->name;
		}
	symbol = object && object->file ? hp_symbol_stub_at(object->file, address) : NULL;
	if (!symbol)
		return NULL;
	*start = symbol->address;
	return symbol->name;
}

char *hp_symbols_readable(const char *name)
{
	char *plain = demangled(name);
	char *clean = hp_text_clean(plain);

	free(plain);
	return clean;
}

struct hp_symbol_file *hp_symbols_file(struct hp_symbols *symbols, uint32_t place)
{
	const struct object *object = object_at(symbols, place);

	return object && object->file && object->file->module ? object->file : NULL;
}

struct hp_inlines *hp_symbols_inlines(struct hp_symbols *symbols)
{
	if (!symbols->inlines)
		symbols->inlines = hp_inlines_new();
	return symbols->inlines;
}

/* --- spots --- */

static char *spot_name(struct hp_symbols *symbols, const struct object *object,
		       const struct hp_symbol_spot *spot)
{
	const struct hp_symbol *symbol = NULL;
	struct hp_model_function plain = { .object = spot->object, .address = spot->address };
	uint64_t beyond;
	char *name, *whole;

	if (object)
		symbol = !spot->is_data ? symbol_at(object, spot->address)
			 : object->file ? hp_symbol_data_at(object->file, spot->address)
					: NULL;
	beyond = symbol ? spot->address - symbol->address : 0;
	if (!symbol || (beyond && beyond >= symbol->size))
		return unknown_name(symbols, &plain);
	name = demangled(symbol->name);
	/* Of code the line says more than the distance. */
	if (!beyond || !spot->is_data)
		return name;
	whole = hp_xprintf("%s+0x%llx", name, (unsigned long long)beyond);
	free(name);
	return whole;
}

/* Lines of std::mutex and the like say nothing: the first one of the program's own does. */
static bool is_of_system(const char *file)
{
	static const char *const parts[] = { "/usr/include/", "/lib/gcc/", "/include/c++/" };

	for (size_t i = 0; file && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(file, parts[i]))
			return true;
	return false;
}

static void spot_source(struct hp_symbols *symbols, struct hp_symbol_spot *spot)
{
	struct hp_frame_line lines[HP_FRAMES_MOST];
	size_t count = hp_frame_lines(symbols, spot->object, spot->address, lines, HP_FRAMES_MOST);
	size_t chosen = 0;

	while (chosen + 1 < count && is_of_system(lines[chosen].file))
		chosen++;
	if (chosen < count && is_of_system(lines[chosen].file))
		chosen = 0;
	for (size_t i = 0; i < count; i++) {
		if (i == chosen && lines[i].file) {
			spot->file = hp_text_clean(lines[i].file);
			spot->line = lines[i].line;
		}
		if (i == chosen && lines[i].name) {
			free(spot->name);
			spot->name = hp_text_clean(lines[i].name);
		}
		free(lines[i].name);
		free(lines[i].file);
	}
}

static void spot_find(struct hp_symbols *symbols, struct hp_symbol_spot *spot)
{
	struct object *object = object_at(symbols, spot->object);
	const struct hp_legend_entry *entry =
		symbols->legend ? hp_legend_spot(symbols->legend, spot->object, spot->address,
						 spot->is_data)
				: NULL;
	char *raw;

	if (entry) {
		spot->name = hp_text_clean(entry->name);
		spot->file = *entry->file ? hp_text_clean(entry->file) : NULL;
		spot->line = entry->line;
		spot->column = entry->column;
		return;
	}
	raw = spot_name(symbols, object, spot);
	spot->name = hp_text_clean(raw);
	free(raw);
	if (!spot->is_data && object && object->file && object->file->module)
		spot_source(symbols, spot);
}

const struct hp_symbol_spot *hp_symbols_spot(struct hp_symbols *symbols, uint32_t object,
					     uint64_t address, bool is_data)
{
	uint64_t key = (address * HP_HASH_GOLDEN ^ object << 1 ^ is_data) | 1;
	struct hp_symbol_spot *spot;
	uint32_t *place;
	bool is_new;

	for (;; key += 2) {
		place = hp_map_at(&symbols->same_spots, key, &is_new);
		if (is_new)
			break;
		spot = symbols->spots[*place];
		if (spot->object == object && spot->address == address && spot->is_data == is_data)
			return spot;
	}
	*place = (uint32_t)symbols->spot_count;
	symbols->spots = hp_xgrow(symbols->spots, symbols->spot_count, &symbols->spot_room,
				  sizeof(*symbols->spots));
	spot = hp_xcalloc(1, sizeof(*spot));
	symbols->spots[symbols->spot_count++] = spot;
	spot->object = object;
	spot->address = address;
	spot->is_data = is_data;
	spot_find(symbols, spot);
	return spot;
}

size_t hp_symbols_spot_count(const struct hp_symbols *symbols)
{
	return symbols->spot_count;
}

const struct hp_symbol_spot *hp_symbols_spot_at(const struct hp_symbols *symbols, size_t i)
{
	return symbols->spots[i];
}
