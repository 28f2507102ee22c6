/* SPDX-License-Identifier: MIT */
/*
 * dynamic.c - see dynamic.h.
 */
#include "preload/guest/dynamic.h"

#include <elf.h>
#include <string.h>

/* The loader relocates most of these addresses, but not in read-only objects. */
static const void *at(const struct hp_dynamic *object, ElfW(Addr) value)
{
	return (const void *)(value < object->bias ? object->bias + value : value);
}

static void read_section(struct hp_dynamic *object)
{
	ElfW(Xword) name = 0;

	for (const ElfW(Dyn) *d = object->section; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			object->symbols = at(object, d->d_un.d_ptr);
		else if (d->d_tag == DT_STRTAB)
			object->strings = at(object, d->d_un.d_ptr);
		else if (d->d_tag == DT_GNU_HASH)
			object->hash = at(object, d->d_un.d_ptr);
		else if (d->d_tag == DT_VERSYM)
			object->versions = at(object, d->d_un.d_ptr);
		else if (d->d_tag == DT_SONAME)
			name = d->d_un.d_val;
	}
	if (name && object->strings)
		object->name = object->strings + name;
}

struct hp_dynamic hp_dynamic_read(const struct dl_phdr_info *info)
{
	struct hp_dynamic object = { .begin = UINTPTR_MAX,
				     .bias = info->dlpi_addr,
				     .file = info->dlpi_name ? info->dlpi_name : "",
				     .name = "" };

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + p->p_vaddr, end = begin + p->p_memsz;

		if (p->p_type == PT_DYNAMIC)
			object.section = (const ElfW(Dyn) *)begin;
		if (p->p_type != PT_LOAD)
			continue;
		object.begin = begin < object.begin ? begin : object.begin;
		object.end = end > object.end ? end : object.end;
	}
	if (object.section)
		read_section(&object);
	return object;
}

struct lookup {
	uintptr_t address;
	struct hp_dynamic object;
};

static int look_for(struct dl_phdr_info *info, size_t size, void *data)
{
	struct lookup *lookup = data;
	struct hp_dynamic object = hp_dynamic_read(info);

	(void)size;
	if (!hp_dynamic_holds(&object, lookup->address))
		return 0;
	lookup->object = object;
	return 1;
}

struct hp_dynamic hp_dynamic_at(uintptr_t address)
{
	struct lookup lookup = { .address = address };

	dl_iterate_phdr(look_for, &lookup);
	return lookup.object;
}

/* The Bloom filter has two bits per name; it rules out most objects. */
static bool may_define(const uint32_t *header, uint32_t hash)
{
	const ElfW(Addr) *filter = (const ElfW(Addr) *)(header + 4);
	const uint32_t bits = sizeof(*filter) * 8;
	ElfW(Addr) word = filter[(hash / bits) & (header[2] - 1)];

	return (word >> (hash % bits) & 1) && (word >> ((hash >> header[3]) % bits) & 1);
}

static bool is_function(const ElfW(Sym) * symbol)
{
	return symbol->st_shndx != SHN_UNDEF && symbol->st_value &&
	       ELF64_ST_TYPE(symbol->st_info) == STT_FUNC;
}

/* Bit 15 hides a version from callers without one: an old one. */
static bool is_default(const struct hp_dynamic *object, uint32_t n)
{
	return object->symbols[n].st_shndx != SHN_UNDEF &&
	       !(object->versions && object->versions[n] >> 15);
}

static bool is_called(const struct hp_dynamic *object, uint32_t n, const char *name)
{
	return strcmp(object->strings + object->symbols[n].st_name, name) == 0;
}

/*
 * The table: four words (number of buckets, first symbol in it, words of the filter, its shift), the filter,
 * buckets with the number of their first symbol, and a hash for each symbol whose lowest bit ends the bucket.
 */
static const ElfW(Sym) * symbol_find(const struct hp_dynamic *object, const char *name,
				     uint32_t hash, bool functions)
{
	const uint32_t *header = object->hash, *buckets, *chain;
	uint32_t n;

	if (!header || !object->symbols || !object->strings || !header[0] ||
	    !may_define(header, hash))
		return NULL;
	buckets = (const uint32_t *)((const ElfW(Addr) *)(header + 4) + header[2]);
	chain = buckets + header[0];
	n = buckets[hash % header[0]];
	if (n < header[1])
		return NULL;
	for (;; n++) {
		uint32_t found = chain[n - header[1]];

		if ((found | 1) == (hash | 1) &&
		    (functions ? is_function(&object->symbols[n]) : is_default(object, n)) &&
		    is_called(object, n, name))
			return &object->symbols[n];
		if (found & 1)
			return NULL;
	}
}

uintptr_t hp_dynamic_function(const struct hp_dynamic *object, const char *name)
{
	const ElfW(Sym) *symbol = symbol_find(object, name, hp_dynamic_hash(name), true);

	return symbol ? object->bias + symbol->st_value : 0;
}

const ElfW(Sym) *
	hp_dynamic_symbol(const struct hp_dynamic *object, const char *name, uint32_t hash)
{
	return symbol_find(object, name, hash, false);
}

/* Where the last bucket's chain ends. */
uint32_t hp_dynamic_end(const struct hp_dynamic *object)
{
	const uint32_t *header = object->hash, *buckets, *chain;
	uint32_t last = 0;

	if (!header || !object->symbols || !object->strings)
		return 0;
	buckets = (const uint32_t *)((const ElfW(Addr) *)(header + 4) + header[2]);
	chain = buckets + header[0];
	for (uint32_t i = 0; i < header[0]; i++)
		last = buckets[i] > last ? buckets[i] : last;
	if (last < header[1])
		return 0;
	while (!(chain[last - header[1]] & 1))
		last++;
	return last + 1;
}

const char *hp_dynamic_name(const struct hp_dynamic *object, uint32_t n)
{
	return is_function(&object->symbols[n]) ? object->strings + object->symbols[n].st_name
						: NULL;
}

const char *hp_dynamic_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool hp_dynamic_is(const struct hp_dynamic *object, const char *needed)
{
	return strcmp(object->name, needed) == 0 || strcmp(object->file, needed) == 0 ||
	       strcmp(hp_dynamic_base(object->file), hp_dynamic_base(needed)) == 0;
}
