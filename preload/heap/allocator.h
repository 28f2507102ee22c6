/* SPDX-License-Identifier: MIT */
/*
 * allocator.h - the program's allocator, behind our stand-ins (hook_alloc.c).
 *
 * The first call looks up its functions. That may be from the loader, long
 * before our start, and the lookup may itself allocate. Meanwhile requests
 * are served from a small pool of our own, whose blocks are never freed.
 */
#ifndef HP_PRELOAD_HEAP_ALLOCATOR_H
#define HP_PRELOAD_HEAP_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "segment/layout/process.h"

/* For a new one, add a line here and write the stand-in. */
#define HP_ALLOCATOR_LIST(X) \
	X(void *, malloc, (size_t)) \
	X(void, free, (void *)) \
	X(void *, calloc, (size_t, size_t)) \
	X(void *, realloc, (void *, size_t)) \
	X(size_t, malloc_usable_size, (void *)) \
	X(int, posix_memalign, (void **, size_t, size_t)) \
	X(void *, aligned_alloc, (size_t, size_t)) \
	X(void *, memalign, (size_t, size_t)) \
	X(void *, valloc, (size_t)) \
	X(void *, pvalloc, (size_t))

/* Not available everywhere: looked up when they are called. */
#define HP_ALLOCATOR_RARE(X) \
	X(void, cfree, (void *)) \
	X(void, free_sized, (void *, size_t)) \
	X(void, free_aligned_sized, (void *, size_t, size_t))

/* With another one: reallocarray is realloc with a checked multiplication. */

struct hp_allocator {
#define X(ret, name, args) ret(*name) args;
	HP_ALLOCATOR_LIST(X)
	HP_ALLOCATOR_RARE(X)
#undef X
	bool has_rare;	/* was tried */
};

extern struct hp_allocator hp_allocator __attribute__((visibility("hidden")));

/* Finds them, once. False = called during the lookup. */
bool hp_allocator_resolve(void);

/* The rare ones. */
void hp_allocator_resolve_rare(void);

/*
 * Its identity: enum hp_allocator_kind of the layout, and `*file`, the object that
 * it is in (the loader's string; NULL = not known).
 */
uint32_t hp_allocator_kind(const char **file);

/* A zeroed block of the pool, at a multiple of `align`; NULL = the pool is exhausted. */
void *hp_allocator_pool(size_t size, size_t align);
#define HP_ALLOCATOR_POOL 65536	/* bytes */
extern char hp_allocator_memory[] __attribute__((visibility("hidden")));

static inline bool hp_allocator_is_pool(const void *block)
{
	return (uintptr_t)block - (uintptr_t)hp_allocator_memory < HP_ALLOCATOR_POOL;
}

size_t hp_allocator_pool_size(const void *block);

#endif
