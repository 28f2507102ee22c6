/* SPDX-License-Identifier: MIT */
/*
 * dynamic.h - what a loaded object's dynamic section says (System V ABI,
 * chapter 5; DT_GNU_HASH: the loader's own sources).
 *
 * dlsym would answer the same, but takes a lock of the loader that is held while constructors
 * run; dl_iterate_phdr's is not.  What is read here is valid inside its callback.
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
	const char *file;	/* as the loader names it; "" = the executable */
	const char *name;	/* DT_SONAME; "" = it has none */
};

struct hp_dynamic hp_dynamic_read(const struct dl_phdr_info *info);

/* The address of the function that it defines by this name; 0 = none. */
uintptr_t hp_dynamic_function(const struct hp_dynamic *object, const char *name);

/* The name of a function that it defines; *at, 0 at first, is the place to go on.  NULL = no more. */
const char *hp_dynamic_next(const struct hp_dynamic *object, uint32_t *at);

/* Is it what another one names as needed? */
bool hp_dynamic_is(const struct hp_dynamic *object, const char *needed);

static inline bool hp_dynamic_holds(const struct hp_dynamic *object, uintptr_t address)
{
	return address >= object->begin && address < object->end;
}

/* The part behind the last slash. */
const char *hp_dynamic_base(const char *path);

#endif
