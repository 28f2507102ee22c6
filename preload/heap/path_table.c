/* SPDX-License-Identifier: MIT */
/*
 * path_table.c - see path_table.h.
 */
#include "preload/heap/path_table.h"

#include <string.h>

#include "preload/guest/pages.h"
#include "preload/guest/table.h"

bool hp_table_widen(struct hp_heap_local *me, void **table, uint32_t *shift, uint64_t each,
		    uint32_t bits)
{
	void *wide = hp_tables_take_used(&me->tables, hp_table_size(64 - bits, each));

	if (!wide)
		return false;
	if (*table)
		hp_tables_give(&me->tables, *table, hp_table_size(*shift, each));
	*table = wide;
	*shift = 64 - bits;
	return true;
}

/* The spare pages are for the large table of inherited rows. What is left of them goes back. */
static void *rows_room(struct hp_heap_local *me, uint64_t size)
{
	char *spare = me->spare;
	uint64_t left;

	if (!spare || size > me->spare_size || size <= me->spare_size / 2)
		return hp_tables_take_used(&me->tables, size);
	left = me->spare_size - size;
	if (left)
		hp_pages_release(spare + size, left);
	me->spare = NULL;
	return memset(spare, 0, size);
}

void hp_rows_widen(struct hp_heap_local *me, uint32_t bits)
{
	struct hp_walker *walker = &me->walker;
	struct hp_cfi_row *old = walker->rows, *row = old;
	uint64_t size = hp_table_size(walker->row_shift, HP_WALK_PAIR);
	struct hp_cfi_row *wide = rows_room(me, hp_table_size(64 - bits, HP_WALK_PAIR));

	if (!wide)
		return;
	walker->rows = wide;
	walker->row_shift = 64 - bits;
	for (; row < old + size / sizeof(*row); row++)
		if (row->pc)
			hp_walk_keep(walker, row);
	hp_tables_give(&me->tables, old, size);
}

bool hp_known_widen(struct hp_heap_local *me, uint32_t bits)
{
	struct hp_path_known *old = me->known;
	uint64_t size = hp_table_size(me->known_shift, sizeof(*old));
	struct hp_path_known *wide =
		hp_tables_take_used(&me->tables, hp_table_size(64 - bits, sizeof(*old)));

	if (!wide)
		return false;
	me->known = wide;
	me->known_shift = 64 - bits;
	me->known_last = me->known_before = 0;
	for (uint64_t i = 0; i < size / sizeof(*old); i++)
		if (old[i].hash)
			*hp_known_place(me, old[i].hash) =
				(struct hp_path_known){ old[i].hash, old[i].site, 0 };
	hp_tables_give(&me->tables, old, size);
	return true;
}

uint32_t hp_known_add(struct hp_heap_local *me, uint64_t hash, uint32_t site)
{
	struct hp_path_known *known = hp_known_place(me, hash);

	if (!known->hash) {
		*known = (struct hp_path_known){ hash, site, 0 };
		me->known_count++;
	}
	return (uint32_t)(known - me->known);
}
