/* SPDX-License-Identifier: MIT */
/*
 * heap.h - allocations: heaps, call paths, sites, direct maps.
 *
 * See header.h for the terms and common rules.
 */
#ifndef HP_SEGMENT_LAYOUT_HEAP_H
#define HP_SEGMENT_LAYOUT_HEAP_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "segment/layout/header.h"

/* Sampled blocks, about one in 256 at random, by powers of two: class n is above 2^(n-1), up to
 * 2^n. */
#define HP_SIZE_CLASSES 32	/* bytes; the last: all above */
#define HP_LIFE_CLASSES 24	/* 1024 ticks, rounded down; the last: all above */

/*
 * A thread's counts of allocations, requested bytes.  The newest block is
 * `pending` until its thread allocates another one or frees it: it is in no
 * site yet. If it is freed while pending, it was temporary, and adds to
 * nothing else.
 */
struct hp_heap {
	uint64_t next;	/* set once */
	uint64_t process;	/* set once: offset of hp_process */
	_Atomic uint32_t state;	/* enum hp_state: as hp_block.state */
	uint32_t tid;	/* its thread (present or last) */
	uint32_t pid;	/* its thread: process that took it */
	uint32_t threads;	/* its thread: how many have used this heap */
	uint64_t first_bytes;	/* its thread: bytes + temporary_bytes when it took the heap */
	int64_t first_live;	/* its thread: `live` when it took the heap */
	int64_t folded_live;	/* its process, when taken over: `live` then */
	uint64_t maps;	/* its thread: offset of its process's hp_maps; 0 = it mapped nothing */

	int64_t live;	/* its thread: bytes it allocated minus bytes it freed, without the pending block; may be < 0 */
	uint64_t pending;	/* its thread: offset of the pending block's hp_site, 0 = none */
	uint64_t pending_bytes;	/* its thread */
	uint64_t bytes;	/* its thread: of its sites */
	uint64_t temporary_bytes;	/* its thread: of its sites */
	_Atomic uint64_t sites;	/* its thread: head of the list of hp_site */
	_Atomic uint64_t steps;	/* its thread: head of the list of hp_steps */
	uint64_t site_count;	/* its thread */

	uint64_t walks;	/* its thread: allocations whose path was walked; the others used the cache */
	uint64_t incomplete;	/* its thread: of these, ended before the outermost frame */
	uint64_t cut;	/* its thread: of these, deeper than HOTPATH_ALLOC_DEPTH */
	uint64_t unproven;	/* its thread: of these, not cacheable */
	uint64_t proofs;	/* its thread: cached results that were walked again */
	uint64_t mismatches;	/* its thread: and were wrong */
	uint64_t strange_frees;	/* its thread: of blocks whose allocation was not recorded */
	uint64_t folded_sites;	/* its thread: allocations without a site of their own */

	uint64_t arena;	/* its thread: free part of its newest chunk, zeroed */
	uint64_t arena_end;	/* its thread: and its end */
	uint64_t other;	/* set once: the site for the overflow */
	uint64_t lives[HP_LIFE_CLASSES];	/* its thread: sampled blocks it freed, by age */
	uint64_t sizes[HP_SIZE_CLASSES];	/* its thread: sampled blocks, by size */
	_Atomic uint64_t map_sites;	/* its thread: head of a list of hp_site, of direct maps */
	uint64_t sampled_lost;	/* its thread: sampled blocks without room for their age */
	uint32_t leak_state;	/* its thread, the last of its process: enum hp_leak_state */
	uint32_t leak_scans;	/* the same: processes that could report leaks */
	uint64_t left;	/* its thread: blocks live in its process when that dropped rights; freed in their sites */
	uint64_t left_bytes;	/* the same */
};

/* Whether a process could determine unreferenced blocks at its end. */
enum hp_leak_state {
	HP_LEAKS_UNKNOWN = 0,	/* not requested, or it did not end by exit */
	HP_LEAKS_TOLD = 1,	/* hp_site.lost has them */
	HP_LEAKS_THREADS = 2,	/* there were still other threads */
	HP_LEAKS_ALLOCATOR = 3,	/* another allocator than glibc's */
	HP_LEAKS_REFUSED = 4,	/* no memory, no /proc, or too much to search */
};

/* Steps are in order, callers before callees; ids count 16 bytes from the segment's start. */
struct hp_step {
	uint32_t caller;	/* set once: id of the step below; 0 = none */
	uint32_t object;	/* set once: offset / HP_LINE of hp_object; HP_STEP_PLAIN | high half of a plain address */
	uint32_t address;	/* set once: return address: ELF address, or low half; object 0: enum hp_step_mark */
	uint32_t site;	/* owner: offset / HP_LINE of its hp_site; 0 = none */
};

#define HP_STEP_PLAIN (UINT32_C(1) << 31)

/* Steps that are not code; outermost. */
enum hp_step_mark {
	HP_STEP_OTHER = 1,	/* no path: the segment was full, or a signal handler interfered */
	HP_STEP_CUT = 2,	/* deeper than HOTPATH_ALLOC_DEPTH: the outer frames are not known */
	HP_STEP_LOST = 3,	/* the walk ended before the outermost frame */
};

struct hp_steps {
	uint64_t next;	/* set once: list of the heap */
	uint32_t capacity;	/* set once */
	_Atomic uint32_t count;	/* owner */
	uint64_t rules;	/* of the oldest chunk, owner: head of the list of hp_frame_rules */
	uint64_t walks;	/* the same: hp_heap.walks when it took the heap */
	uint64_t reserved[4];
	struct hp_step at[];
};

/*
 * How to find the caller of a frame (unwind/cfi.h), for later owners of the heap. Readers do not need
 * it.
 */
struct hp_frame_rule {
	uint32_t object;	/* offset / HP_LINE of hp_object */
	uint32_t address;	/* return address: ELF address */
	int32_t cfa_offset;
	int16_t fp_offset;
	int8_t ra_offset;
	uint8_t kind;	/* enum hp_row_kind */
};

struct hp_frame_rules {
	uint64_t next;	/* set once: list of the heap */
	uint32_t capacity;	/* set once */
	uint32_t count;	/* owner */
	uint64_t reserved[6];
	struct hp_frame_rule at[];
};

/*
 * All of a site's blocks: allocs + temporary.  On the heap there are allocs -
 * frees - far_frees.  Its bytes at the process's peak: at_peak if `epoch` is the
 * process's, else its current bytes (unchanged since).
 */
struct hp_site {
	uint64_t allocs;	/* owner: blocks still live at the thread's next allocation */
	uint64_t bytes;	/* owner: of these */
	uint64_t frees;	/* owner: of these, freed by the same thread */
	uint64_t freed;	/* owner: bytes */
	uint64_t temporary;	/* owner: the others */
	uint64_t temporary_bytes;	/* owner */
	int64_t at_peak;	/* owner, or the freeing thread: bytes held at peak number `epoch`, without `base` */
	_Atomic uint32_t epoch;	/* owner, or the freeing thread */
	uint32_t heap;	/* set once: offset / HP_LINE of its hp_heap */

	_Atomic uint64_t far_frees;	/* other threads of the process, atomic add */
	_Atomic uint64_t far_freed;	/* the same: bytes */
	int64_t base;	/* its process, when taken over: bytes that earlier processes left */
	int64_t folded_peak;	/* its process, when taken over: sum of at_peak of the earlier ones */
	uint64_t next;	/* set once: list of the heap */
	uint32_t step;	/* set once: id of the innermost step */
	uint32_t map_site;	/* owner: offset / HP_LINE of the site of direct maps on this path; 0 = none */
	union {
		uint32_t kinds;	/* of direct maps, holder of hp_maps: bits of enum hp_map_kind */
		uint32_t lost;	/* of blocks, its process at its end: that nothing points to */
	};
	uint32_t spread;	/* owner: offset / HP_LINE of its hp_spread_of_blocks; 0 = none */
	union {
		uint64_t splits;	/* of direct maps, the same: how often a map was split in two */
		uint64_t lost_bytes;	/* of blocks: bytes of those that are lost */
	};
};

/* The sampled blocks of one site that has many. */
struct hp_spread_of_blocks {
	uint32_t sizes[HP_SIZE_CLASSES];	/* owner; UINT32_MAX = that or more, */
	_Atomic uint32_t lives[HP_LIFE_CLASSES];	/* freeing thread, atomic add: and here */
	uint32_t reserved[8];
};

/*
 * Mappings made by a process itself, not through the allocator: mmap, mremap,
 * brk. Each range has a separate kind of hp_site, in hp_heap.map_sites:
 * `allocs` and `bytes` count mappings, `frees` counts unmapped ranges, `freed`
 * their bytes; remaining ranges: allocs + splits - frees. The holder of the
 * process's lock for maps writes all of it.
 */
struct hp_maps {
	int64_t live;	/* bytes mapped now */
	int64_t peak;	/* highest noted value */
	uint32_t epoch;	/* number of the last peak */
	uint32_t fault;	/* enum hp_maps_fault */
	int64_t folded_live;	/* its process, when taken over: `live` then */
	int64_t folded_peak;	/* its process, when taken over: sum of the earlier ones' peaks */
	_Atomic uint64_t lost;	/* its threads: calls that were not recorded */
	uint64_t other;	/* set once: offset of the site for blocks without a path */
	uint64_t inner;	/* set once: the same of the allocator's own */
};

enum hp_map_kind {
	HP_MAP_MEMORY = 1,	/* private, of zeroes */
	HP_MAP_SHARED = 2,
	HP_MAP_FILE = 4,
	HP_MAP_RESERVED = 8,	/* no access at first */
	HP_MAP_BREAK = 16,	/* brk, sbrk */
	HP_MAP_MOVED = 32,	/* mremap */
	HP_MAP_INNER = 64,	/* by an allocator, for its blocks */
};

/* Why the figures end before the process did. */
enum hp_maps_fault {
	HP_MAPS_FINE = 0,
	HP_MAPS_LEFT = 1,	/* a thread left our code halfway: longjmp, cancellation */
	HP_MAPS_NO_MEMORY = 2,
};

static_assert(sizeof(struct hp_heap) == 704, "format: readers rely on it");
static_assert(offsetof(struct hp_heap, live) == 64, "one line is all a usual allocation touches");
static_assert(sizeof(struct hp_step) == 16, "format: readers rely on it");
static_assert(sizeof(struct hp_steps) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_frame_rule) == 16, "format");
static_assert(sizeof(struct hp_frame_rules) == 64, "format");
static_assert(sizeof(struct hp_site) == 128, "format: readers rely on it");
static_assert(sizeof(struct hp_spread_of_blocks) == 256, "format: readers rely on it");
static_assert(sizeof(struct hp_maps) == 64, "format: readers rely on it");
static_assert(offsetof(struct hp_site, far_frees) == 64, "one line is all its owner touches");

#endif
