/* SPDX-License-Identifier: MIT */
/*
 * visible.c - see visible.h.
 */
#include "preload/guest/visible.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/guest/dynamic.h"
#include "preload/guest/guest.h"

#if defined(__x86_64__)
#define SLOT R_X86_64_GLOB_DAT
#define SLOT_OF_CALL R_X86_64_JUMP_SLOT
#define SLOT_OF_DATA R_X86_64_64
#else
#define SLOT R_AARCH64_GLOB_DAT
#define SLOT_OF_CALL R_AARCH64_JUMP_SLOT
#define SLOT_OF_DATA R_AARCH64_ABS64
#endif

/* The loader passes over a hidden version of at least this number, if a reference has none. */
#define VERSION_HIDDEN 0x8000
#define VERSION_LEAST 3

struct library {
	const char *prefix;	/* of its functions' names */
	bool only_with_callbacks;
};

/* The first that fits. */
static const struct library libraries[] = {
	{ "uv_", true },	{ "g_thread_pool_", true }, { "g_", false },
	{ "io_uring_", false }, { "__io_uring_", false },   { "_Unwind_", false },
};

static const struct library *library_of(const char *name)
{
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		if (strncmp(name, libraries[i].prefix, strlen(libraries[i].prefix)) == 0)
			return &libraries[i];
	return NULL;
}

struct search {
	struct hp_dynamic ours;
	ElfW(Half) * versions;	/* of our symbols; NULL = none, or in pages with code */
	const char *name;
	bool is_found;
	bool looks_up;	/* an object may look names up later */
};

/* --- pages --- */

static uintptr_t page_begin(uintptr_t address)
{
	return address & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
}

static bool pages_allow(uintptr_t begin, uintptr_t end, int access)
{
	begin = page_begin(begin);
	return mprotect((void *)begin, end - begin, access) == 0;
}

/* The pages that the loader has made read-only after it wrote them. */
static bool is_sealed(const struct dl_phdr_info *info, uintptr_t address)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_GNU_RELRO)
			return address >= page_begin(begin) &&
			       address < page_begin(begin + p->p_memsz);
	}
	return false;
}

/* --- weak references --- */

static int look_for_name(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	struct hp_dynamic object = hp_dynamic_read(info);

	(void)size;
	search->is_found =
		object.begin != search->ours.begin && hp_dynamic_function(&object, search->name);
	return search->is_found;
}

static void slot_clear(const struct dl_phdr_info *info, uintptr_t *slot, uintptr_t bound)
{
	uintptr_t at = (uintptr_t)slot;

	if (!is_sealed(info, at)) {
		*slot -= bound;
	} else if (pages_allow(at, at + sizeof(*slot), PROT_READ | PROT_WRITE)) {
		*slot -= bound;
		pages_allow(at, at + sizeof(*slot), PROT_READ);
	}
}

/*
 * The slots of one table of relocations that the loader filled with the symbol's address.  A call that
 * is bound lazily is looked up when it is made.
 */
static void table_clear(const struct dl_phdr_info *info, const ElfW(Rela) * table, size_t bytes,
			uint32_t symbol, uintptr_t bound)
{
	for (size_t i = 0; table && i < bytes / sizeof(*table); i++) {
		uint32_t type = (uint32_t)ELF64_R_TYPE(table[i].r_info);
		uintptr_t *slot = (uintptr_t *)(info->dlpi_addr + table[i].r_offset);

		if (ELF64_R_SYM(table[i].r_info) != symbol)
			continue;
		if ((type == SLOT || type == SLOT_OF_CALL)
			    ? *slot == bound
			    : type == SLOT_OF_DATA && *slot == bound + (uintptr_t)table[i].r_addend)
			slot_clear(info, slot, bound);
	}
}

static const void *address_of(const struct hp_dynamic *object, ElfW(Addr) value)
{
	return (const void *)(value < object->bias ? object->bias + value : value);
}

static void object_clear(const struct dl_phdr_info *info, const struct hp_dynamic *object,
			 uint32_t symbol, uintptr_t bound)
{
	const ElfW(Rela) *data = NULL, *calls = NULL;
	size_t data_bytes = 0, calls_bytes = 0;

	for (const ElfW(Dyn) *d = object->section; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_RELA)
			data = address_of(object, d->d_un.d_ptr);
		else if (d->d_tag == DT_RELASZ)
			data_bytes = d->d_un.d_val;
		else if (d->d_tag == DT_JMPREL)
			calls = address_of(object, d->d_un.d_ptr);
		else if (d->d_tag == DT_PLTRELSZ)
			calls_bytes = d->d_un.d_val;
	}
	table_clear(info, data, data_bytes, symbol, bound);
	table_clear(info, calls, calls_bytes, symbol, bound);
}

/* dlsym and dlvsym, and dlopen, whose objects have references of their own. */
static bool is_lookup(const char *name)
{
	return name[0] == 'd' && name[1] == 'l' &&
	       (strcmp(name, "dlsym") == 0 || strcmp(name, "dlvsym") == 0 ||
		strcmp(name, "dlopen") == 0 || strcmp(name, "dlmopen") == 0);
}

/* Symbols that an object does not define come before those in its hash table. */
static int look_for_weak(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	struct hp_dynamic object = hp_dynamic_read(info);

	(void)size;
	if (!object.section || !object.symbols || !object.strings ||
	    object.begin == search->ours.begin)
		return 0;
	if (!object.hash) {
		search->looks_up = true;
		return 0;
	}
	for (uint32_t i = 1; i < object.hash[1]; i++) {
		const ElfW(Sym) *symbol = &object.symbols[i];
		const char *name = object.strings + symbol->st_name;
		uintptr_t bound;

		search->looks_up |= is_lookup(name);
		if (symbol->st_shndx != SHN_UNDEF || ELF64_ST_BIND(symbol->st_info) != STB_WEAK ||
		    !library_of(name) || !(bound = hp_dynamic_function(&search->ours, name)))
			continue;
		search->name = name;
		dl_iterate_phdr(look_for_name, search);
		if (!search->is_found)
			object_clear(info, &object, i, bound);
	}
	return 0;
}

/* --- our table of symbols --- */

static bool is_in_code(const struct dl_phdr_info *info, uintptr_t address)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && address >= begin && address < begin + p->p_filesz)
			return p->p_flags & PF_X;
	}
	return true;
}

static int look_for_us(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	struct hp_dynamic object = hp_dynamic_read(info);

	(void)size;
	if (!hp_dynamic_holds(&object, (uintptr_t)libraries))
		return 0;
	search->ours = object;
	for (const ElfW(Dyn) *d = object.section; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_VERSYM)
			search->versions =
				(ElfW(Half) *)(uintptr_t)address_of(&object, d->d_un.d_ptr);
	/* Such pages would not be executable while we write. */
	if (is_in_code(info, (uintptr_t)search->versions))
		search->versions = NULL;
	return 1;
}

/*
 * Nobody finds a symbol whose version is hidden without asking for it by that version, which is the C library's.
 * Versions are two bytes each, so they fill a page or two, and the symbols themselves several.  Another thread
 * that looks it up meanwhile finds it, or not.
 */
static void hide(const struct search *search)
{
	uint32_t end = hp_dynamic_end(&search->ours);
	uintptr_t first = (uintptr_t)search->versions, last = first + end * sizeof(ElfW(Half));

	if (!first || !end || !pages_allow(first, last, PROT_READ | PROT_WRITE))
		return;
	for (uint32_t i = search->ours.hash[1]; i < end; i++) {
		const char *name = hp_dynamic_name(&search->ours, i);
		const struct library *library = name ? library_of(name) : NULL;

		if (library && library->only_with_callbacks)
			*(volatile ElfW(Half) *)&search->versions[i] =
				VERSION_HIDDEN | VERSION_LEAST;
	}
	pages_allow(first, last, PROT_READ);
}

void hp_visible_begin(bool exchanges_callbacks)
{
	struct search search = { .name = NULL };
	int saved = errno;

	dl_iterate_phdr(look_for_us, &search);
	if (search.ours.section && search.ours.hash) {
		dl_iterate_phdr(look_for_weak, &search);
		if (search.looks_up && !exchanges_callbacks)
			hide(&search);
	}
	errno = saved;
}
