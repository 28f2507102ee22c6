/* SPDX-License-Identifier: MIT */
/*
 * change.h - additions to sums since the last refresh.
 *
 * Sums of allocations are whole numbers, so a difference that is added later
 * leaves no error. Several differences of one place are merged: the list is
 * never longer than the number of places.
 */
#ifndef HP_REPORT_SECTION_MEMORY_CHANGE_H
#define HP_REPORT_SECTION_MEMORY_CHANGE_H

#include <stddef.h>
#include <stdint.h>

#include "report/section/memory/sum.h"

struct hp_alloc_change {
	uint32_t place;
	struct hp_alloc_sum sum;	/* decreased fields are below 0, modulo 2^64 */
};

struct hp_alloc_changes {
	struct hp_alloc_change *list;
	size_t count;
	size_t room;
	uint32_t *at;	/* by place: its position in the list, + 1; 0 = none */
	size_t at_room;
};

void hp_alloc_change(struct hp_alloc_changes *changes, uint32_t place,
		     const struct hp_alloc_sum *difference);

/* All of them have been processed. */
void hp_alloc_changes_clear(struct hp_alloc_changes *changes);
void hp_alloc_changes_release(struct hp_alloc_changes *changes);

#endif
