/* SPDX-License-Identifier: MIT */
/*
 * allocator.c - see allocator.h.
 */
#include "preload/heap/allocator.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "preload/guest/bulky.h"
#include "preload/guest/dynamic.h"
#include "preload/guest/early.h"
#include "preload/heap/heap.h"
#include "segment/layout/process.h"

#define HP_POOL_HEAD 16	/* before each block: its size */

extern const char *gnu_get_libc_version(void) __attribute__((weak));
extern __typeof__(dladdr1) dladdr1 __attribute__((weak));

struct hp_allocator hp_allocator;
static _Atomic uint32_t state;	/* 0 = not looked up, 1 = being looked up, 2 = found */
HP_BULKY char hp_allocator_memory[HP_ALLOCATOR_POOL] __attribute__((aligned(64)));
static _Atomic size_t pool_used;

/* Through a variable: in a sibling call, dlsym would take the loader for its caller. */
static void find(void *place, const char *name)
{
	void *address = hp_is_early() ? hp_early_find(name, false) : dlsym(RTLD_NEXT, name);

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
	/* A failed lookup left a message that the program would read as its own. */
	if (!hp_is_early())
		dlerror();
	__atomic_store_n(&hp_allocator.has_rare, true, __ATOMIC_RELEASE);
	hp_heap_go_on(was);
}

static void find_all(void)
{
#define X(ret, name, args) find(&hp_allocator.name, #name);
	HP_ALLOCATOR_LIST(X)
#undef X
}

bool hp_allocator_resolve(void)
{
	struct hp_heap_local *was;
	uint32_t now = 0;

	if (hp_is_early()) {
		find_all();
		return true;
	}
	if (atomic_load_explicit(&state, memory_order_acquire) == 2)
		return true;
	if (!atomic_compare_exchange_strong(&state, &now, 1))
		return atomic_load_explicit(&state, memory_order_acquire) == 2 ||
		       (hp_allocator.malloc && hp_allocator.free && hp_allocator.realloc &&
			hp_allocator.calloc);
	was = hp_heap_pause();
	find_all();
	hp_heap_go_on(was);
	atomic_store_explicit(&state, 2, memory_order_release);
	return true;
}

static bool is_program(const struct hp_dynamic *object)
{
	return object->file && !*object->file;
}

static struct hp_dynamic object_of(const void *address)
{
	return hp_dynamic_at((uintptr_t)address);
}

/*
 * An executable that is not position-independent and takes a function's address gives
 * it the address of a stub that jumps to the real function (the x86-64 ABI's "function
 * addresses"): the symbol there has a value and no section.
 */
static bool is_stub(const void *address)
{
	const ElfW(Sym) *symbol = NULL;
	struct hp_dynamic object = object_of(address);
	Dl_info info;

	return is_program(&object) && dladdr1 &&
	       dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
	       symbol->st_shndx == SHN_UNDEF;
}

/*
 * Where the program's calls of malloc go: its stub has no name, but malloc's owner
 * defines the others.
 */
static const void *first_malloc(void)
{
	static const char *const names[] = { "malloc",	       "calloc",	"realloc",
					     "posix_memalign", "aligned_alloc", "memalign" };
	const void *address;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		address = dlsym(RTLD_DEFAULT, names[i]);
		if (address && !is_stub(address))
			return address;
	}
	return &hp_allocator;
}

static uint32_t kind_of(struct hp_dynamic *object)
{
	struct hp_dynamic libc = object_of((const void *)gnu_get_libc_version);
	const void *found;

	memcpy(&found, &hp_allocator.malloc, sizeof(found));
	/* Not by our function's address: the loader would also return the first one's. */
	*object = object_of(first_malloc());
	if (object->begin == object_of(&hp_allocator).begin)
		*object = object_of(found);
	else
		return is_program(object) ? HP_ALLOCATOR_INSIDE : HP_ALLOCATOR_BEFORE;
	if (libc.begin && object->begin == libc.begin)
		return HP_ALLOCATOR_GLIBC;
	return HP_ALLOCATOR_OTHER;
}

uint32_t hp_allocator_kind(const char **file)
{
	struct hp_heap_local *was;
	struct hp_dynamic object;
	uint32_t kind;

	hp_allocator_resolve();
	was = hp_heap_pause();
	kind = kind_of(&object);
	/* As above: a failed lookup left a message. */
	dlerror();
	hp_heap_go_on(was);
	*file = is_program(&object) ? program_invocation_name : object.file;
	return kind;
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
