/* SPDX-License-Identifier: MIT */
/*
 * allocator.c - see allocator.h.
 */
#include "preload/allocator.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "preload/heap.h"
#include "segment/layout.h"

#define HP_POOL_HEAD 16	/* before each block: its size */

extern const char *gnu_get_libc_version(void) __attribute__((weak));
extern void *malloc(size_t size);

struct hp_allocator hp_allocator;
static _Atomic uint32_t state;	/* 0 = not looked for, 1 = being looked for, 2 = found */
char hp_allocator_memory[HP_ALLOCATOR_POOL] __attribute__((aligned(64)));
static _Atomic size_t pool_used;

/* A variable between: as a sibling call dlsym would take the loader for its caller. */
static void find(void *place, const char *name)
{
	void *address = dlsym(RTLD_NEXT, name);

	memcpy(place, &address, sizeof(address));
}

void hp_allocator_resolve_rare(void)
{
	struct hp_heap_local *was;

	if (__atomic_load_n(&hp_allocator.has_rare, __ATOMIC_ACQUIRE))
		return;
	was = hp_heap_pause();
#define X(ret, name, args) find(&hp_allocator.name, #name);
	HP_ALLOCATOR_RARE(X)
#undef X
	/* What is not there left a message that the program would take for its own. */
	dlerror();
	__atomic_store_n(&hp_allocator.has_rare, true, __ATOMIC_RELEASE);
	hp_heap_go_on(was);
}

bool hp_allocator_resolve(void)
{
	struct hp_heap_local *was;
	uint32_t now = 0;

	if (atomic_load_explicit(&state, memory_order_acquire) == 2)
		return true;
	if (!atomic_compare_exchange_strong(&state, &now, 1))
		return atomic_load_explicit(&state, memory_order_acquire) == 2 ||
		       (hp_allocator.malloc && hp_allocator.free && hp_allocator.realloc &&
			hp_allocator.calloc);
	was = hp_heap_pause();
#define X(ret, name, args) find(&hp_allocator.name, #name);
	HP_ALLOCATOR_LIST(X)
#undef X
	hp_heap_go_on(was);
	atomic_store_explicit(&state, 2, memory_order_release);
	return true;
}

static const void *object_of(const void *address)
{
	Dl_info info;

	return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

uint32_t hp_allocator_kind(void)
{
	void *first = dlsym(RTLD_DEFAULT, "malloc");
	const void *found, *libc;

	hp_allocator_resolve();
	if (first != (void *)malloc)
		return HP_ALLOCATOR_INSIDE;
	memcpy(&found, &hp_allocator.malloc, sizeof(found));
	libc = object_of((const void *)gnu_get_libc_version);
	return libc && object_of(found) == libc ? HP_ALLOCATOR_GLIBC : HP_ALLOCATOR_OTHER;
}

void *hp_allocator_pool(size_t size, size_t align)
{
	size_t room = size + HP_POOL_HEAD + align;
	uintptr_t block;
	size_t at;

	if (size > HP_ALLOCATOR_POOL || align > HP_ALLOCATOR_POOL / 2)
		return NULL;
	room = (room + 15) & ~(size_t)15;
	at = atomic_fetch_add_explicit(&pool_used, room, memory_order_relaxed);
	if (at > HP_ALLOCATOR_POOL || room > HP_ALLOCATOR_POOL - at)
		return NULL;
	block = (uintptr_t)hp_allocator_memory + at + HP_POOL_HEAD;
	align = align < 16 ? 16 : align;
	block = (block + align - 1) & ~(uintptr_t)(align - 1);
	memcpy((void *)(block - sizeof(size)), &size, sizeof(size));
	return (void *)block;
}

size_t hp_allocator_pool_size(const void *block)
{
	size_t size;

	memcpy(&size, (const char *)block - sizeof(size), sizeof(size));
	return size;
}
