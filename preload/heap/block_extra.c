/* SPDX-License-Identifier: MIT */
/*
 * block_extra.c - see block_extra.h.
 *
 * Tables of doubling size, created on demand, so that memory is proportional to the content.  An
 * address may be in any of the few places of its group in each.  Places are claimed by
 * compare-exchange; an address's entry is written by the thread that allocates or frees the block,
 * never by two at once.  Forked children find the tables empty, as they do the words (shadow.h).
 */
#include "preload/heap/block_extra.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/guest/confine.h"
#include "preload/guest/pages.h"
#include "preload/heap/shadow.h"
#include "util/hash.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define TABLES 9
#define FIRST 512	/* places of the first table; the last has 131 072 */
#define GROUP 8
#define CLAIMED 1	/* an address: the place is being filled */

struct place {
	_Atomic uintptr_t address;	/* 0 = free */
	struct hp_block_extra what;
};

static _Atomic(struct place *) tables[TABLES];

/* Fibonacci hashing (Knuth, volume 3, 6.4); blocks lie at multiples of 16. */
static struct place *group_of(struct place *table, int which, uintptr_t address)
{
	uint64_t groups = (uint64_t)(FIRST / GROUP) << which;
	uint64_t hash = (address >> 4) * HP_HASH_GOLDEN;

	return table + (hash >> 32 & (groups - 1)) * GROUP;
}

static struct place *table_new(int which)
{
	uint64_t size = ((uint64_t)FIRST << which) * sizeof(struct place);
	struct place *table = hp_pages(size), *none = NULL;

	if (table && !hp_is_confined())
		syscall(SYS_madvise, table, size, MADV_WIPEONFORK);
	/* Another thread may have been faster; release: a thread that finds the table finds it
	 * empty. */
	if (table &&
	    !atomic_compare_exchange_strong_explicit(&tables[which], &none, table,
						     memory_order_release, memory_order_acquire)) {
		if (!hp_is_confined())
			hp_pages_release(table, size);
		return none;
	}
	return table;
}

void hp_block_extra_wipe(void)
{
	int saved = errno;

	for (int which = 0; which < TABLES; which++) {
		struct place *table = atomic_load_explicit(&tables[which], memory_order_acquire);

		if (table)
			syscall(SYS_madvise, table, ((uint64_t)FIRST << which) * sizeof(*table),
				MADV_DONTNEED);
	}
	errno = saved;
}

static struct place *find(uintptr_t address)
{
	for (int which = 0; which < TABLES; which++) {
		struct place *table = atomic_load_explicit(&tables[which], memory_order_acquire);
		struct place *group = table ? group_of(table, which, address) : NULL;

		for (int i = 0; group && i < GROUP; i++)
			if (atomic_load_explicit(&group[i].address, memory_order_acquire) ==
			    address)
				return &group[i];
	}
	return NULL;
}

static struct place *claim(uintptr_t address)
{
	for (int which = 0; which < TABLES; which++) {
		struct place *table = atomic_load_explicit(&tables[which], memory_order_acquire);
		struct place *group;

		if (!table)
			table = table_new(which);
		if (!table)
			return NULL;
		group = group_of(table, which, address);
		for (int i = 0; i < GROUP; i++) {
			uintptr_t none = 0;

			if (atomic_compare_exchange_strong_explicit(&group[i].address, &none,
								    CLAIMED, memory_order_acquire,
								    memory_order_relaxed))
				return &group[i];
		}
	}
	return NULL;
}

bool hp_block_extra_put(uintptr_t address, struct hp_block_extra what)
{
	int saved = errno;
	struct place *place = find(address);

	if (!place)
		place = claim(address);
	errno = saved;
	if (!place)
		return false;
	place->what = what;
	/* Release: a thread that finds the address finds its entry. */
	atomic_store_explicit(&place->address, address, memory_order_release);
	return true;
}

bool hp_block_extra_look(uintptr_t address, struct hp_block_extra *what)
{
	const struct place *place = find(address);

	if (place)
		*what = place->what;
	return place != NULL;
}

struct hp_block_extra hp_block_extra_take(uintptr_t address)
{
	struct hp_block_extra what = { .size = HP_SHADOW_LARGE };
	struct place *place = find(address);

	if (!place)
		return what;
	what = place->what;
	atomic_store_explicit(&place->address, 0, memory_order_release);
	return what;
}
