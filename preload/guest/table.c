/* SPDX-License-Identifier: MIT */
/*
 * table.c - see table.h.
 *
 * The range is reserved once, and space left by a moved table is not reused:
 * with doubling that is as much as the tables themselves.
 */
#include "preload/guest/table.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/guest/confine.h"
#include "preload/guest/memlock.h"
#include "preload/guest/pages.h"
#include "segment/layout/header.h"

#define HP_HUGE (UINT64_C(1) << 21)	/* of x86-64, and of arm64 with pages of 4 KiB */
#define HP_TABLES_SPAN (UINT64_C(1) << 25)	/* address space; only the used part takes memory */

bool hp_tables_enlarge(struct hp_tables *tables)
{
	int saved = errno;
	char *pages;

	if (tables->is_large)
		return false;
	tables->is_large = true;
	if (hp_is_confined())
		return false;
	pages = hp_memlock_map(HP_TABLES_SPAN, MAP_NORESERVE);
	if (pages) {
		tables->end = pages + HP_TABLES_SPAN;
		pages += -(uintptr_t)pages & (HP_HUGE - 1);
		tables->begin = tables->free = pages;
		/* Without huge pages these are normal pages. */
		syscall(SYS_madvise, pages, tables->end - pages, MADV_HUGEPAGE);
	}
	errno = saved;
	return pages != NULL;
}

void *hp_tables_take(struct hp_tables *tables, uint64_t size)
{
	char *table = tables->free;

	if (!table || (uint64_t)(tables->end - table) < size)
		return size < HP_PAGE ? hp_part(size) : hp_pages(size);
	tables->free += size;
	return table;
}

void *hp_tables_take_used(struct hp_tables *tables, uint64_t size)
{
	char *table = hp_tables_take(tables, size);

	for (uint64_t at = 0; table && at < size; at += HP_PAGE)
		*(volatile char *)(table + at) = 0;
	return table;
}

void hp_tables_give(struct hp_tables *tables, void *table, uint64_t size)
{
	bool is_inside =
		tables->begin && (char *)table >= tables->begin && (char *)table < tables->end;

	/* Parts are never released: all of them are smaller than the table that follows. */
	if (!is_inside && size >= HP_PAGE)
		hp_pages_release(table, size);
}
