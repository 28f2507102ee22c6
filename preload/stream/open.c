/* SPDX-License-Identifier: MIT */
/*
 * open.c - the table of open streams.
 *
 * Lock-free: a place is claimed by compare-exchange of its key and keeps it;
 * its part may change. When a key's neighbourhood is full, places whose
 * streams are closed get another key.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/guest/pages.h"
#include "preload/guest/self.h"
#include "preload/stream/stream.h"

#define LAST ((UINT64_C(1) << HP_STREAMS_BITS) - 1)

struct hp_stream_open *hp_stream_table;
static _Atomic uint64_t used; /* pages of it that have keys: most have none */

static bool table_make(void)
{
	return hp_pages_table(&hp_stream_table, sizeof(struct hp_stream_open) << HP_STREAMS_BITS,
			      true);
}

void hp_stream_forget(void)
{
	struct hp_stream_open *table = __atomic_load_n(&hp_stream_table, __ATOMIC_ACQUIRE);
	int saved = errno;

	if (table)
		syscall(SYS_madvise, table, sizeof(*table) << HP_STREAMS_BITS, MADV_DONTNEED);
	errno = saved;
}

static uint64_t index_of(uint64_t key)
{
	return key * HP_HASH_GOLDEN >> (64 - HP_STREAMS_BITS);
}

static struct hp_stream_open *place_of(uint64_t key, bool claims)
{
	uint64_t i = index_of(key);

	for (int n = 0; n < HP_STREAM_PROBES; n++, i = (i + 1) & LAST) {
		struct hp_stream_open *place = &hp_stream_table[i];
		uint64_t there = atomic_load_explicit(&place->key, memory_order_acquire);

		if (there == key)
			return place;
		if (there == 0 && !claims)
			return NULL;
		if (there == 0 &&
		    (atomic_compare_exchange_strong(&place->key, &there, key) || there == key))
			return place;
	}
	return NULL;
}

static struct hp_stream_open *place_again(uint64_t key)
{
	uint64_t i = index_of(key);

	for (int n = 0; n < HP_STREAM_PROBES; n++, i = (i + 1) & LAST) {
		struct hp_stream_open *place = &hp_stream_table[i];
		uint64_t there = atomic_load_explicit(&place->key, memory_order_acquire);

		if (!atomic_load_explicit(&place->part, memory_order_acquire) &&
		    atomic_compare_exchange_strong(&place->key, &there, key))
			return place;
	}
	return NULL;
}

#define PER_PAGE (HP_PAGE / sizeof(struct hp_stream_open))
static_assert(LAST / PER_PAGE < 64, "a page is a bit of `used`");

void hp_stream_each(void (*visit)(struct hp_stream_open *open))
{
	uint64_t pages = atomic_load_explicit(&used, memory_order_relaxed);

	for (uint64_t i = 0; hp_stream_table && i <= LAST; i++)
		if (pages >> i / PER_PAGE & 1 &&
		    atomic_load_explicit(&hp_stream_table[i].part, memory_order_acquire))
			visit(&hp_stream_table[i]);
}

static void note_use(const struct hp_stream_open *open)
{
	uint64_t page = (uint64_t)(open - hp_stream_table) / PER_PAGE;

	if (!(atomic_load_explicit(&used, memory_order_relaxed) >> page & 1))
		atomic_fetch_or_explicit(&used, UINT64_C(1) << page, memory_order_relaxed);
}

struct hp_stream_open *hp_stream_find(uint64_t key)
{
	struct hp_stream_open *place = place_of(key, false);

	return place && atomic_load_explicit(&place->part, memory_order_acquire) ? place : NULL;
}

struct hp_stream_open *hp_stream_opens(uint64_t key, const struct hp_stream_wish *wish)
{
	int saved = errno;
	struct hp_stream_open *place = table_make() ? place_of(key, true) : NULL;
	struct hp_stream_part *part, *before;

	if (!place && hp_stream_table)
		place = place_again(key);
	part = hp_stream_part_new(wish, place != NULL);
	if (part) {
		note_use(place);
		atomic_store_explicit(&place->owner, NULL, memory_order_relaxed);
		atomic_store_explicit(&place->start, 0, memory_order_relaxed);
		atomic_store_explicit(&place->flags, 0, memory_order_relaxed);
		before = atomic_exchange_explicit(&place->part, part, memory_order_acq_rel);
		/* Closed in an unrecorded way. */
		if (before)
			hp_stream_part_end(before, HP_STREAM_CLOSED);
	}
	errno = saved;
	return part ? place : NULL;
}

bool hp_stream_ends(struct hp_stream_open *open, enum hp_stream_end how)
{
	struct hp_stream_part *part =
		atomic_exchange_explicit(&open->part, NULL, memory_order_acq_rel);

	if (part)
		hp_stream_part_end(part, how);
	return part != NULL;
}
