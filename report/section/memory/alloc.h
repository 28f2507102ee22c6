/* SPDX-License-Identifier: MIT */
/*
 * alloc.h - the allocations in a segment, as plain structs.
 *
 * The trees of call paths of all heaps become one: steps of equal paths are one
 * step.  Numbers of a step cover the blocks that were allocated directly
 * there; `inclusive` ones are sums that include callees.
 */
#ifndef HP_REPORT_SECTION_MEMORY_ALLOC_H
#define HP_REPORT_SECTION_MEMORY_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/section/memory/change.h"
#include "report/section/memory/step.h"
#include "report/section/memory/sum.h"
#include "report/read/model.h"
#include "segment/layout/heap.h"

/* The sums of a thread, or of several successive ones. */
struct hp_alloc_thread {
	uint32_t pid;
	uint32_t tid;	/* of the last one */
	uint64_t bytes;	/* the last one's */
	uint64_t freed_bytes;
	uint64_t all_bytes;	/* of all of them */
	uint64_t all_freed_bytes;
};

/* Mappings made on one path, not through the allocator; several may have one step. */
struct hp_alloc_map {
	uint32_t step;
	uint32_t kinds;	/* bits of enum hp_map_kind */
	struct hp_alloc_sum sum;	/* `live` is ranges */
};

/* Of all processes together. */
struct hp_alloc_mapped {
	int64_t peak_bytes;
	uint64_t lost;	/* calls that were not recorded */
	uint32_t fault;	/* enum hp_maps_fault */
};

/* Randomly sampled blocks: the number of each class (segment/layout/heap.h). */
struct hp_alloc_sampled {
	uint64_t sizes[HP_SIZE_CLASSES];
	uint64_t lives[HP_LIFE_CLASSES];
};

/* Of one path; several may have one step. */
struct hp_alloc_spread {
	uint32_t step;
	uint64_t offset;	/* of its hp_spread_of_blocks */
};

struct hp_alloc_stats {
	uint64_t walks;
	uint64_t incomplete;
	uint64_t cut;
	uint64_t unproven;
	uint64_t proofs;
	uint64_t mismatches;
	uint64_t strange_frees;
	uint64_t folded;
};

struct hp_alloc_build;

struct hp_alloc {
	struct hp_alloc_build *build;	/* needed at the next refresh */
	struct hp_alloc_step *steps;	/* the build's */
	size_t count;	/* steps; at least 1 */
	size_t code_count;	/* their codes are 1 to this */
	struct hp_alloc_sum *sums;	/* of steps with something of their own; [0] is empty */
	size_t sum_count;
	size_t sum_room;
	struct hp_alloc_sum all;
	struct hp_alloc_thread *threads;
	size_t thread_count;
	struct hp_alloc_map *maps;
	size_t map_count;
	struct hp_alloc_mapped mapped;
	struct hp_alloc_sampled sampled;
	uint64_t sampled_lost;	/* without room for their age */
	struct hp_alloc_spread *spreads;	/* of the paths with many blocks */
	size_t spread_count;
	size_t spread_room;
	struct hp_alloc_stats stats;
	uint64_t leak_scans;	/* processes that could report leaks */
	uint64_t left;	/* blocks live in processes when they dropped rights: not among the live ones */
	uint64_t left_bytes;
	uint32_t leak_state;	/* enum hp_leak_state: else why not, of the root process */
	uint64_t peak_ns;	/* when the root process held the most; 0 = not known */
	uint32_t allocator;	/* enum hp_allocator_kind of the root process */
	bool has_new;	/* it has its own operator new, which was not recorded */
	char *allocator_file;	/* NULL = not known */
	char *unseen_file;	/* the first program or library whose malloc was not seen; NULL = none, or not known, */
	uint32_t unseen_kind;	/* and how: enum hp_allocator_kind; 0 = all were seen */
	bool has_unseen_more;	/* there were others */
	bool is_recorded;	/* some process recorded allocations */
	int64_t raised;	/* excess of `all.peak_bytes` over the sites, see hp_alloc_look() */
	bool is_fresh;	/* nothing remains from earlier refreshes: `changes` are not recorded */
	struct hp_alloc_changes changes;	/* of steps' own, since they were cleared */
};

/* Allocations made directly at a step. */
static inline const struct hp_alloc_sum *hp_alloc_own(const struct hp_alloc *alloc, size_t step)
{
	return &alloc->sums[alloc->steps[step].own];
}

/* Reads the heaps of the model's segment once, so it takes less memory.  Never fails. */
void hp_alloc_init(struct hp_alloc *alloc, struct hp_model *model);

/*
 * The same for one that hp_alloc_look read before or is all zeroes, at a later refresh of
 * the same model: as if it was read again, but steps keep their positions, and
 * additions to their own sums are in `changes`.
 */
void hp_alloc_look(struct hp_alloc *alloc, struct hp_model *model);
void hp_alloc_release(struct hp_alloc *alloc);

/* The sampled blocks of one path, as they are now. */
struct hp_alloc_sampled hp_alloc_sampled(struct hp_model *model,
					 const struct hp_alloc_spread *spread);

#endif
