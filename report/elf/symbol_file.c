/* SPDX-License-Identifier: MIT */
/*
 * symbol_file.c - see symbol_file.h; files are read by elfutils' libdw->
 *
 * libdwfl finds .symtab, .dynsym, .gnu_debugdata and separate debug files (by
 * build-id or .gnu_debuglink).  Its own look-up by address walks the whole
 * table each time, so the functions of an object are copied once into an array
 * sorted by address.
 */
#include "report/elf/symbol_file.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/memory.h"
#include "report/elf/symbol_plt.h"
#include "segment/layout/process.h"

static const char *left_why;	/* no file is read; NULL = they are */

/* --- opening --- */

static const char *check_build_id(Dwfl_Module *module, const struct hp_model_object *recorded)
{
	const struct hp_dwarf *dw = hp_dwarf_load();
	const unsigned char *id;
	GElf_Addr where;
	int size = dw->dwfl_module_build_id(module, &id, &where);

	if (size == (int)recorded->build_id_size &&
	    memcmp(id, recorded->build_id, (size_t)size) == 0)
		return NULL;
	return "is not the file that was running";
}

static const char *check_inode(const struct hp_model_object *recorded, int64_t created_unix_ns)
{
	struct stat now;

	if (stat(recorded->path, &now) < 0)
		return "cannot be read";
	if (recorded->inode && recorded->inode != now.st_ino)
		return "is not the file that was running";
	if (created_unix_ns > 0 && now.st_mtim.tv_sec > created_unix_ns / 1000000000)
		return "was changed after the start";
	return NULL;
}

/* What stands there by now may be a pipe: whoever opens that waits. */
static int open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;

	if (fd >= 0 && (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

static const char *open_dwfl(struct hp_symbol_file *file, const struct hp_model_object *recorded,
			     int64_t created_unix_ns)
{
	const struct hp_dwarf *dw;
	const char *fault;

	if (recorded->kind != HP_OBJECT_ELF || !recorded->path[0])
		return "is no file";
	if (left_why)
		return left_why;
	/* Loading libdw may take for ever, too: not before files are asked for. */
	dw = hp_dwarf_load();
	if (!dw)
		return "needs libdw.so.1, package libdw1";
	file->dwfl = dw->dwfl_begin(&dw->callbacks);
	if (!file->dwfl)
		return "cannot be read";
	int fd = open_regular(recorded->path);
	if (fd < 0)
		return "cannot be read";
	/* The descriptor is libdwfl's from now on, if it takes the file. */
	file->module = dw->dwfl_report_offline(file->dwfl, recorded->path, recorded->path, fd);
	if (!file->module)
		close(fd);
	dw->dwfl_report_end(file->dwfl, NULL, NULL);
	file->elf = file->module ? dw->dwfl_module_getelf(file->module, &file->bias) : NULL;
	if (!file->elf)
		return "cannot be read";
	fault = recorded->build_id_size ? check_build_id(file->module, recorded)
					: check_inode(recorded, created_unix_ns);
	if (fault)
		file->module = NULL;
	return fault;
}

static int compare_symbols(const void *left, const void *right)
{
	const struct hp_symbol *a = left, *b = right;

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

static void read_symbols(struct hp_symbol_file *file)
{
	const struct hp_dwarf *dw = hp_dwarf_load();
	int count = dw->dwfl_module_getsymtab(file->module);

	if (count <= 0)
		return;
	file->symbols = hp_xcalloc((size_t)count, sizeof(*file->symbols));
	file->data = hp_xcalloc((size_t)count, sizeof(*file->data));
	for (int i = 0; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		const char *name = dw->dwfl_module_getsym_info(file->module, i, &symbol, &address,
							       NULL, NULL, NULL);
		int type = name ? GELF_ST_TYPE(symbol.st_info) : STT_NOTYPE;

		bool is_data = type == STT_OBJECT;
		struct hp_symbol *to =
			is_data ? &file->data[file->data_count] : &file->symbols[file->count];

		if (!name || !name[0] || !symbol.st_value ||
		    (type != STT_FUNC && type != STT_GNU_IFUNC && !is_data))
			continue;
		*to = (struct hp_symbol){
			.address = address - file->bias,
			.size = symbol.st_size,
			.name = name,
			.rank = rank_of(&symbol, name),
		};
		is_data ? file->data_count++ : file->count++;
	}
	if (file->data_count)
		qsort(file->data, file->data_count, sizeof(*file->data), compare_symbols);
	qsort(file->symbols, file->count, sizeof(*file->symbols), compare_symbols);
}

void hp_symbol_files_leave(const char *why)
{
	left_why = why;
}

void hp_symbol_file_read(struct hp_symbol_file *file, const struct hp_model_object *recorded,
			 int64_t created_unix_ns)
{
	file->fault = open_dwfl(file, recorded, created_unix_ns);
	if (!file->module)
		return;
	read_symbols(file);
	file->stubs = hp_symbol_plt_read(file, file->elf, &file->stub_count);
}

void hp_symbol_file_release(struct hp_symbol_file *file)
{
	free(file->symbols);
	free(file->data);
	for (size_t i = 0; i < file->stub_count; i++)
		free((char *)file->stubs[i].name);
	free(file->stubs);
	free(file->ranges);
	if (file->dwfl)
		hp_dwarf_load()->dwfl_end(file->dwfl);
	*file = (struct hp_symbol_file){ .fault = NULL };
}

/* --- debug information --- */

static int compare_ranges(const void *left, const void *right)
{
	const struct hp_unit_range *a = left, *b = right;

	return a->low < b->low ? -1 : a->low > b->low;
}

static void read_ranges(struct hp_symbol_file *file)
{
	const struct hp_dwarf *dw = hp_dwarf_load();
	Dwarf_Die *unit = NULL;
	Dwarf_Addr base, low, high, bias;

	file->has_ranges = true;
	while ((unit = dw->dwfl_module_nextcu(file->module, unit, &bias))) {
		ptrdiff_t at = 0;

		file->range_bias = bias;
		while ((at = dw->dwarf_ranges(unit, at, &base, &low, &high)) > 0) {
			file->ranges = hp_xgrow(file->ranges, file->range_count, &file->range_room,
						sizeof(*file->ranges));
			file->ranges[file->range_count++] =
				(struct hp_unit_range){ low, high, unit };
		}
	}
	if (file->range_count)
		qsort(file->ranges, file->range_count, sizeof(*file->ranges), compare_ranges);
}

/* libdw finds units by .debug_aranges; clang writes none. */
Dwarf_Die *hp_symbol_file_unit(struct hp_symbol_file *file, uint64_t *address)
{
	const struct hp_dwarf *dw = hp_dwarf_load();
	uint64_t wanted = *address + file->bias;
	Dwarf_Addr bias;
	Dwarf_Die *unit = dw->dwfl_module_addrdie(file->module, wanted, &bias);
	size_t low = 0;

	if (unit) {
		*address = wanted - bias;
		return unit;
	}
	if (!file->has_ranges)
		read_ranges(file);
	*address = wanted -= file->range_bias;
	for (size_t high = file->range_count; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (file->ranges[middle].low <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && wanted < file->ranges[low - 1].high ? file->ranges[low - 1].unit : NULL;
}
