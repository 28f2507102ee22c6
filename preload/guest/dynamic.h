/* SPDX-License-Identifier: MIT */
/*
 * dynamic.h - reads a loaded object's dynamic section (System V ABI, chapter 5;
 * DT_GNU_HASH: the loader's own sources).
 *
 * dlsym would give the same results, but takes a loader lock that is held while
 * constructors run; dl_iterate_phdr's is not. Results are only valid inside its
 * callback, unless the object cannot be unloaded meanwhile.
 */
#ifndef HP_PRELOAD_GUEST_DYNAMIC_H
#define HP_PRELOAD_GUEST_DYNAMIC_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct hp_dynamic {
	uintptr_t begin, end;	/* of the object */
	uintptr_t bias;
	const ElfW(Dyn) * section;	/* NULL = it has none */
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *hash;	/* DT_GNU_HASH */
	const ElfW(Half) * versions;	/* DT_VERSYM; NULL = it has none */
	const char *file;	/* as the loader names it; "" = the executable */
	const char *name;	/* DT_SONAME; "" = it has none */
};

/* The hash of a name in DT_GNU_HASH. */
static inline uint32_t hp_dynamic_hash(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

struct hp_dynamic hp_dynamic_read(const struct dl_phdr_info *info);

/* The address of its function with this name; 0 = none. */
uintptr_t hp_dynamic_function(const struct hp_dynamic *object, const char *name);

/*
 * What it defines by this name, a function or not, in the version that callers without one get;
 * NULL = nothing.
 */
const ElfW(Sym) *
	hp_dynamic_symbol(const struct hp_dynamic *object, const char *name, uint32_t hash);

/*
 * The functions that it defines: symbols from hash[1] on, and before hp_dynamic_end(); 0 = it has no table.
 * NULL = the symbol is none.
 */
uint32_t hp_dynamic_end(const struct hp_dynamic *object);
const char *hp_dynamic_name(const struct hp_dynamic *object, uint32_t n);

/* Does it satisfy another object's DT_NEEDED? */
bool hp_dynamic_is(const struct hp_dynamic *object, const char *needed);

static inline bool hp_dynamic_holds(const struct hp_dynamic *object, uintptr_t address)
{
	return address >= object->begin && address < object->end;
}

/*
 * The loaded object that holds the address; all 0 = none.  Its texts stay as long as it is loaded.
 * dladdr would look through all of its symbols, which takes 20 us for the C library.
 */
struct hp_dynamic hp_dynamic_at(uintptr_t address);

/* The part after the last slash. */
const char *hp_dynamic_base(const char *path);

#endif
