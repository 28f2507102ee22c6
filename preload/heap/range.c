/* SPDX-License-Identifier: MIT */
/*
 * range.c - see range.h.
 *
 * A treap (Seidel and Aragon, Algorithmica 16, 1996): ordered by address from left to right, by
 * random numbers from top to bottom, so its depth is some 2 log2(n) whatever the program does.
 * Both its operations are loops: the caller's stack may be a small one.
 */
#include "preload/heap/range.h"

#include <stddef.h>

#include "preload/guest/pages.h"
#include "util/random.h"

#define CHUNK UINT64_C(65536)	/* bytes of ranges that are allocated at once */
#define NEEDED 2	/* a call cuts one range into two, and adds one */

bool hp_ranges_prepare(struct hp_ranges *ranges)
{
	while (!ranges->unused || !ranges->unused->right) {
		if (ranges->fresh == ranges->fresh_end) {
			struct hp_range *chunk = hp_pages(CHUNK);

			if (!chunk)
				return false;
			ranges->fresh = chunk;
			ranges->fresh_end = chunk + CHUNK / sizeof(*chunk);
		}
		ranges->fresh->right = ranges->unused;
		ranges->unused = ranges->fresh++;
	}
	return true;
}

/* Those that begin below `address` and the others. */
static void split(struct hp_range *tree, uintptr_t address, struct hp_range **low,
		  struct hp_range **high)
{
	while (tree) {
		if (tree->begin < address) {
			*low = tree;
			low = &tree->right;
			tree = *low;
		} else {
			*high = tree;
			high = &tree->left;
			tree = *high;
		}
	}
	*low = NULL;
	*high = NULL;
}

/* All of `low` is below all of `high`. */
static struct hp_range *join(struct hp_range *low, struct hp_range *high)
{
	struct hp_range *tree = NULL, **place = &tree;

	while (low && high) {
		if (low->order > high->order) {
			*place = low;
			place = &low->right;
			low = *place;
		} else {
			*place = high;
			place = &high->left;
			high = *place;
		}
	}
	*place = low ? low : high;
	return tree;
}

static struct hp_range *range_new(struct hp_ranges *ranges, uintptr_t begin, uintptr_t end,
				  struct hp_site *site, uint64_t number)
{
	struct hp_range *range = ranges->unused;

	ranges->unused = range->right;
	*range = (struct hp_range){ .begin = begin,
				    .end = end,
				    .site = site,
				    .number = number,
				    .order = hp_random_next(&ranges->random) };
	return range;
}

static struct hp_range *highest(struct hp_range *tree)
{
	while (tree && tree->right)
		tree = tree->right;
	return tree;
}

/* Takes out the lowest one. */
static struct hp_range *lowest_take(struct hp_range **tree)
{
	struct hp_range *range;

	while ((*tree)->left)
		tree = &(*tree)->left;
	range = *tree;
	*tree = range->right;
	return range;
}

struct taking {
	uintptr_t begin;
	uintptr_t end;
	uint64_t number;
	hp_range_gone gone;
	void *context;
};

/*
 * The one that begins below the hole may reach into it, and beyond. Returns the
 * remainder beyond, or NULL.
 */
static struct hp_range *take_end(struct hp_ranges *ranges, struct hp_range *range,
				 const struct taking *hole)
{
	uintptr_t end;

	if (!range || range->end <= hole->begin || range->number >= hole->number)
		return NULL;
	end = range->end;
	range->end = hole->begin;
	if (end <= hole->end) {
		hole->gone(hole->context, range->site, end - hole->begin, false, false);
		return NULL;
	}
	hole->gone(hole->context, range->site, hole->end - hole->begin, false, true);
	return range_new(ranges, hole->end, end, range->site, range->number);
}

/* One that begins in the hole; true = something is left. */
static bool take_one(struct hp_range *range, const struct taking *hole)
{
	uintptr_t begin = range->begin;

	if (range->number >= hole->number)
		return true;
	if (range->end <= hole->end) {
		hole->gone(hole->context, range->site, range->end - begin, true, false);
		return false;
	}
	range->begin = hole->end;
	hole->gone(hole->context, range->site, hole->end - begin, false, false);
	return true;
}

void hp_ranges_take(struct hp_ranges *ranges, uintptr_t begin, uintptr_t end, uint64_t number,
		    hp_range_gone gone, void *context)
{
	const struct taking hole = { begin, end, number, gone, context };
	struct hp_range *below, *within, *above, *rest, *range;

	split(ranges->root, begin, &below, &above);
	split(above, end, &within, &above);
	rest = take_end(ranges, highest(below), &hole);
	while (within) {
		range = lowest_take(&within);
		range->left = range->right = NULL;
		if (take_one(range, &hole)) {
			below = join(below, range);
			continue;
		}
		range->right = ranges->unused;
		ranges->unused = range;
	}
	below = join(below, rest);
	ranges->root = join(below, above);
}

void hp_ranges_add(struct hp_ranges *ranges, uintptr_t begin, uintptr_t end, struct hp_site *site,
		   uint64_t number)
{
	struct hp_range *below, *above;

	split(ranges->root, begin, &below, &above);
	below = join(below, range_new(ranges, begin, end, site, number));
	ranges->root = join(below, above);
}
