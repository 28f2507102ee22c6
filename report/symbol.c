/* SPDX-License-Identifier: MIT */
/*
 * symbol.c - symbol and line tables, read by elfutils' libdw.
 *
 * libdwfl finds .symtab, .dynsym, .gnu_debugdata and separate debug files (by
 * build-id or .gnu_debuglink).  Its own look-up by address walks the whole
 * table each time, so the functions of an object are copied once into an array
 * sorted by address.
 *
 * A file that is not the one that was running (another build-id; without one,
 * another inode or a later change) gives wrong names: then none are taken from it.
 */
#include "report/symbol.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <gelf.h>
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/dwarf.h"
#include "report/format.h"
#include "report/frame.h"
#include "report/legend.h"
#include "report/map.h"
#include "report/memory.h"
#include "segment/layout.h"

struct symbol {
	uint64_t address;	/* of the file */
	uint64_t size;
	const char *name;	/* as in the file */
	int rank;	/* of several at one address the lowest is shown */
};

/* A range of a compilation unit's code, in the addresses of the debug information. */
struct range {
	uint64_t low;
	uint64_t high;
	Dwarf_Die *unit;
};

struct object {
	bool is_open;	/* was tried */
	bool is_searched;	/* the same beside a legend */
	const char *fault;
	Dwfl *dwfl;
	Dwfl_Module *module;
	uint64_t bias;	/* libdwfl's address = address of the file + bias */
	struct symbol *symbols;
	size_t count;
	struct symbol *data;	/* variables */
	size_t data_count;
	bool has_ranges;	/* was tried */
	struct range *ranges;	/* by address */
	size_t range_count;
	size_t range_room;
	Dwarf_Addr range_bias;	/* libdwfl's address = address of the debug information + this */
};

struct hp_symbols {
	const struct hp_model *model;
	const struct hp_legend *legend;	/* NULL = names are in the files */
	struct object *objects;	/* beside model->objects */
	char **names;	/* beside model->functions; NULL = not asked for yet */
	bool is_loaded;	/* was tried */
	bool has_libdw;
	struct hp_dwarf dw;
	Dwfl_Callbacks callbacks;
	struct hp_symbol_spot **spots;
	size_t spot_count;
	size_t spot_room;
	struct hp_map same_spots;	/* what it is -> place */
};

struct hp_symbols *hp_symbols_new(const struct hp_model *model, const struct hp_legend *legend)
{
	struct hp_symbols *symbols = hp_xcalloc(1, sizeof(*symbols));

	symbols->model = model;
	symbols->legend = legend;
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
	for (size_t i = 0; i < symbols->model->object_count; i++) {
		free(symbols->objects[i].symbols);
		free(symbols->objects[i].data);
		free(symbols->objects[i].ranges);
		if (symbols->objects[i].dwfl)
			symbols->dw.dwfl_end(symbols->objects[i].dwfl);
	}
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

/* A report must not wait for a server that knows debug files. */
static bool load_libdw(struct hp_symbols *symbols)
{
	void *handle;

	if (symbols->is_loaded)
		return symbols->has_libdw;
	symbols->is_loaded = true;
	unsetenv("DEBUGINFOD_URLS");
	handle = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return false;
#define X(name) \
	*(void **)&symbols->dw.name = dlsym(handle, #name); \
	if (!symbols->dw.name) \
		return false;
	HP_DWARF_LIST(X)
#undef X
	symbols->callbacks = (Dwfl_Callbacks){
		.find_elf = symbols->dw.dwfl_build_id_find_elf,
		.find_debuginfo = symbols->dw.dwfl_standard_find_debuginfo,
		.section_address = symbols->dw.dwfl_offline_section_address,
	};
	return symbols->has_libdw = true;
}

/* --- objects --- */

static const char *check_build_id(const struct hp_symbols *symbols, Dwfl_Module *module,
				  const struct hp_model_object *recorded)
{
	const unsigned char *id;
	GElf_Addr where;
	int size = symbols->dw.dwfl_module_build_id(module, &id, &where);

	if (size == (int)recorded->build_id_size &&
	    memcmp(id, recorded->build_id, (size_t)size) == 0)
		return NULL;
	return "is not the file that was running";
}

static const char *check_inode(const struct hp_symbols *symbols,
			       const struct hp_model_object *recorded)
{
	int64_t start_ns = symbols->model->reader.header.created_unix_ns;
	struct stat now;

	if (stat(recorded->path, &now) < 0)
		return "cannot be read";
	if (recorded->inode && recorded->inode != now.st_ino)
		return "is not the file that was running";
	if (start_ns > 0 && now.st_mtim.tv_sec > start_ns / 1000000000)
		return "was changed after the start";
	return NULL;
}

static const char *open_dwfl(struct hp_symbols *symbols, const struct hp_model_object *recorded,
			     struct object *object)
{
	const char *fault;

	if (recorded->kind != HP_OBJECT_ELF || !recorded->path[0])
		return "is no file";
	if (!load_libdw(symbols))
		return "needs libdw.so.1, package libdw1";
	object->dwfl = symbols->dw.dwfl_begin(&symbols->callbacks);
	if (!object->dwfl)
		return "cannot be read";
	object->module =
		symbols->dw.dwfl_report_offline(object->dwfl, recorded->path, recorded->path, -1);
	symbols->dw.dwfl_report_end(object->dwfl, NULL, NULL);
	if (!object->module || !symbols->dw.dwfl_module_getelf(object->module, &object->bias))
		return "cannot be read";
	fault = recorded->build_id_size ? check_build_id(symbols, object->module, recorded)
					: check_inode(symbols, recorded);
	if (fault)
		object->module = NULL;
	return fault;
}

static int compare_symbols(const void *left, const void *right)
{
	const struct symbol *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Global before weak before local; fewer leading underscores; shorter. */
static int rank_of(const GElf_Sym *symbol, const char *name)
{
	int binding = GELF_ST_BIND(symbol->st_info);
	int rank = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
	size_t underscores = strncmp(name, "_Z", 2) == 0 ? 0 : strspn(name, "_");

	return rank << 20 | (int)(underscores & 15) << 16 | (int)(strlen(name) & 0xffff);
}

static void read_symbols(struct hp_symbols *symbols, struct object *object)
{
	int count = symbols->dw.dwfl_module_getsymtab(object->module);

	if (count <= 0)
		return;
	object->symbols = hp_xcalloc((size_t)count, sizeof(*object->symbols));
	object->data = hp_xcalloc((size_t)count, sizeof(*object->data));
	for (int i = 0; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		const char *name = symbols->dw.dwfl_module_getsym_info(object->module, i, &symbol,
								       &address, NULL, NULL, NULL);
		int type = name ? GELF_ST_TYPE(symbol.st_info) : STT_NOTYPE;

		bool is_data = type == STT_OBJECT;
		struct symbol *to = is_data ? &object->data[object->data_count]
					    : &object->symbols[object->count];

		if (!name || !name[0] || !symbol.st_value ||
		    (type != STT_FUNC && type != STT_GNU_IFUNC && !is_data))
			continue;
		*to = (struct symbol){
			.address = address - object->bias,
			.size = symbol.st_size,
			.name = name,
			.rank = rank_of(&symbol, name),
		};
		is_data ? object->data_count++ : object->count++;
	}
	if (object->data_count)
		qsort(object->data, object->data_count, sizeof(*object->data), compare_symbols);
	qsort(object->symbols, object->count, sizeof(*object->symbols), compare_symbols);
}

static struct object *object_at(struct hp_symbols *symbols, uint32_t place)
{
	struct object *object;

	if (place >= symbols->model->object_count)
		return NULL;
	object = &symbols->objects[place];
	if (object->is_open)
		return object;
	object->is_open = true;
	if (symbols->legend) {
		object->fault = hp_legend_fault(symbols->legend, place);
		return object;
	}
	object->fault = open_dwfl(symbols, &symbols->model->objects[place], object);
	if (object->module)
		read_symbols(symbols, object);
	return object;
}

/* The first symbol at the highest address that is not above `address`. */
static const struct symbol *symbol_in(const struct symbol *list, size_t count, uint64_t address)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return NULL;
	address = list[--low].address;
	while (low > 0 && list[low - 1].address == address)
		low--;
	return &list[low];
}

static const struct symbol *symbol_at(const struct object *object, uint64_t address)
{
	return symbol_in(object->symbols, object->count, address);
}

/* --- names --- */

/* Versions of symbols (@VERSION) are no part of a function's name. */
static char *demangled(const char *name)
{
	size_t size = strcspn(name, "@");
	char *plain = hp_xmalloc(size + 1);
	char *readable = NULL;

	memcpy(plain, name, size);
	plain[size] = 0;
	if (plain[0] == '_')
		readable = cplus_demangle(plain, DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
	if (!readable)
		return plain;
	free(plain);
	return readable;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static char *unknown_name(const struct hp_symbols *symbols, const struct hp_model_function *f)
{
	const struct hp_model_object *object;

	if (f->object == HP_NONE && f->address == 0)
		return hp_xstrdup("<other>");
	if (f->object == HP_NONE)
		return hp_xprintf("0x%llx", (unsigned long long)f->address);
	object = &symbols->model->objects[f->object];
	return hp_xprintf("%s+0x%llx", object->path[0] ? base_name(object->path) : "?",
			  (unsigned long long)f->address);
}

static const struct hp_legend_entry *entry_of(const struct hp_symbols *symbols,
					      const struct hp_model_function *f)
{
	return symbols->legend ? hp_legend_find(symbols->legend, f->object, f->address) : NULL;
}

/* The symbol that `f` is, or lies in. */
static const struct symbol *symbol_of(struct hp_symbols *symbols, const struct hp_model_function *f)
{
	struct object *object = object_at(symbols, f->object);
	const struct symbol *symbol = object ? symbol_at(object, f->address) : NULL;
	bool is_in = symbol &&
		     (f->address == symbol->address || f->address - symbol->address < symbol->size);

	return is_in ? symbol : NULL;
}

/* As the file says; NULL = it does not. */
static char *symbol_name(struct hp_symbols *symbols, const struct hp_model_function *f)
{
	const struct symbol *symbol = symbol_of(symbols, f);
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
	const struct symbol *symbol = object ? symbol_at(object, address) : NULL;
	const struct hp_legend_entry *entry =
		symbols->legend ? hp_legend_find(symbols->legend, object_place, address) : NULL;

	if (entry)
		return entry->is_main && strcmp(name, "main") == 0;
	for (; symbol && symbol < object->symbols + object->count; symbol++) {
		if (symbol->address != address)
			return false;
		if (strcmp(symbol->name, name) == 0)
			return true;
	}
	return false;
}

/* --- places --- */

static int compare_ranges(const void *left, const void *right)
{
	const struct range *a = left, *b = right;

	return a->low < b->low ? -1 : a->low > b->low;
}

static void read_ranges(struct hp_symbols *symbols, struct object *object)
{
	Dwarf_Die *unit = NULL;
	Dwarf_Addr base, low, high, bias;

	object->has_ranges = true;
	while ((unit = symbols->dw.dwfl_module_nextcu(object->module, unit, &bias))) {
		ptrdiff_t at = 0;

		object->range_bias = bias;
		while ((at = symbols->dw.dwarf_ranges(unit, at, &base, &low, &high)) > 0) {
			object->ranges = hp_xgrow(object->ranges, object->range_count,
						  &object->range_room, sizeof(*object->ranges));
			object->ranges[object->range_count++] = (struct range){ low, high, unit };
		}
	}
	if (object->range_count)
		qsort(object->ranges, object->range_count, sizeof(*object->ranges), compare_ranges);
}

/*
 * The compilation unit of the file's `address`, which then is the one that its
 * debug information has.  libdw finds it by .debug_aranges; clang writes none.
 */
static Dwarf_Die *unit_at(struct hp_symbols *symbols, struct object *object, uint64_t *address)
{
	uint64_t wanted = *address + object->bias;
	Dwarf_Addr bias;
	Dwarf_Die *unit = symbols->dw.dwfl_module_addrdie(object->module, wanted, &bias);
	size_t low = 0;

	if (unit) {
		*address = wanted - bias;
		return unit;
	}
	if (!object->has_ranges)
		read_ranges(symbols, object);
	*address = wanted -= object->range_bias;
	for (size_t high = object->range_count; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (object->ranges[middle].low <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && wanted < object->ranges[low - 1].high ? object->ranges[low - 1].unit
								: NULL;
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
	if (!object || !object->module)
		return false;
	Dwarf_Die *unit = unit_at(symbols, object, &address);
	Dwarf_Line *line = unit ? symbols->dw.dwarf_getsrc_die(unit, address) : NULL;
	if (!line)
		return false;
	*source = (struct hp_source){ .file = symbols->dw.dwarf_linesrc(line, NULL, NULL) };
	symbols->dw.dwarf_lineno(line, &source->line);
	symbols->dw.dwarf_linecol(line, &source->column);
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
	if (!object || !object->module)
		return NULL;
	Dwarf_Die *unit = unit_at(symbols, object, &address);
	if (!unit || !symbols->dw.dwarf_attr(unit, DW_AT_producer, &attribute))
		return NULL;
	return symbols->dw.dwarf_formstring(&attribute);
}

const char *hp_symbols_fault(const struct hp_symbols *symbols, uint32_t object)
{
	return object < symbols->model->object_count ? symbols->objects[object].fault : NULL;
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
	open_dwfl(symbols, &symbols->model->objects[place], object);
	if (object->module)
		read_symbols(symbols, object);
	return object;
}

const char *hp_symbols_near(struct hp_symbols *symbols, uint32_t place, uint64_t address,
			    uint64_t *start)
{
	struct object *object = object_beside_legend(symbols, place);
	const struct symbol *symbol = object ? symbol_at(object, address) : NULL;
	const struct symbol *end = symbol ? object->symbols + object->count : NULL;

	/* Of several at one address the first is the best name, but may have no size. */
	for (const struct symbol *s = symbol; s && s < end && s->address == symbol->address; s++)
		if (address == s->address || address - s->address < s->size) {
			*start = symbol->address;
			return symbol->name;
		}
	return NULL;
}

char *hp_symbols_readable(const char *name)
{
	char *plain = demangled(name);
	char *clean = hp_text_clean(plain);

	free(plain);
	return clean;
}

Dwarf_Die *hp_symbols_unit(struct hp_symbols *symbols, uint32_t place, uint64_t *address)
{
	struct object *object = object_at(symbols, place);

	return object && object->module ? unit_at(symbols, object, address) : NULL;
}

const struct hp_dwarf *hp_symbols_dwarf(const struct hp_symbols *symbols)
{
	return &symbols->dw;
}

/* --- spots --- */

static char *spot_name(struct hp_symbols *symbols, const struct object *object,
		       const struct hp_symbol_spot *spot)
{
	const struct symbol *symbol = NULL;
	struct hp_model_function plain = { .object = spot->object, .address = spot->address };
	uint64_t beyond;
	char *name, *whole;

	if (object)
		symbol = spot->is_data ? symbol_in(object->data, object->data_count, spot->address)
				       : symbol_at(object, spot->address);
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
	if (!spot->is_data && object && object->module)
		spot_source(symbols, spot);
}

const struct hp_symbol_spot *hp_symbols_spot(struct hp_symbols *symbols, uint32_t object,
					     uint64_t address, bool is_data)
{
	uint64_t key = (address * UINT64_C(0x9E3779B97F4A7C15) ^ object << 1 ^ is_data) | 1;
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
