/* SPDX-License-Identifier: MIT */
/*
 * path_table.h - the tables behind call paths: rows of frames, and known paths.
 *
 * Tables grow by doubling; their old pages are freed, since only this thread reads them.
 */
#ifndef HP_PRELOAD_HEAP_PATH_TABLE_H
#define HP_PRELOAD_HEAP_PATH_TABLE_H

#include "preload/heap/heap.h"

/* Bytes of a table with this shift. */
static inline uint64_t hp_table_size(uint32_t shift, uint64_t each)
{
	return (UINT64_C(1) << (64 - shift)) * each;
}

/* At least doubles them; the new ones are empty. False = no memory, and the old ones are kept. */
bool hp_table_widen(struct hp_heap_local *me, void **table, uint32_t *shift, uint64_t each,
		    uint32_t bits);

/* Room for 2^bits pairs of rows, with those that it has. */
void hp_rows_widen(struct hp_heap_local *me, uint32_t bits);

/* Of a path: `hash` is that of its frames. */
static inline uint64_t hp_known_hash(uint64_t hash, bool is_complete)
{
	return (hash + is_complete) | 1;
}

static inline struct hp_path_known *hp_known_place(const struct hp_heap_local *me, uint64_t hash)
{
	uint64_t last = (UINT64_C(1) << (64 - me->known_shift)) - 1;
	uint64_t i = hash >> 20 & last;

	while (me->known[i].hash && me->known[i].hash != hash)
		i = (i + 1) & last;
	return &me->known[i];
}

/* Room for 2^bits places, more than it has, with the paths that it has. */
bool hp_known_widen(struct hp_heap_local *me, uint32_t bits);

/* A path that may be known already; the table has room. Returns its place. */
uint32_t hp_known_add(struct hp_heap_local *me, uint64_t hash, uint32_t site);

static inline uint64_t hp_known_room(const struct hp_heap_local *me)
{
	uint64_t places = UINT64_C(1) << (64 - me->known_shift);

	return places - places / 4;
}

#endif
