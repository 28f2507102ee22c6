/* SPDX-License-Identifier: MIT */
/*
 * symbol_file.c - see symbol_file.h.
 *
 * The functions of an object are copied once into an array sorted by address.
 * Files that symbol_table.h cannot read are read by elfutils' libdwfl, which
 * supports .gnu_debugdata and .gnu_debuglink.  It also reads all debug
 * information.
 */
#include "report/elf/symbol_file.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/memory.h"
#include "report/elf/answer.h"
#include "report/elf/elf_file.h"
#include "report/elf/symbol_plt.h"
#include "report/elf/symbol_table.h"
#include "segment/layout/process.h"

static const char *left_why;	/* why no files are read; NULL = they are */

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
		return "has changed since the start";
	return NULL;
}

static const char *check_file(const struct hp_elf *elf, const struct hp_model_object *recorded,
			      int64_t created_unix_ns)
{
	unsigned char id[HP_BUILD_ID_MAX];

	if (!recorded->build_id_size)
		return check_inode(recorded, created_unix_ns);
	return hp_elf_build_id(elf, id) == recorded->build_id_size &&
			       memcmp(id, recorded->build_id, recorded->build_id_size) == 0
		       ? NULL
		       : "is not the file that was running";
}

static const char *open_dwfl(struct hp_symbol_file *file)
{
	const struct hp_model_object *recorded = file->recorded;
	/* Loading libdw may take long, too: only when a file is needed. */
	const struct hp_dwarf *dw = hp_dwarf_load();
	const char *fault;

	if (!dw)
		return "needs libdw.so.1, package libdw1";
	file->dwfl = dw->dwfl_begin(&dw->callbacks);
	if (!file->dwfl)
		return "cannot be read";
	int fd = hp_elf_open(recorded->path);
	if (fd < 0)
		return "cannot be read";
	/* libdwfl owns the descriptor if it accepts the file. */
	file->module = dw->dwfl_report_offline(file->dwfl, recorded->path, recorded->path, fd);
	if (!file->module)
		close(fd);
	dw->dwfl_report_end(file->dwfl, NULL, NULL);
	if (!file->module || !dw->dwfl_module_getelf(file->module, &file->bias)) {
		file->module = NULL;
		return "is not a valid ELF file";
	}
	fault = recorded->build_id_size ? check_build_id(file->module, recorded)
					: check_inode(recorded, file->created_unix_ns);
	if (fault)
		file->module = NULL;
	return fault;
}

Dwfl_Module *hp_symbol_file_module(struct hp_symbol_file *file)
{
	if (file->is_opened || !file->has_debug)
		return file->module;
	file->is_opened = true;
	atomic_store_explicit(&file->debug_fault, open_dwfl(file), memory_order_relaxed);
	return file->module;
}

const char *hp_symbol_file_fault(struct hp_symbol_file *file)
{
	/* Another thread may be opening it, so the text must be a constant. */
	return file->fault ? file->fault
			   : atomic_load_explicit(&file->debug_fault, memory_order_relaxed);
}

/* --- symbols --- */

/* Global before weak before local; fewer leading underscores; shorter. */
static int rank_of(unsigned binding, const char *name)
{
	int rank = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
	size_t underscores = strncmp(name, "_Z", 2) == 0 ? 0 : strspn(name, "_");

	return rank << 20 | (int)(underscores & 15) << 16 | (int)(strlen(name) & 0xffff);
}

static int compare_ranks(const void *left, const void *right)
{
	const struct hp_symbol *a = left, *b = right;
	int x = rank_of((unsigned)a->binding, a->name), y = rank_of((unsigned)b->binding, b->name);

	return x != y ? (x < y ? -1 : 1) : strcmp(a->name, b->name);
}

static int compare_addresses(const void *left, const void *right)
{
	const struct hp_symbol *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

#define DIGIT_BITS 11
#define DIGITS (1 << DIGIT_BITS)
#define RADIX_MIN 256	/* symbols; for fewer qsort is as fast */

/* Of a key: the symbol's distance from the lowest address, above its place in the list. */
#define KEY_SHIFT 32

/* Stable, by one digit of the distance. */
static void sort_digit(const uint64_t *from, uint64_t *to, size_t count, unsigned shift)
{
	size_t starts[DIGITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < count; i++)
		starts[from[i] >> shift & (DIGITS - 1)]++;
	for (size_t i = 0; i < DIGITS; i++) {
		size_t before = sum;

		sum += starts[i];
		starts[i] = before;
	}
	for (size_t i = 0; i < count; i++)
		to[starts[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

/* Moves each symbol to the place of its key, along the cycles of the permutation. */
static void move(struct hp_symbol *symbols, uint64_t *keys, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct hp_symbol first = symbols[i];
		size_t to = i, from;

		while ((from = (uint32_t)keys[to]) != i) {
			symbols[to] = symbols[from];
			keys[to] = to;
			to = from;
		}
		symbols[to] = first;
		keys[to] = to;
	}
}

/*
 * A radix sort: qsort took a tenth of the report of a program with 150,000
 * symbols. Keys are a quarter of the size of symbols, and most of the time
 * went into fresh pages.
 */
static void sort_addresses(struct hp_symbol *symbols, size_t count)
{
	uint64_t low = UINT64_MAX, high = 0, *keys, *from, *to, *swapped;

	for (size_t i = 0; i < count; i++) {
		low = symbols[i].address < low ? symbols[i].address : low;
		high = symbols[i].address > high ? symbols[i].address : high;
	}
	if ((high - low) >> KEY_SHIFT || count >> KEY_SHIFT) {
		qsort(symbols, count, sizeof(*symbols), compare_addresses);
		return;
	}
	keys = from = hp_xmalloc(2 * count * sizeof(*keys));
	to = keys + count;
	for (size_t i = 0; i < count; i++)
		from[i] = (symbols[i].address - low) << KEY_SHIFT | i;
	for (unsigned shift = 0; (high - low) >> shift; shift += DIGIT_BITS) {
		sort_digit(from, to, count, KEY_SHIFT + shift);
		swapped = from, from = to, to = swapped;
	}
	move(symbols, from, count);
	free(keys);
}

/* Several at one address: the best comes first, and if another is longer, all by rank. */
static void sort_alike(struct hp_symbol *symbols, size_t count)
{
	int least = rank_of((unsigned)symbols[0].binding, symbols[0].name);
	uint64_t longest = symbols[0].size;
	size_t best = 0;

	for (size_t i = 1; i < count; i++) {
		int rank = rank_of((unsigned)symbols[i].binding, symbols[i].name);

		longest = symbols[i].size > longest ? symbols[i].size : longest;
		if (rank > least ||
		    (rank == least && strcmp(symbols[i].name, symbols[best].name) >= 0))
			continue;
		best = i;
		least = rank;
	}
	if (longest > symbols[best].size) {
		qsort(symbols, count, sizeof(*symbols), compare_ranks);
	} else if (best) {
		struct hp_symbol first = symbols[0];

		symbols[0] = symbols[best];
		symbols[best] = first;
	}
}

static void sort(struct hp_symbol *symbols, size_t count)
{
	if (count >= RADIX_MIN)
		sort_addresses(symbols, count);
	else if (count)
		qsort(symbols, count, sizeof(*symbols), compare_addresses);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && symbols[end].address == symbols[i].address;)
			end++;
		if (end > i + 1)
			sort_alike(symbols + i, end - i);
	}
}

static void symbols_begin(struct hp_symbol_file *file, size_t count)
{
	file->symbols = hp_xcalloc(count, sizeof(*file->symbols));
	file->data = hp_xcalloc(count, sizeof(*file->data));
}

static void symbol_add(struct hp_symbol_file *file, const Elf64_Sym *symbol, uint64_t address,
		       const char *name)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	struct hp_symbol *to;

	if (!name[0] || !symbol->st_value ||
	    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_OBJECT))
		return;
	to = type == STT_OBJECT ? &file->data[file->data_count++] : &file->symbols[file->count++];
	*to = (struct hp_symbol){
		.address = address,
		.size = symbol->st_size,
		.name = name,
		.binding = ELF64_ST_BIND(symbol->st_info),
	};
}

static void symbols_end(struct hp_symbol_file *file)
{
	sort(file->symbols, file->count);
	sort(file->data, file->data_count);
}

static void read_dwfl_symbols(struct hp_symbol_file *file)
{
	const struct hp_dwarf *dw = hp_dwarf_load();
	int count = dw->dwfl_module_getsymtab(file->module);

	if (count <= 0)
		return;
	symbols_begin(file, (size_t)count);
	for (int i = 0; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		const char *name = dw->dwfl_module_getsym_info(file->module, i, &symbol, &address,
							       NULL, NULL, NULL);

		if (name)
			symbol_add(file, &symbol, address - file->bias, name);
	}
	symbols_end(file);
}

/* True if its value is an address that moves with the file. */
static bool is_placed(const struct hp_elf *elf, const Elf64_Sym *symbol)
{
	if (elf->header.e_type == ET_EXEC)
		return true;
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS ||
	    symbol->st_shndx == SHN_COMMON)
		return false;
	return symbol->st_shndx >= elf->count ||
	       elf->sections[symbol->st_shndx].sh_flags & SHF_ALLOC;
}

/* Takes over the names. */
static void read_table(struct hp_symbol_file *file, const struct hp_elf *elf,
		       struct hp_symbol_table *table)
{
	symbols_begin(file, table->count);
	for (size_t i = 0; i < table->count; i++) {
		Elf64_Sym symbol;

		memcpy(&symbol, table->symbols.bytes + i * sizeof(symbol), sizeof(symbol));
		if (symbol.st_name < table->names_size && is_placed(elf, &symbol))
			symbol_add(file, &symbol, symbol.st_value,
				   table->names.bytes + symbol.st_name);
	}
	symbols_end(file);
	hp_elf_bytes_release(&table->symbols);
	file->names = table->names;
}

static bool is_trusted(const struct stat *status)
{
	return status->st_uid == 0 || status->st_uid == geteuid();
}

/*
 * The answers go into a cache that other runs of ours believe: not those of a
 * file that another user, whose program we report on, may have made up.  A
 * program is soon built again, so only our own library's debug information is
 * cached besides that of debug files: most runs have samples there.
 */
static void open_answers(struct hp_symbol_file *file, const struct hp_elf *elf,
			 struct hp_symbol_table *table)
{
	struct stat status;

	if (fstat(elf->fd, &status) != 0 || !is_trusted(&status))
		return;
	if (!table->id_size && table->has_debug && file->recorded->is_profiler) {
		table->id_size = hp_elf_build_id(elf, table->id);
		table->debug = status;
	}
	if (table->id_size && is_trusted(&table->debug))
		file->answers = hp_answers_open(table->id, table->id_size, &table->debug);
}

/* False = unusual file: elfutils may know more. */
static bool read_elf(struct hp_symbol_file *file, const struct hp_elf *elf)
{
	const struct hp_model_object *recorded = file->recorded;
	struct hp_symbol_table table;

	file->fault = check_file(elf, recorded, file->created_unix_ns);
	if (file->fault)
		return true;
	hp_symbol_table_init(&table, elf, recorded->path);
	file->has_debug = table.has_debug || table.is_unusual || hp_dwarf_has_servers();
	if (table.is_unusual)
		return false;
	read_table(file, elf, &table);
	open_answers(file, elf, &table);
	return true;
}

void hp_symbol_files_leave(const char *why)
{
	left_why = why;
}

static void read_slowly(struct hp_symbol_file *file)
{
	file->has_debug = true;
	if (hp_symbol_file_module(file))
		read_dwfl_symbols(file);
	else
		file->fault = hp_symbol_file_fault(file);
}

/* A descriptor of the file, or -1 and its fault. */
static int open_recorded(struct hp_symbol_file *file, const struct hp_model_object *recorded,
			 int64_t created_unix_ns)
{
	int fd = -1;

	file->recorded = recorded;
	file->created_unix_ns = created_unix_ns;
	if (recorded->kind != HP_OBJECT_ELF || !recorded->path[0])
		file->fault = "is not a file";
	else if (left_why)
		file->fault = left_why;
	else if ((fd = hp_elf_open(recorded->path)) < 0)
		file->fault = "cannot be read";
	return fd;
}

bool hp_symbol_file_elf(struct hp_elf *elf, const struct hp_model_object *recorded,
			int64_t created_unix_ns)
{
	struct hp_symbol_file file;
	int fd = open_recorded(&file, recorded, created_unix_ns);

	*elf = HP_ELF_NONE;
	return fd >= 0 && hp_elf_init(elf, fd) && !check_file(elf, recorded, created_unix_ns);
}

static void stubs_read(struct hp_symbol_file *file, const struct hp_elf *elf)
{
	if (!file->fault)
		file->stubs = hp_symbol_plt_read(file, elf, &file->stub_count);
}

void hp_symbol_file_read(struct hp_symbol_file *file, const struct hp_model_object *recorded,
			 int64_t created_unix_ns)
{
	int fd = open_recorded(file, recorded, created_unix_ns);
	struct hp_elf elf;

	if (fd < 0)
		return;
	if (!hp_elf_init(&elf, fd) || !read_elf(file, &elf))
		read_slowly(file);
	stubs_read(file, &elf);
	hp_elf_release(&elf);
}

void hp_symbol_file_read_slowly(struct hp_symbol_file *file, const struct hp_model_object *recorded,
				int64_t created_unix_ns)
{
	int fd = open_recorded(file, recorded, created_unix_ns);
	struct hp_elf elf;

	if (fd < 0)
		return;
	read_slowly(file);
	hp_elf_init(&elf, fd);
	stubs_read(file, &elf);
	hp_elf_release(&elf);
}

void hp_symbol_file_release(struct hp_symbol_file *file)
{
	free(file->symbols);
	free(file->data);
	for (size_t i = 0; i < file->stub_count; i++)
		free((char *)file->stubs[i].name);
	free(file->stubs);
	free(file->ranges);
	hp_elf_bytes_release(&file->names);
	hp_answers_close(file->answers);
	if (file->members)
		file->members_free(file->members);
	if (file->dwfl)
		hp_dwarf_load()->dwfl_end(file->dwfl);
	memset(file, 0, sizeof(*file));
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
	Dwfl_Module *module = hp_symbol_file_module(file);
	const struct hp_dwarf *dw = module ? hp_dwarf_load() : NULL;
	uint64_t wanted = *address + file->bias;
	Dwarf_Addr bias;
	Dwarf_Die *unit = module ? dw->dwfl_module_addrdie(module, wanted, &bias) : NULL;
	size_t low = 0;

	if (!module)
		return NULL;
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
