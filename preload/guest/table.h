/* SPDX-License-Identifier: MIT */
/*
 * table.h - the memory of a thread's tables.
 *
 * They start as parts of a page, double in size, and are accessed randomly. So
 * when they become large, each access is a TLB miss: then they move into huge
 * pages, if available. A thread with few paths, like most, uses none.
 */
#ifndef HP_PRELOAD_GUEST_TABLE_H
#define HP_PRELOAD_GUEST_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct hp_tables {
	char *begin;	/* the huge pages; NULL = none */
	char *free;	/* their unused part */
	char *end;
	bool is_large;	/* huge pages were requested */
};

/* Tables are getting large: places later ones in huge pages. True on the first success. */
bool hp_tables_enlarge(struct hp_tables *tables);

/* Zeroed memory at a multiple of HP_LINE; NULL = none.  errno is kept. */
void *hp_tables_take(struct hp_tables *tables, uint64_t size);

/*
 * The same for a table of which most pages are written at once: a page that is read first, as places in a
 * hash table are, takes two page faults.
 */
void *hp_tables_take_used(struct hp_tables *tables, uint64_t size);

/* Releases `table`, of `size` bytes. */
void hp_tables_give(struct hp_tables *tables, void *table, uint64_t size);

#endif
