/* SPDX-License-Identifier: MIT */
/*
 * binary.c - see binary.h.
 */
#include "report/elf/binary.h"

#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"

/* The functions of libdw and libelf that we need, loaded by name. */
#define DW_LIST(X) \
	X(dwfl_begin) \
	X(dwfl_end) \
	X(dwfl_report_offline) \
	X(dwfl_report_end) \
	X(dwfl_module_info) \
	X(dwfl_module_getelf) \
	X(dwfl_module_getsymtab) \
	X(dwfl_module_getsym_info) \
	X(dwfl_module_nextcu) \
	X(dwfl_build_id_find_elf) \
	X(dwfl_standard_find_debuginfo) \
	X(dwfl_offline_section_address)

#define ELF_LIST(X) \
	X(elf_nextscn) \
	X(elf_getdata) \
	X(elf_getshdrstrndx) \
	X(elf_strptr) \
	X(gelf_getshdr) \
	X(gelf_getdyn)

struct dw {
	bool is_loaded;	/* was tried */
	bool is_there;
#define X(name) __typeof__(name) *name;
	DW_LIST(X)
	ELF_LIST(X)
#undef X
	Dwfl_Callbacks callbacks;
};

/* Conclusions from a symbol's or needed library's name. */
enum side { SIDE_ANY, SIDE_DEFINED, SIDE_NEEDED };

struct mark {
	const char *start;	/* of the name */
	enum side side;
	const char *allocator;
	const char *sanitizer;
	const char *language;
};

/* The first of several sanitizers: every clang runtime has the handlers of `undefined`. */
static const struct mark marks[] = {
	{ "mallctl", SIDE_DEFINED, "jemalloc", NULL, NULL },
	{ "je_mallctl", SIDE_DEFINED, "jemalloc", NULL, NULL },
	{ "libjemalloc.", SIDE_NEEDED, "jemalloc", NULL, NULL },
	{ "tc_malloc", SIDE_DEFINED, "tcmalloc", NULL, NULL },
	{ "TCMallocInternalMalloc", SIDE_DEFINED, "tcmalloc", NULL, NULL },
	{ "libtcmalloc", SIDE_NEEDED, "tcmalloc", NULL, NULL },
	{ "mi_malloc", SIDE_DEFINED, "mimalloc", NULL, NULL },
	{ "libmimalloc", SIDE_NEEDED, "mimalloc", NULL, NULL },
	{ "rpmalloc", SIDE_DEFINED, "rpmalloc", NULL, NULL },
	{ "__asan_init", SIDE_ANY, NULL, "address", NULL },
	{ "__hwasan_init", SIDE_ANY, NULL, "hwaddress", NULL },
	{ "__tsan_init", SIDE_ANY, NULL, "thread", NULL },
	{ "__msan_init", SIDE_ANY, NULL, "memory", NULL },
	{ "__lsan_init", SIDE_ANY, NULL, "leak", NULL },
	{ "liblsan.", SIDE_NEEDED, NULL, "leak", NULL },
	{ "__ubsan_handle_", SIDE_ANY, NULL, "undefined", NULL },
	{ "rust_eh_personality", SIDE_DEFINED, NULL, NULL, "Rust" },
	{ "__rust_alloc", SIDE_DEFINED, NULL, NULL, "Rust" },
};

static struct dw dw;

static bool load(void)
{
	if (dw.is_loaded)
		return dw.is_there;
	dw.is_loaded = true;
	unsetenv("DEBUGINFOD_URLS");	/* never wait for a server */
	void *libdw = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
	void *libelf = dlopen("libelf.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!libdw || !libelf)
		return false;
#define X(name) \
	*(void **)&dw.name = dlsym(libdw, #name); \
	if (!dw.name) \
		return false;
	DW_LIST(X)
#undef X
#define X(name) \
	*(void **)&dw.name = dlsym(libelf, #name); \
	if (!dw.name) \
		return false;
	ELF_LIST(X)
#undef X
	dw.callbacks = (Dwfl_Callbacks){
		.find_elf = dw.dwfl_build_id_find_elf,
		.find_debuginfo = dw.dwfl_standard_find_debuginfo,
		.section_address = dw.dwfl_offline_section_address,
	};
	return dw.is_there = true;
}

/* --- names --- */

static void name_add(struct hp_binary *binary, const char *name, enum side side)
{
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const struct mark *mark = &marks[i];

		if (name[0] != mark->start[0] || (mark->side != SIDE_ANY && mark->side != side) ||
		    strncmp(name, mark->start, strlen(mark->start)) != 0)
			continue;
		binary->allocator = mark->allocator ? mark->allocator : binary->allocator;
		if (mark->sanitizer && (!binary->sanitizer || i < binary->sanitizer_rank)) {
			binary->sanitizer = mark->sanitizer;
			binary->sanitizer_rank = i;
		}
		binary->language = mark->language ? mark->language : binary->language;
	}
}

/* Versions (@GLIBC_2.2.5) do not count. */
static bool is_named(const char *name, const char *wanted)
{
	size_t length = strlen(wanted);

	return strncmp(name, wanted, length) == 0 && (name[length] == '\0' || name[length] == '@');
}

static void symbol_add(struct hp_binary *binary, const GElf_Sym *symbol, const char *name)
{
	int type = GELF_ST_TYPE(symbol->st_info);
	bool is_defined = symbol->st_shndx != SHN_UNDEF && symbol->st_value != 0;

	binary->functions += is_defined && (type == STT_FUNC || type == STT_GNU_IFUNC);
	if (is_named(name, "__cyg_profile_func_enter")) {
		binary->calls_hooks |= !is_defined;
		binary->has_own_hooks |= is_defined;
	} else if (is_defined && type == STT_FUNC && is_named(name, "malloc") &&
		   GELF_ST_BIND(symbol->st_info) != STB_LOCAL) {
		binary->has_own_malloc = true;
	}
	name_add(binary, name, is_defined ? SIDE_DEFINED : SIDE_ANY);
}

/* --- sections --- */

static void needed_add(struct hp_binary *binary, Elf *elf, Elf_Scn *section, size_t names)
{
	Elf_Data *data = dw.elf_getdata(section, NULL);
	GElf_Dyn entry;

	for (int i = 0; data && dw.gelf_getdyn(data, i, &entry); i++) {
		const char *name = entry.d_tag == DT_NEEDED
					   ? dw.elf_strptr(elf, names, entry.d_un.d_val)
					   : NULL;

		if (name)
			name_add(binary, name, SIDE_NEEDED);
	}
}

/* rustc leaves its name in .comment, even without symbols. */
static bool mentions(Elf_Scn *section, const char *text)
{
	Elf_Data *data = dw.elf_getdata(section, NULL);

	return data && data->d_buf && memmem(data->d_buf, data->d_size, text, strlen(text));
}

static void sections_read(struct hp_binary *binary, Elf *elf)
{
	size_t names;

	if (dw.elf_getshdrstrndx(elf, &names) != 0)
		return;
	for (Elf_Scn *section = NULL; (section = dw.elf_nextscn(elf, section));) {
		GElf_Shdr header;
		const char *name = dw.gelf_getshdr(section, &header)
					   ? dw.elf_strptr(elf, names, header.sh_name)
					   : NULL;

		if (!name)
			continue;
		binary->has_symtab |= header.sh_type == SHT_SYMTAB;
		if (header.sh_type == SHT_DYNAMIC)
			needed_add(binary, elf, section, header.sh_link);
		else if (strcmp(name, ".note.hotpath") == 0)
			binary->has_header = true;
		else if (strcmp(name, ".note.go.buildid") == 0 ||
			 strcmp(name, ".go.buildinfo") == 0)
			binary->language = "Go";
		else if (strcmp(name, ".comment") == 0 && mentions(section, "rustc version"))
			binary->language = "Rust";
	}
}

/* --- the file --- */

static void symbols_read(struct hp_binary *binary, Dwfl_Module *module)
{
	int count = dw.dwfl_module_getsymtab(module);

	for (int i = 0; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		const char *name =
			dw.dwfl_module_getsym_info(module, i, &symbol, &address, NULL, NULL, NULL);

		if (name)
			symbol_add(binary, &symbol, name);
	}
}

static void module_read(struct hp_binary *binary, Dwfl_Module *module)
{
	const char *main_file = NULL, *debug_file = NULL;
	Dwarf_Addr bias;
	GElf_Addr elf_bias;
	Elf *elf = dw.dwfl_module_getelf(module, &elf_bias);

	if (!elf) {
		binary->fault = "cannot be read";
		return;
	}
	sections_read(binary, elf);
	symbols_read(binary, module);
	binary->has_debug = dw.dwfl_module_nextcu(module, NULL, &bias) != NULL;
	dw.dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, &main_file, &debug_file);
	if (!debug_file || !debug_file[0] || (main_file && strcmp(main_file, debug_file) == 0))
		return;
	if (binary->has_debug)
		binary->separate = hp_xstrdup(debug_file);
	binary->has_symtab = true;
}

void hp_binary_init(struct hp_binary *binary, const char *path)
{
	*binary = (struct hp_binary){ .fault = NULL };
	if (!load()) {
		binary->fault = "libdw.so.1 is missing";
		return;
	}
	Dwfl *dwfl = dw.dwfl_begin(&dw.callbacks);
	Dwfl_Module *module = dwfl ? dw.dwfl_report_offline(dwfl, path, path, -1) : NULL;
	if (module) {
		dw.dwfl_report_end(dwfl, NULL, NULL);
		module_read(binary, module);
	} else {
		binary->fault = "is not an ELF file that libdw can read";
	}
	if (dwfl)
		dw.dwfl_end(dwfl);
}

void hp_binary_release(struct hp_binary *binary)
{
	free(binary->separate);
	*binary = (struct hp_binary){ .fault = NULL };
}
