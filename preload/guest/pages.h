/* SPDX-License-Identifier: MIT */
/*
 * pages.h - our own memory, separate from the program's.
 */
#ifndef HP_PRELOAD_GUEST_PAGES_H
#define HP_PRELOAD_GUEST_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_free_list;

/* Zeroed pages of our own; NULL = none.  errno is kept. */
void *hp_pages(uint64_t size);
void hp_pages_release(void *pages, uint64_t size);

/*
 * Zeroed memory of less than a page, at a multiple of HP_LINE, on a page with other parts; NULL =
 * none. It is never released. errno is kept.
 */
void *hp_part(uint64_t size);

/* The same, up to a page, that a forked child finds zeroed. */
void *hp_part_wiped(uint64_t size);

/*
 * A table of the process that is made at most once: `table` is the address of its pointer. False =
 * it does not exist, and none can be made, or not by a confined process, whose reserve is for smaller
 * pieces. Where it `is_wiped`, a forked child finds it zeroed. errno is kept.
 */
bool hp_pages_table(void *table, uint64_t size, bool is_wiped);

/* Before the first filter: maps the reserve for a confined process (confine.h). Changes errno. */
void hp_pages_reserve(void);
bool hp_pages_are_reserved(void);

/*
 * A record of `size` bytes with its node at `node_at`, of those in the list, which gets a page of
 * them when it is empty; its contents are undefined.  NULL = no memory.
 */
void *hp_pages_record(struct hp_free_list *list, size_t size, size_t node_at);

/*
 * A page for a text that is needed for a moment; its contents are undefined.  The next caller gets
 * the same page, as a rule.  NULL = no memory.
 */
char *hp_page_borrow(void);
void hp_page_return(char *page);

#endif
