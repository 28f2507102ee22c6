/* SPDX-License-Identifier: MIT */
/*
 * table.c - from the address of an object to its flight, see future.h.
 *
 * Lock-free, open addressing.  A place is claimed by compare-exchange of its key; its object is
 * stored before its creator can pass it to another thread.  A freed place keeps a mark, so that
 * searches continue past it, and is reused.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/future/future.h"
#include "preload/guest/confine.h"
#include "preload/guest/pages.h"
#include "util/hash.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define BITS 15	/* log2 of the places: 2 MiB, only used parts take memory */
#define PROBES 64
#define GIVEN_UP 1	/* a key */

struct place {
	_Atomic uint64_t key;	/* 0 = never used */
	struct hp_future *_Atomic future;
	struct hp_flight *_Atomic flight;	/* NULL = not known yet, or no longer */
	_Atomic uint64_t size;	/* of hp_objects_more */
	_Atomic uint64_t link;
	uint64_t reserved[3];
};

static struct place *_Atomic places;	/* in pages that a forked child finds empty */

static struct place *table_of(void)
{
	const uint64_t size = sizeof(struct place) << BITS;
	struct place *table = atomic_load_explicit(&places, memory_order_acquire), *made;

	if (table || hp_is_confined())
		return table;
	made = hp_pages(size);
	if (!made)
		return NULL;
	if (syscall(SYS_madvise, made, size, MADV_WIPEONFORK) != 0) {
		hp_refused();
		hp_pages_release(made, size);
		return NULL;
	}
	if (atomic_compare_exchange_strong(&places, &table, made))
		return made;
	hp_pages_release(made, size);
	return table;
}

void hp_objects_forget(void)
{
	struct place *table = atomic_load_explicit(&places, memory_order_acquire);
	int saved = errno;

	if (table)
		syscall(SYS_madvise, table, sizeof(*table) << BITS, MADV_DONTNEED);
	errno = saved;
}

/* The place of a key; NULL = it has none. */
static struct place *place_find(uint64_t key)
{
	struct place *table = atomic_load_explicit(&places, memory_order_acquire);
	uint64_t i = key * HP_HASH_GOLDEN >> (64 - BITS);

	if (key <= GIVEN_UP)
		return NULL;
	for (int n = 0; table && n < PROBES; n++, i = (i + 1) & ((1 << BITS) - 1)) {
		uint64_t there = atomic_load_explicit(&table[i].key, memory_order_acquire);

		if (there == key)
			return &table[i];
		if (!there)
			return NULL;
	}
	return NULL;
}

static struct place *place_claim(struct place *table, uint64_t key)
{
	uint64_t i = key * HP_HASH_GOLDEN >> (64 - BITS);

	for (int n = 0; n < PROBES; n++, i = (i + 1) & ((1 << BITS) - 1)) {
		uint64_t there = atomic_load_explicit(&table[i].key, memory_order_relaxed);

		if (there <= GIVEN_UP &&
		    atomic_compare_exchange_strong_explicit(
			    &table[i].key, &there, key, memory_order_acq_rel, memory_order_relaxed))
			return &table[i];
	}
	return NULL;
}

bool hp_objects_put(uint64_t key, const struct hp_object_flight *to,
		    struct hp_object_flight *before)
{
	int saved = errno;
	struct place *table = table_of(), *place = table ? place_find(key) : NULL;

	errno = saved;
	if (key <= GIVEN_UP || !table)
		return false;
	if (place) {
		before->future = atomic_load_explicit(&place->future, memory_order_relaxed);
		before->flight = atomic_load_explicit(&place->flight, memory_order_relaxed);
	} else {
		place = place_claim(table, key);
	}
	if (!place)
		return false;
	atomic_store_explicit(&place->size, 0, memory_order_relaxed);
	atomic_store_explicit(&place->link, 0, memory_order_relaxed);
	atomic_store_explicit(&place->future, to->future, memory_order_relaxed);
	atomic_store_explicit(&place->flight, to->flight, memory_order_release);
	return true;
}

bool hp_objects_find(uint64_t key, struct hp_object_flight *found)
{
	struct place *place = place_find(key);

	if (!place)
		return false;
	found->flight = atomic_load_explicit(&place->flight, memory_order_acquire);
	found->future = atomic_load_explicit(&place->future, memory_order_relaxed);
	found->size = atomic_load_explicit(&place->size, memory_order_relaxed);
	found->link = atomic_load_explicit(&place->link, memory_order_relaxed);
	return found->flight != NULL;
}

void hp_objects_more(uint64_t key, uint64_t size, uint64_t link)
{
	struct place *place = place_find(key);

	if (!place)
		return;
	atomic_store_explicit(&place->size, size, memory_order_relaxed);
	atomic_store_explicit(&place->link, link, memory_order_relaxed);
}

bool hp_objects_take(uint64_t key, struct hp_object_flight *taken)
{
	struct place *place = place_find(key);

	if (!place)
		return false;
	taken->future = atomic_load_explicit(&place->future, memory_order_relaxed);
	/* If two end it at once, one gets it. */
	taken->flight = atomic_exchange_explicit(&place->flight, NULL, memory_order_acq_rel);
	if (taken->flight)
		atomic_store_explicit(&place->key, GIVEN_UP, memory_order_release);
	return taken->flight != NULL;
}

void hp_objects_each(uint64_t bits, uint64_t mask, void (*found)(uint64_t key))
{
	struct place *table = atomic_load_explicit(&places, memory_order_acquire);

	for (uint32_t i = 0; table && i < UINT32_C(1) << BITS; i++) {
		uint64_t key = atomic_load_explicit(&table[i].key, memory_order_acquire);

		if ((key & mask) == bits)
			found(key);
	}
}
