/* SPDX-License-Identifier: MIT */
/*
 * range.h - which site each mapped address belongs to.
 *
 * Ranges do not overlap. Each has the number of the call that created it. Numbers grow: a
 * thread that unmaps takes one before its call, and removes only older ranges. Another
 * thread's new mapping at the same address is kept.
 *
 * The caller holds the lock.
 */
#ifndef HP_PRELOAD_HEAP_RANGE_H
#define HP_PRELOAD_HEAP_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "segment/layout/heap.h"

struct hp_site;

struct hp_range {
	uintptr_t begin;
	uintptr_t end;
	struct hp_site *site;
	uint64_t number;	/* of the call that made it */
	uint64_t order;	/* a random number: above it in the tree are larger ones */
	struct hp_range *left;	/* lower addresses */
	struct hp_range *right;
};

struct hp_ranges {
	struct hp_range *root;	/* a treap */
	struct hp_range *unused;	/* by `right` */
	struct hp_range *fresh, *fresh_end;	/* never used: most programs need a page of them */
	uint64_t random;
};

/* Ensures room for the most new ranges that one call creates; false = no memory. */
bool hp_ranges_prepare(struct hp_ranges *ranges);

/*
 * The removed part of a range: `bytes`, `is_whole` = nothing of it is left, `is_split`
 * = two parts are.
 */
typedef void (*hp_range_gone)(void *context, struct hp_site *site, uint64_t bytes, bool is_whole,
			      bool is_split);

/* Removes the parts of [begin, end) that are older than `number`.  After hp_ranges_prepare. */
void hp_ranges_take(struct hp_ranges *ranges, uintptr_t begin, uintptr_t end, uint64_t number,
		    hp_range_gone gone, void *context);

/* Adds one, which must not overlap with existing ones. After hp_ranges_prepare. */
void hp_ranges_add(struct hp_ranges *ranges, uintptr_t begin, uintptr_t end, struct hp_site *site,
		   uint64_t number);

#endif
