/* SPDX-License-Identifier: MIT */
/*
 * table.h - the memory of a thread's tables.
 *
 * They begin with a page or two and double, and are read in no order.  So where
 * they become large each access is a page that the processor does not know: then
 * they move into huge pages, if the machine has such.  A thread with few paths,
 * and most have few, takes none.
 */
#ifndef HP_PRELOAD_GUEST_TABLE_H
#define HP_PRELOAD_GUEST_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct hp_tables {
	char *begin;	/* of the huge pages; NULL = there are none */
	char *free;	/* the part of them that is not in use */
	char *end;
	bool is_large;	/* huge pages were asked for */
};

/* Tables are going to be large: those made from now on lie in huge pages.  True if they do, for the first time. */
bool hp_tables_enlarge(struct hp_tables *tables);

/* Zeroed memory, a multiple of a page; NULL = none.  errno is kept. */
void *hp_tables_take(struct hp_tables *tables, uint64_t size);

/* `table`, of `size` bytes, is not used any more. */
void hp_tables_give(struct hp_tables *tables, void *table, uint64_t size);

#endif
