/* SPDX-License-Identifier: MIT */
/*
 * absent.c - see absent.h.
 */
#include "preload/guest/absent.h"

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>

#include "preload/guest/bulky.h"
#include "preload/guest/dynamic.h"
#include "preload/guest/early.h"

/* Cached for the life of the process; further ones are looked up each time */
#define HP_FOUND_MAX 1024
#define HP_NEEDED_MAX 64	/* of one object */

HP_BULKY static struct hp_absent_found founds[HP_FOUND_MAX];
static _Atomic uint32_t found_count;
_Atomic uint64_t hp_absent_generation = 1;

struct search {
	const char *name;
	uintptr_t at;	/* an address in the object to search first; 0 = none */
	struct hp_dynamic caller;
	uint32_t needed;	/* index of the caller's dependency to search */
	bool is_at_end;	/* it has no more dependencies */
	uintptr_t found;
};

static bool is_ours(const struct hp_dynamic *object)
{
	return hp_dynamic_holds(object, (uintptr_t)&founds);
}

/* The name of the object's n-th needed library; NULL = fewer. */
static const char *needed_name(const struct hp_dynamic *object, uint32_t n)
{
	if (!object->section || !object->strings)
		return NULL;
	for (const ElfW(Dyn) *d = object->section; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED && n-- == 0)
			return object->strings + d->d_un.d_val;
	return NULL;
}

/* A library's function that ends in a jump to another one of it is called from our stand-in. */
static int look_at_caller(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	struct hp_dynamic object = hp_dynamic_read(info);

	(void)size;
	if (!hp_dynamic_holds(&object, search->at))
		return 0;
	search->caller = object;
	search->found = is_ours(&object) ? 0 : hp_dynamic_function(&object, search->name);
	return 1;
}

/* The first object with the name of the caller's next dependency. */
static int look_at_needed(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	struct hp_dynamic object = hp_dynamic_read(info);
	const char *needed = needed_name(&search->caller, search->needed);

	(void)size;
	search->is_at_end = !needed;
	if (!needed)
		return 1;
	if (is_ours(&object) || !hp_dynamic_is(&object, needed))
		return 0;
	search->found = hp_dynamic_function(&object, search->name);
	return search->found != 0;
}

static int look_at_all(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *search = data;
	struct hp_dynamic object = hp_dynamic_read(info);

	(void)size;
	search->found = is_ours(&object) ? 0 : hp_dynamic_function(&object, search->name);
	return search->found != 0;
}

static void search_all(struct search *search)
{
	if (search->at)
		dl_iterate_phdr(look_at_caller, search);
	for (; !search->found && search->caller.section && !search->is_at_end &&
	       search->needed < HP_NEEDED_MAX;
	     search->needed++)
		dl_iterate_phdr(look_at_needed, search);
	if (!search->found)
		dl_iterate_phdr(look_at_all, search);
}

void *hp_absent_find(const char *name, uintptr_t caller)
{
	struct search search = { .name = name, .at = caller };
	int saved;

	if (hp_is_early())
		return hp_early_find(name, false);
	saved = errno;
	search_all(&search);
	errno = saved;
	return (void *)search.found;
}

static void search_one(struct search *search)
{
	dl_iterate_phdr(look_at_caller, search);
}

void *hp_absent_find_beside(const char *name, const void *real)
{
	struct search search = { .name = name, .at = (uintptr_t)real };
	int saved;

	if (!real || hp_is_early())
		return NULL;
	saved = errno;
	search_one(&search);
	errno = saved;
	return (void *)search.found;
}

/* --- found functions --- */

static struct hp_absent_found *found_of(struct hp_absent *absent, const struct hp_dynamic *caller)
{
	struct hp_absent_found *found = atomic_load_explicit(&absent->found, memory_order_acquire);

	while (found && (found->begin != caller->begin || found->end != caller->end))
		found = found->next;
	return found;
}

/* NULL = all are taken. */
static struct hp_absent_found *found_new(const struct hp_dynamic *caller)
{
	uint32_t place = atomic_load_explicit(&found_count, memory_order_relaxed);

	while (place < HP_FOUND_MAX &&
	       !atomic_compare_exchange_weak_explicit(&found_count, &place, place + 1,
						      memory_order_relaxed, memory_order_relaxed))
		;
	if (place >= HP_FOUND_MAX)
		return NULL;
	founds[place].begin = caller->begin;
	founds[place].end = caller->end;
	return &founds[place];
}

/*
 * Release: a thread that finds the entry also finds its span and, with its
 * generation, the function.
 */
static void remember(struct hp_absent *absent, const struct search *search, uint64_t generation)
{
	struct hp_absent_found *found = found_of(absent, &search->caller), *is_new = NULL;

	if (!found)
		found = is_new = found_new(&search->caller);
	if (!found)
		return;
	atomic_store_explicit(&found->real, (void *)search->found, memory_order_relaxed);
	atomic_store_explicit(&found->generation, generation, memory_order_release);
	if (!is_new)
		return;
	found->next = atomic_load_explicit(&absent->found, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&absent->found, &found->next, found,
						      memory_order_release, memory_order_relaxed))
		;
}

/* Read the generation before the search: an object unloaded in between outdates the entry. */
static void *meet(struct hp_absent *absent, struct search *search, void (*run)(struct search *))
{
	int saved = errno;
	uint64_t generation = atomic_load_explicit(&hp_absent_generation, memory_order_acquire);

	run(search);
	/* Generated code is in no object, and every unload is reported. */
	if (search->found && search->caller.section)
		remember(absent, search, generation);
	errno = saved;
	return (void *)search->found;
}

HP_COLD void *hp_absent_meet(struct hp_absent *absent, uintptr_t caller)
{
	struct search search = { .name = absent->name, .at = caller };

	if (hp_is_early())
		return hp_early_find(absent->name, false);
	return meet(absent, &search, search_all);
}

HP_COLD void *hp_absent_meet_beside(struct hp_absent *absent, const void *real)
{
	struct search search = { .name = absent->name, .at = (uintptr_t)real };

	return real && !hp_is_early() ? meet(absent, &search, search_one) : NULL;
}
