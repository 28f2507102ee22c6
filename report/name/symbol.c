/* SPDX-License-Identifier: MIT */
/*
 * symbol.c - see symbol.h.
 */
#include "report/name/symbol.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/behalf.h"
#include "report/base/format.h"
#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/elf/demangle.h"
#include "report/name/name.h"
#include "report/name/source.h"
#include "report/elf/member.h"
#include "report/elf/symbol_file.h"
#include "segment/layout/process.h"
#include "util/hash.h"

struct hp_symbols {
	const struct hp_model *model;
	struct hp_name_source *source;
	const char **faults;	/* beside model->objects */
	char **names;	/* parallel to model->functions; NULL = not looked up yet */
	struct hp_symbol_spot **spots;
	size_t spot_count;
	size_t spot_room;
	struct hp_map same_spots;	/* key -> place */
	struct member *members;	/* answers, as many locks are the same member of a type */
	size_t member_count;
	size_t member_room;
	struct hp_map same_members;	/* key -> place */
};

/* Which member is at an offset in the blocks that are allocated at a place. */
struct member {
	uint32_t object;
	uint64_t address;
	const char *type;	/* the caller's: compared by address */
	uint64_t size;
	uint64_t offset;
	char *name;	/* NULL = not known */
};

struct hp_symbols *hp_symbols_new(const struct hp_model *model, struct hp_name_source *source)
{
	struct hp_symbols *symbols = hp_xcalloc(1, sizeof(*symbols));

	symbols->model = model;
	symbols->source = source;
	symbols->faults = hp_xcalloc(model->object_count, sizeof(*symbols->faults));
	symbols->names = hp_xcalloc(model->function_count, sizeof(*symbols->names));
	return symbols;
}

void hp_symbols_free(struct hp_symbols *symbols)
{
	if (!symbols)
		return;
	symbols->source->kind->free(symbols->source);
	for (size_t i = 0; i < symbols->model->function_count; i++)
		free(symbols->names[i]);
	for (size_t i = 0; i < symbols->spot_count; i++) {
		free(symbols->spots[i]->name);
		free(symbols->spots[i]->file);
		free(symbols->spots[i]);
	}
	free(symbols->spots);
	for (size_t i = 0; i < symbols->member_count; i++)
		free(symbols->members[i].name);
	free(symbols->members);
	hp_map_release(&symbols->same_members);
	hp_map_release(&symbols->same_spots);
	free(symbols->faults);
	free(symbols->names);
	free(symbols);
}

void hp_symbols_expect(struct hp_symbols *symbols)
{
	if (symbols->source->kind->expect)
		symbols->source->kind->expect(symbols->source);
}

/* --- the source --- */

static struct hp_symbol_file *file_asked(struct hp_symbols *symbols, uint32_t object, bool is_any)
{
	const struct hp_name_source_kind *kind = symbols->source->kind;
	struct hp_symbol_file *file;

	if (object >= symbols->model->object_count)
		return NULL;
	file = kind->file(symbols->source, object, is_any);
	symbols->faults[object] = kind->fault(symbols->source, object);
	return file;
}

static struct hp_symbol_file *file_at(struct hp_symbols *symbols, uint32_t object)
{
	return file_asked(symbols, object, false);
}

static const struct hp_symbol *symbol_at(const struct hp_symbol_file *file, uint64_t address)
{
	return file ? hp_symbol_at(file, address) : NULL;
}

static const struct hp_noted *noted_at(const struct hp_symbols *symbols, uint32_t object,
				       uint64_t address)
{
	const struct hp_name_source_kind *kind = symbols->source->kind;

	return kind->find ? kind->find(symbols->source, object, address) : NULL;
}

static const struct hp_noted *noted_spot(const struct hp_symbols *symbols,
					 const struct hp_symbol_spot *spot)
{
	const struct hp_name_source_kind *kind = symbols->source->kind;

	return kind->spot ? kind->spot(symbols->source, spot->object, spot->address, spot->is_data)
			  : NULL;
}

/* NULL = unknown, or not yet; else at least one line. */
static const struct hp_debug *debug_at(struct hp_symbols *symbols, uint32_t object,
				       uint64_t address, enum hp_debug_want want)
{
	const struct hp_debug *debug =
		object < symbols->model->object_count
			? symbols->source->kind->debug(symbols->source, object, address, want)
			: NULL;

	return debug && debug->count ? debug : NULL;
}

uint64_t hp_symbols_missing(const struct hp_symbols *symbols)
{
	const struct hp_name_source_kind *kind = symbols->source->kind;

	return kind->missing ? kind->missing(symbols->source) : 0;
}

bool hp_symbols_is_lasting(const struct hp_symbols *symbols)
{
	return symbols->source->kind->is_lasting;
}

const struct hp_places *hp_symbols_places(const struct hp_symbols *symbols, enum hp_places_of of)
{
	const struct hp_name_source_kind *kind = symbols->source->kind;

	return kind->places ? kind->places(symbols->source, of) : NULL;
}

/* --- names --- */

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

static const struct hp_noted *noted_of(const struct hp_symbols *symbols,
				       const struct hp_model_function *f)
{
	return noted_at(symbols, f->object, f->address);
}

/* The symbol that `f` is, or is in. */
static const struct hp_symbol *symbol_of(struct hp_symbols *symbols,
					 const struct hp_model_function *f)
{
	const struct hp_symbol *symbol = symbol_at(file_at(symbols, f->object), f->address);
	bool is_in = symbol &&
		     (f->address == symbol->address || f->address - symbol->address < symbol->size);

	return is_in ? symbol : NULL;
}

/* As in the file; NULL = not there. */
static char *symbol_name(struct hp_symbols *symbols, const struct hp_model_function *f)
{
	const struct hp_symbol *symbol = symbol_of(symbols, f);
	char *name, *whole;

	if (!symbol)
		return NULL;
	name = hp_name_demangled(symbol->name);
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

bool hp_label_is_of(const struct hp_model_label *label, const char *name)
{
	size_t size;
	char *last;
	bool is_same;

	if (label->kind == HP_LABEL_BLOCK)
		return true;
	if (!name || !label->function)
		return true;
	/* __func__ is the last part, without template arguments, parameters and .part.0 */
	size = strlen(label->function);
	last = hp_name_short(name, 1);
	is_same = strncmp(last, label->function, size) == 0 && strchr("(<[.", last[size]);
	free(last);
	return is_same;
}

/* A block has no symbol, and a function's source name may differ from its symbol. */
static char *name_of(struct hp_symbols *symbols, const struct hp_model_function *f)
{
	const struct hp_noted *noted = noted_of(symbols, f);
	char *name;

	if (is_block(f))
		return hp_xstrdup(f->label->text);
	if (noted)
		return hp_xstrdup(noted->name);
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

	return !is_block(f) && (noted_of(symbols, f) || symbol_of(symbols, f));
}

bool hp_symbols_is(struct hp_symbols *symbols, uint32_t object, uint64_t address, const char *name)
{
	const struct hp_symbol_file *file = file_at(symbols, object);
	const struct hp_symbol *symbol = symbol_at(file, address);
	const struct hp_noted *noted = noted_at(symbols, object, address);

	if (noted)
		return noted->is_main && strcmp(name, "main") == 0;
	for (; symbol && symbol < file->symbols + file->count; symbol++) {
		if (symbol->address != address)
			return false;
		if (strcmp(symbol->name, name) == 0)
			return true;
	}
	return false;
}

/* --- places --- */

bool hp_symbols_source(struct hp_symbols *symbols, uint32_t function, struct hp_source *source)
{
	const struct hp_model_function *f = &symbols->model->functions[function];
	const struct hp_noted *noted = noted_of(symbols, f);
	const struct hp_debug *debug;

	file_at(symbols, f->object);
	if (is_block(f)) {
		*source = (struct hp_source){ .file = f->label->file, .line = (int)f->label->line };
		return source->file != NULL;
	}
	if (noted) {
		*source = (struct hp_source){ noted->file, noted->line, noted->column };
		return *noted->file != 0;
	}
	debug = debug_at(symbols, f->object, f->address, HP_WANT_SOURCE);
	if (!debug)
		return false;
	*source =
		(struct hp_source){ debug->lines->file, debug->lines->line, debug->lines->column };
	return true;
}

const char *hp_symbols_producer(struct hp_symbols *symbols, uint32_t function)
{
	const struct hp_model_function *f = &symbols->model->functions[function];
	const struct hp_noted *noted = noted_of(symbols, f);
	const struct hp_debug *debug;

	file_at(symbols, f->object);
	if (noted)
		return *noted->producer ? noted->producer : NULL;
	debug = debug_at(symbols, f->object, f->address, HP_WANT_PRODUCER);
	return debug ? debug->lines->name : NULL;
}

const char *hp_symbols_fault(const struct hp_symbols *symbols, uint32_t object)
{
	return object < symbols->model->object_count ? symbols->faults[object] : NULL;
}

void hp_symbols_blame(struct hp_symbols *symbols, uint32_t object, const char *fault)
{
	if (object < symbols->model->object_count)
		symbols->faults[object] = fault;
}

/* --- by address --- */

const char *hp_symbols_near(struct hp_symbols *symbols, uint32_t object, uint64_t address,
			    uint64_t *start)
{
	const struct hp_symbol_file *file = file_asked(symbols, object, true);
	const struct hp_symbol *symbol = symbol_at(file, address);
	const struct hp_symbol *end = symbol ? file->symbols + file->count : NULL;

	/* The first of several at one address is the best name, but may have no size. */
	for (const struct hp_symbol *s = symbol; s && s < end && s->address == symbol->address; s++)
		if (address == s->address || address - s->address < s->size) {
			*start = symbol->address;
			return symbol->name;
		}
	symbol = file ? hp_symbol_stub_at(file, address) : NULL;
	if (!symbol)
		return NULL;
	*start = symbol->address;
	return symbol->name;
}

size_t hp_symbols_lines(struct hp_symbols *symbols, uint32_t object, uint64_t address,
			struct hp_frame_line *lines, size_t most)
{
	const struct hp_debug *debug = debug_at(symbols, object, address, HP_WANT_LINES);
	size_t count = debug ? debug->count : 0;

	count = count < most ? count : most;
	for (size_t i = 0; i < count; i++)
		lines[i] = (struct hp_frame_line){
			.name = debug->lines[i].name ? hp_xstrdup(debug->lines[i].name) : NULL,
			.file = debug->lines[i].file ? hp_xstrdup(debug->lines[i].file) : NULL,
			.line = debug->lines[i].line,
		};
	return count;
}

const struct hp_debug *hp_symbols_inlines(struct hp_symbols *symbols, uint32_t object,
					  uint64_t address)
{
	return debug_at(symbols, object, address, HP_WANT_INLINES);
}

/* --- members --- */

static char *member_find(struct hp_symbols *symbols, const struct member *member)
{
	struct hp_frame_line lines[HP_FRAMES_MAX];
	const char *names[HP_FRAMES_MAX];
	struct hp_member_wanted wanted = {
		.address = member->address,
		.type = member->type,
		.size = member->size,
		.offset = member->offset,
		.functions = names,
	};
	uint32_t object = member->object;
	struct hp_symbol_file *file = file_asked(symbols, object, true);
	char *name = NULL;
	size_t count;

	if (!file)
		return NULL;
	count = hp_symbols_lines(symbols, object, member->address, lines, HP_FRAMES_MAX);
	for (size_t i = 0; i < count; i++)
		if (lines[i].name)
			names[wanted.function_count++] = lines[i].name;
	struct hp_user before = hp_behalf_begin(symbols->model->objects[object].user);
	name = hp_member_name(file, &wanted);
	hp_behalf_end(before);
	for (size_t i = 0; i < count; i++) {
		free(lines[i].name);
		free(lines[i].file);
	}
	return name;
}

static bool is_same_member(const struct member *a, const struct member *b)
{
	return a->object == b->object && a->address == b->address && a->type == b->type &&
	       a->size == b->size && a->offset == b->offset;
}

static const struct member *member_of(struct hp_symbols *symbols, struct member *wanted)
{
	uint64_t key = hp_hash_add(hp_hash_add(wanted->address ^ wanted->object, wanted->size),
				   wanted->offset) |
		       1;
	uint32_t *place;
	bool is_new;

	for (;; key += 2) {
		place = hp_map_at(&symbols->same_members, key, &is_new);
		if (is_new)
			break;
		if (is_same_member(&symbols->members[*place], wanted))
			return &symbols->members[*place];
	}
	*place = (uint32_t)symbols->member_count;
	wanted->name = member_find(symbols, wanted);
	symbols->members = hp_xgrow(symbols->members, symbols->member_count, &symbols->member_room,
				    sizeof(*symbols->members));
	symbols->members[symbols->member_count] = *wanted;
	return &symbols->members[symbols->member_count++];
}

char *hp_symbols_member(struct hp_symbols *symbols, uint32_t object, uint64_t address,
			const char *type, uint64_t size, uint64_t offset)
{
	struct member wanted = { object, address, type, size, offset, NULL };
	const char *name;

	/* If a background thread reads debug information, nobody else may. */
	if (!size || symbols->source->kind->missing)
		return NULL;
	name = member_of(symbols, &wanted)->name;
	return name ? hp_xstrdup(name) : NULL;
}

char *hp_symbols_variable_member(struct hp_symbols *symbols, uint32_t object, uint64_t address,
				 const char *type)
{
	const struct hp_symbol *symbol;
	struct hp_symbol_file *file;
	struct hp_member_wanted wanted = { .type = type };
	const char *last;
	char *whole, *name, *text;

	if (symbols->source->kind->missing)
		return NULL;
	file = file_asked(symbols, object, true);
	symbol = file ? hp_symbol_data_at(file, address) : NULL;
	if (!symbol || address - symbol->address >= symbol->size)
		return NULL;
	wanted.size = symbol->size;
	wanted.offset = address - symbol->address;
	whole = hp_name_demangled(symbol->name);
	last = strrchr(whole, ':');
	last = last ? last + 1 : whole;
	struct hp_user before = hp_behalf_begin(symbols->model->objects[object].user);
	name = hp_member_of_variable(file, last, &wanted);
	hp_behalf_end(before);
	text = name ? hp_xprintf("%.*s%s", (int)(last - whole), whole, name) : NULL;
	free(name);
	free(whole);
	return text;
}

/* --- spots --- */

static char *spot_name(struct hp_symbols *symbols, const struct hp_symbol_file *file,
		       const struct hp_symbol_spot *spot)
{
	const struct hp_symbol *symbol = NULL;
	struct hp_model_function plain = { .object = spot->object, .address = spot->address };
	uint64_t beyond;
	char *name, *whole;

	if (file)
		symbol = spot->is_data ? hp_symbol_data_at(file, spot->address)
				       : hp_symbol_at(file, spot->address);
	beyond = symbol ? spot->address - symbol->address : 0;
	if (!symbol || (beyond && beyond >= symbol->size))
		return unknown_name(symbols, &plain);
	name = hp_name_demangled(symbol->name);
	/* For code the line is more informative than the offset. */
	if (!beyond || !spot->is_data)
		return name;
	whole = hp_xprintf("%s+0x%llx", name, (unsigned long long)beyond);
	free(name);
	return whole;
}

/* Lines of std::mutex and the like do not help: use the first line of the program's own code. */
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
	struct hp_frame_line lines[HP_FRAMES_MAX];
	size_t count = hp_symbols_lines(symbols, spot->object, spot->address, lines, HP_FRAMES_MAX);
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
	const struct hp_symbol_file *file = file_at(symbols, spot->object);
	const struct hp_noted *noted = noted_spot(symbols, spot);
	char *raw;

	if (noted) {
		spot->name = hp_text_clean(noted->name);
		spot->file = *noted->file ? hp_text_clean(noted->file) : NULL;
		spot->line = noted->line;
		spot->column = noted->column;
		return;
	}
	raw = spot_name(symbols, file, spot);
	spot->name = hp_text_clean(raw);
	free(raw);
	if (!spot->is_data && file && file->has_debug)
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

/* The last two parts of a path. */
static const char *short_path(const char *path)
{
	const char *slash = strrchr(path, '/');

	while (slash && slash > path && slash[-1] != '/')
		slash--;
	return slash && slash > path ? slash : path;
}

char *hp_spot_text(const struct hp_symbol_spot *spot)
{
	if (!spot)
		return hp_xstrdup("<other>");
	if (spot->file)
		return hp_xprintf("%s:%d", short_path(spot->file), spot->line);
	return hp_xstrdup(spot->name);
}
