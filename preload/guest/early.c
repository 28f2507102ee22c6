/* SPDX-License-Identifier: MIT */
/*
 * early.c - see early.h.
 *
 * Nothing here may call out of this library, or read a pointer that the loader
 * must relocate.
 */
#include "preload/guest/early.h"

#if HP_HAS_EARLY

#include <elf.h>
#include <link.h>
#include <stddef.h>

#include "preload/guest/above.h"
#include "preload/guest/dynamic.h"
#include "preload/guest/guest.h"

#define HP_AUXV_MAX 65536	/* most words from a resolver's frame up to the vector */
#define HP_TLS_FILLED UINT64_C(0x64656c6c69662d68)

struct hp_early_offsets hp_early_offsets;

/* Signs that our relocations are done, and that thread-local storage is initialised. */
static uintptr_t is_relocated;
static void *volatile const relocated = &is_relocated;
static __thread volatile uint64_t filled = HP_TLS_FILLED;

HP_COLD bool hp_early_lasts(void)
{
	const struct hp_recorder *const *each = hp_above.recorders;

	/* In this order: the second check depends on the first. */
	if (relocated != &is_relocated || filled != HP_TLS_FILLED)
		return true;
	while (*each)
		each++;
	/* The first one last: readers check its offset. */
	while (each-- > hp_above.recorders)
		if ((*each)->find)
			(*each)->find();
	return false;
}

/*
 * The auxiliary vector.  The loader runs on the first stack, whose top the kernel filled: above
 * our frame come the loader's, the arguments, the environment, and the vector with these entries in
 * this order (create_elf_tables in fs/binfmt_elf.c).
 */
static const ElfW(auxv_t) * program_headers(void)
{
	const uintptr_t *word = __builtin_frame_address(0);

	for (uintptr_t i = 0; i < HP_AUXV_MAX; i++, word++)
		if (word[0] == AT_PHDR && word[2] == AT_PHENT && word[3] == sizeof(ElfW(Phdr)) &&
		    word[4] == AT_PHNUM)
			return (const ElfW(auxv_t) *)word;
	return NULL;
}

/*
 * The loaded objects: the loader publishes them in the executable, for
 * debuggers, before it relocates.
 */
static const struct link_map *objects(void)
{
	const ElfW(auxv_t) *vector = program_headers();
	const ElfW(Phdr) * headers, *dynamic = NULL;
	uintptr_t bias = 0;

	if (!vector)
		return NULL;
	headers = (const ElfW(Phdr) *)vector[0].a_un.a_val;
	for (uintptr_t i = 0; i < vector[2].a_un.a_val; i++) {
		if (headers[i].p_type == PT_PHDR)
			bias = (uintptr_t)headers - headers[i].p_vaddr;
		if (headers[i].p_type == PT_DYNAMIC)
			dynamic = &headers[i];
	}
	if (!dynamic)
		return NULL;
	for (const ElfW(Dyn) *d = (const ElfW(Dyn) *)(bias + dynamic->p_vaddr); d->d_tag; d++)
		if (d->d_tag == DT_DEBUG && d->d_un.d_ptr)
			return ((const struct r_debug *)d->d_un.d_ptr)->r_map;
	return NULL;
}

struct tables {
	uintptr_t bias;
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *hash;	/* DT_GNU_HASH */
	const ElfW(Half) * versions;
};

/* The loader relocates these, but not in read-only memory. */
static const void *at(const struct link_map *object, uintptr_t value)
{
	return (const void *)(value < object->l_addr ? object->l_addr + value : value);
}

static struct tables tables_of(const struct link_map *object)
{
	struct tables tables = { .bias = object->l_addr };

	for (const ElfW(Dyn) *d = object->l_ld; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			tables.symbols = at(object, d->d_un.d_ptr);
		if (d->d_tag == DT_STRTAB)
			tables.strings = at(object, d->d_un.d_ptr);
		if (d->d_tag == DT_GNU_HASH)
			tables.hash = at(object, d->d_un.d_ptr);
		if (d->d_tag == DT_VERSYM)
			tables.versions = at(object, d->d_un.d_ptr);
	}
	return tables;
}

static bool is_equal(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* Bit 15 hides a version from unversioned lookups: an old one. */
static bool is_wanted(const struct tables *tables, uint32_t n, const char *name, bool is_old)
{
	const ElfW(Sym) *symbol = &tables->symbols[n];
	bool is_hidden = tables->versions && tables->versions[n] >> 15;

	return symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
	       is_hidden == is_old && is_equal(tables->strings + symbol->st_name, name);
}

/* Like hp_dynamic_function, which describes the table. */
static void *function_in(const struct tables *tables, const char *name, bool is_old)
{
	const uint32_t *header = tables->hash, *buckets, *chain;
	uint32_t hash, n;

	if (!header || !tables->symbols || !tables->strings || !header[0])
		return NULL;
	hash = hp_dynamic_hash(name);
	buckets = (const uint32_t *)((const ElfW(Addr) *)(header + 4) + header[2]);
	chain = buckets + header[0];
	n = buckets[hash % header[0]];
	if (n < header[1])
		return NULL;
	for (;; n++) {
		uint32_t found = chain[n - header[1]];

		if ((found | 1) == (hash | 1) && is_wanted(tables, n, name, is_old))
			return (void *)(tables->bias + tables->symbols[n].st_value);
		if (found & 1)
			return NULL;
	}
}

/* Our own dynamic section; by its symbol the compiler would go through a table. */
static const void *own_section(void)
{
	const void *section;

	__asm__("lea _DYNAMIC(%%rip), %0" : "=r"(section));
	return section;
}

HP_COLD void *hp_early_find(const char *name, bool is_old)
{
	static const struct link_map *behind;
	const struct link_map *object = behind ? behind : objects();
	struct tables tables;
	void *found = NULL;

	/* Only objects after ours. */
	while (!behind && object && object->l_ld != own_section())
		object = object->l_next;
	if (!behind && object)
		behind = object = object->l_next;
	for (; object && !found; object = object->l_next) {
		tables = tables_of(object);
		found = function_in(&tables, name, is_old);
	}
	return found;
}

#endif
