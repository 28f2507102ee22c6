/* SPDX-License-Identifier: MIT */
/*
 * operator.c - see operator.h.
 */
#include "preload/heap/operator.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "preload/guest/bulky.h"
#include "preload/guest/confine.h"
#include "preload/guest/dynamic.h"
#include "preload/guest/table.h"
#include "preload/heap/heap.h"
#include "preload/thread/module.h"
#include "util/hash.h"

#define CACHE_BITS 8	/* log2 of its places */

void *hp_operator_passes[HP_OPERATORS];

static const char *const names[HP_OPERATORS] = {
#define X(ret, name, params, args) #name,
	HP_OPERATOR_NEWS(X) HP_OPERATOR_DELETES(X)
#undef X
};

/* The C++ libraries whose operator new is malloc. */
static bool calls_malloc(const struct hp_dynamic *object)
{
	static const char *const libraries[] = { "libstdc++.so", "libc++.so", "libc++abi.so" };

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
		if (strncmp(hp_dynamic_base(object->file), libraries[i], strlen(libraries[i])) == 0)
			return true;
	return false;
}

static bool is_ours(const struct hp_dynamic *object)
{
	return hp_dynamic_holds(object, (uintptr_t)names);
}

/* --- in the loader's order --- */

HP_BULKY static struct hp_operator_found next[HP_OPERATORS];
static uint32_t is_asked;	/* `next` is filled */

struct forms {
	uint32_t some;	/* a bit for each */
	bool is_behind;	/* our library, in the loader's order */
};

/*
 * Which forms an object after ours defines: for the others, the loader would
 * allocate an error message with malloc. With two copies of our library, that
 * would start the other one before this one has created the session.
 */
static int look_for_any(struct dl_phdr_info *info, size_t size, void *data)
{
	struct hp_dynamic object = hp_dynamic_read(info);
	struct forms *forms = data;

	(void)size;
	for (uint32_t i = 0; i < HP_OPERATORS && forms->is_behind; i++)
		if (!(forms->some >> i & 1) && hp_dynamic_function(&object, names[i]))
			forms->some |= UINT32_C(1) << i;
	forms->is_behind |= is_ours(&object);
	return 0;
}

static_assert(HP_OPERATORS <= 32, "a bit for each form");

static void ask_for(uint32_t i, struct hp_dynamic *object)
{
	/* Through a variable, as in allocator.c. */
	void *address = dlsym(RTLD_NEXT, names[i]);

	if (!address)
		return;
	/* Most come from one object. */
	if (!hp_dynamic_holds(object, (uintptr_t)address))
		*object = hp_dynamic_at((uintptr_t)address);
	next[i].is_counted = !object->file || !calls_malloc(object);
	next[i].address = address;
	if (!next[i].is_counted)
		__atomic_store_n(&hp_operator_passes[i], address, __ATOMIC_RELAXED);
}

/* Several threads may do it at once: they write the same. */
static void ask(void)
{
	struct hp_heap_local *was = hp_heap_pause();
	struct hp_dynamic object = { .begin = 0 };
	int saved = errno;
	struct forms forms = { .some = 0 };

	dl_iterate_phdr(look_for_any, &forms);
	for (uint32_t i = 0; i < HP_OPERATORS; i++)
		if (forms.some >> i & 1)
			ask_for(i, &object);
	/* A failed lookup left a message that the program would read as its own. */
	if (forms.some)
		dlerror();
	hp_heap_go_on(was);
	errno = saved;
	__atomic_store_n(&is_asked, 1, __ATOMIC_RELEASE);
}

void hp_operator_configure(void)
{
	if (!__atomic_load_n(&is_asked, __ATOMIC_ACQUIRE))
		ask();
}

void hp_operator_pass(void)
{
	for (uint32_t i = 0; i < HP_OPERATORS; i++)
		if (next[i].address)
			__atomic_store_n(&hp_operator_passes[i], next[i].address, __ATOMIC_RELAXED);
}

/* --- in the caller's scope --- */

/*
 * An object opened by itself sees, after the global scope, its own definitions and those of its
 * dependencies, breadth first; its dependencies see the same.  The loader lists it before those
 * loaded with it. So the scope is that of the first object in the list that leads to the
 * caller.
 */
struct scope {
	uintptr_t pc;
	const char *name;
	uint32_t total;	/* objects in the list */
	uint32_t definitions;	/* how many have it */
	uint32_t caller;	/* number of its object; `total` = none */
	struct hp_dynamic *objects;
	uint32_t *queue;	/* numbers, breadth first */
	bool *is_met;
	struct hp_operator_found found;
};

static int count_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct hp_dynamic object = hp_dynamic_read(info);
	struct scope *scope = data;
	uintptr_t address = is_ours(&object) ? 0 : hp_dynamic_function(&object, scope->name);

	(void)size;
	scope->total++;
	if (!address)
		return 0;
	scope->definitions++;
	scope->found = (struct hp_operator_found){ (void *)address, !calls_malloc(&object) };
	return 0;
}

static int keep_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct scope *scope = data;
	struct hp_dynamic *object = &scope->objects[scope->total];

	(void)size;
	*object = hp_dynamic_read(info);
	if (hp_dynamic_holds(object, scope->pc))
		scope->caller = scope->total;
	scope->total++;
	return 0;
}

static uint32_t number_of(const struct scope *scope, const char *needed)
{
	for (uint32_t i = 0; i < scope->total; i++)
		if (hp_dynamic_is(&scope->objects[i], needed))
			return i;
	return scope->total;
}

/* Adds everything that the object leads to, itself first, to the queue; returns the number. */
static uint32_t spread(struct scope *scope, uint32_t from)
{
	uint32_t count = 1;

	memset(scope->is_met, 0, scope->total);
	scope->is_met[from] = true;
	scope->queue[0] = from;
	for (uint32_t i = 0; i < count; i++) {
		const struct hp_dynamic *object = &scope->objects[scope->queue[i]];

		for (const ElfW(Dyn) *d = object->section; d && d->d_tag != DT_NULL; d++) {
			uint32_t other = scope->total;

			if (d->d_tag == DT_NEEDED && object->strings)
				other = number_of(scope, object->strings + d->d_un.d_val);
			if (other == scope->total || scope->is_met[other])
				continue;
			scope->is_met[other] = true;
			scope->queue[count++] = other;
		}
	}
	return count;
}

/* False = it does not lead to the caller, or nothing that it leads to defines it. */
static bool find_below(struct scope *scope, uint32_t from)
{
	uint32_t count = spread(scope, from);

	if (!scope->is_met[scope->caller])
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const struct hp_dynamic *object = &scope->objects[scope->queue[i]];
		uintptr_t address = is_ours(object) ? 0 : hp_dynamic_function(object, scope->name);

		if (!address)
			continue;
		scope->found = (struct hp_operator_found){ (void *)address, !calls_malloc(object) };
		return true;
	}
	return false;
}

/* Several objects define it. */
static void choose(struct scope *scope)
{
	uint64_t each = sizeof(*scope->objects) + sizeof(*scope->queue) + sizeof(*scope->is_met);
	uint64_t size = (scope->total * each + HP_PAGE - 1) & ~(uint64_t)(HP_PAGE - 1);
	struct hp_tables tables = { .begin = NULL };
	uint32_t total = scope->total;
	void *room = hp_is_confined() ? NULL : hp_tables_take(&tables, size);

	if (!room)
		return;
	scope->objects = room;
	scope->queue = (uint32_t *)(scope->objects + total);
	scope->is_met = (bool *)(scope->queue + total);
	scope->caller = total;
	scope->total = 0;
	dl_iterate_phdr(keep_object, scope);
	for (uint32_t i = 0; i < total && scope->caller < total; i++)
		if (find_below(scope, i))
			break;
	hp_tables_give(&tables, room, size);
}

/* Called inside dl_iterate_phdr, whose lock is recursive: the list does not change. */
static int look_for_scope(struct dl_phdr_info *info, size_t size, void *data)
{
	struct scope *scope = data;

	(void)info;
	(void)size;
	dl_iterate_phdr(count_object, scope);
	if (scope->definitions > 1)
		choose(scope);
	return 1;
}

static struct hp_operator_found search_for(enum hp_operator which, uintptr_t pc)
{
	struct scope scope = { .pc = pc, .name = names[which] };
	struct hp_heap_local *was = hp_heap_pause();
	int saved = errno;

	dl_iterate_phdr(look_for_scope, &scope);
	hp_heap_go_on(was);
	errno = saved;
	return scope.found;
}

/* --- results, by the caller's page --- */

/*
 * Two words without a lock: one is the key mixed with the other, so a mix of
 * two writers' halves matches no key.
 */
struct known {
	uint64_t mixed;	/* key ^ answer */
	uint64_t answer;	/* address, HP_COUNTED; 0 = empty */
};

#define HP_COUNTED (UINT64_C(1) << 63)	/* no address has it */

HP_BULKY static struct known cache[1 << CACHE_BITS];

/*
 * A dlclose invalidates all, since the generation changes. It is mixed into all bits, since
 * none are free besides the page: so no number of dlcloses restores an old key.
 */
static uint64_t key_of(enum hp_operator which, uintptr_t pc)
{
	uint64_t page = (pc >> 12) << 5 | which;

	return page ^ hp_module_generation() * HP_HASH_GOLDEN;
}

static struct known *place_of(uint64_t key)
{
	return &cache[hp_hash_index(key, CACHE_BITS)];
}

static struct hp_operator_found recall(uint64_t key)
{
	const struct known *known = place_of(key);
	uint64_t answer = __atomic_load_n(&known->answer, __ATOMIC_RELAXED);

	if (!answer || (__atomic_load_n(&known->mixed, __ATOMIC_RELAXED) ^ answer) != key)
		return (struct hp_operator_found){ NULL, false };
	return (struct hp_operator_found){ (void *)(uintptr_t)(answer & ~HP_COUNTED),
					   (answer & HP_COUNTED) != 0 };
}

static void keep(uint64_t key, struct hp_operator_found found)
{
	struct known *known = place_of(key);
	uint64_t answer = (uint64_t)(uintptr_t)found.address | (found.is_counted ? HP_COUNTED : 0);

	__atomic_store_n(&known->mixed, key ^ answer, __ATOMIC_RELAXED);
	__atomic_store_n(&known->answer, answer, __ATOMIC_RELAXED);
}

/* An object's first page stands for all of them. */
static struct hp_operator_found find_for(enum hp_operator which, uintptr_t pc)
{
	uint64_t key = key_of(which, pc), first = key;
	struct hp_operator_found found = recall(key);
	struct hp_module module;

	if (found.address)
		return found;
	if (hp_module_span(pc, &module)) {
		first = key_of(which, module.begin);
		found = recall(first);
	}
	if (!found.address)
		found = search_for(which, pc);
	if (!found.address)
		return found;
	keep(first, found);
	keep(key, found);
	return found;
}

struct hp_operator_found hp_operator_find(enum hp_operator which, uintptr_t pc)
{
	hp_operator_configure();
	return next[which].address ? next[which] : find_for(which, pc);
}
