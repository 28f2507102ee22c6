/* SPDX-License-Identifier: MIT */
/*
 * heap.h - a thread's life with the allocation stand-ins: its record in the
 * segment, and its private state.
 *
 * `hp_heap` is thread-local, 8 bytes, and points to `hp_heap_unborn` before the
 * thread has its own struct.  `gate` is not 0 while the thread records and
 * nothing else needs to be done. Any other state makes it 0, so the stand-ins'
 * one comparison covers all: unborn, inside our own slow path, closed,
 * something to do first. And forked: the struct lies in a MADV_WIPEONFORK page.
 *
 * A signal handler may allocate between any two instructions here, and other
 * threads free this thread's blocks.
 *
 * Folder: preload/heap - allocations and mappings: stand-ins, call paths, live blocks.
 * May use: preload/call preload/thread preload/guest segment segment/layout unwind util
 */
#ifndef HP_PRELOAD_HEAP_HEAP_H
#define HP_PRELOAD_HEAP_HEAP_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/guest/above.h"
#include "preload/guest/early.h"
#include "preload/guest/guest.h"
#include "preload/guest/free_list.h"
#include "preload/guest/self.h"
#include "preload/guest/table.h"
#include "segment/layout/heap.h"
#include "segment/layout/process.h"
#include "segment/setting.h"
#include "unwind/walk.h"

#define HP_PATH_WAYS 4	/* entries of the cache with one key */

struct hp_path_entry;
struct hp_path_frame;

/*
 * An entry of the cache by its number, which another entry has once this one is gone. A signal
 * handler that allocates may interrupt anywhere: any mix of these fields leads to some valid
 * entry.
 */
struct hp_path_number {
	uint32_t place;	/* in `entries`; 0 = gone */
	uint32_t next;	/* number of the entry that followed this one last time */
};

/* HOTPATH_ALLOC_DEPTH=0: return address -> its site. */
struct hp_path_flat {
	uintptr_t pc;	/* 0 = empty */
	uint64_t site;	/* its offset */
};

#define HP_PATH_FLAT_BITS 10	/* log2 of their number */

/* Values of hp_heap_local.gate; 0 = something must be done first. */
enum hp_gate {
	HP_GATE_ANY = 1,	/* open, but not as the fast path assumes: another grain (shadow.h) */
	HP_GATE_PATHS,
	HP_GATE_FLAT,	/* the caller alone */
};

/* A path that was walked before in this process -> its site. */
struct hp_path_known {
	uint64_t hash;	/* of the return addresses; 0 = empty */
	uint32_t site;	/* offset / HP_LINE */
	uint32_t next;	/* place of the path two walks later, last time */
};

/* Of the index of steps. */
struct hp_path_step {
	uint32_t hash;	/* of its contents */
	uint32_t id;	/* 0 = empty */
};

struct hp_heap_local {
	/* Fields that the usual allocation touches. */
	char *base;	/* of the segment */
	char *entries;	/* the path cache's entries, a ring; the first matches nothing */
	struct hp_path_number *numbers;	/* of entries; 0 is that of the first */
	struct hp_heap *heap;
	uint64_t gate;	/* see above; enum hp_gate */
	void *last;	/* the pending block; HP_NO_BLOCK = none */
	int64_t trigger;	/* heap->live + pending_bytes above this before a free: a new peak */
	uint32_t is_off;	/* nobody requested allocations, and the allocator is known */
	uint32_t state;	/* enum hp_thread_state */

	_Atomic uint32_t *epoch;	/* hp_process.heap_epoch */
	uint32_t id;	/* offset / HP_LINE of heap */
	_Atomic uint32_t is_stale;	/* a dlclose: the caches must be emptied first */
	uint32_t proof;	/* the next answer of the cache must be walked again */
	uint32_t end_rounds;	/* calls of the key's destructor so far */
	uint32_t latest;	/* number of the entry that the last allocation had */
	uint32_t countdown;	/* blocks until one is sampled, see sampled.h */
	int64_t high;	/* above this, or below `low`, the process's sum is updated (peak.h); */
	int64_t low;	/* INT64_MAX and INT64_MIN while there is no other thread */
	uintptr_t shut_at;	/* stack pointer when the gate was shut */
	struct hp_heap_local *next;	/* list of the process */

	struct hp_path_flat *flat;	/* NULL = paths are walked */
	struct hp_local *calls;	/* whose calls are charged (preload/call/tally.h); NULL = none are */

	/* Slow paths only. */
	struct hp_tables tables;
	struct hp_free_node ended;	/* on the stack of those whose threads have */
	uint32_t gate_open;	/* the gate's value when it is open */
	const void *sampled;	/* the last sampled block; NULL = none */
	uint32_t sampled_at;	/* countdown then */
	uint32_t samples;
	const void *forgiven;	/* a block that is being deleted: freeing it again is not an error */
	uint32_t drops;	/* hp_drops when it was opened */
	_Atomic int64_t added;	/* bytes of this heap in hp_self.heap_sum */
	uint64_t random;
	uint64_t blocks;	/* number that it has allocated so far, plus `countdown` */
	int64_t net_blocks;	/* allocated minus freed, while hp_tally_has_most */
	uint32_t *index;	/* sets of HP_PATH_WAYS places in `entries` */
	uint32_t index_mask;	/* bytes of the sets, except one */
	uint32_t index_shift;	/* 64 - log2(number of sets) */
	uint64_t entries_size;
	char *ring;	/* `entries`, if larger than at first: room for as many as there may be */
	uint32_t numbers_shift;	/* 64 - log2(how many `numbers`) */
	uint32_t number;	/* of the newest entry */
	uint64_t head;	/* where the next entry goes */
	uint64_t tail;	/* the oldest entry that is not overwritten yet */
	uint64_t wraps;
	struct hp_path_known *known;	/* open addressing */
	uint32_t known_shift;
	uint32_t known_count;
	uint32_t known_last;	/* places of the last walk's path, */
	uint32_t known_before;	/* and of the one before */
	struct hp_path_step *steps;	/* open addressing */
	uint32_t step_shift;
	uint32_t step_count;
	bool has_unindexed;	/* steps of earlier processes are not in it yet */
	bool has_rules;	/* of this heap, in the segment, and they are not among the rows yet */
	struct hp_steps *chunk;	/* the newest steps */
	struct hp_steps *oldest;
	uint64_t steps_left;	/* steps of earlier processes, whose paths are not known yet; see inherit.h */
	uint64_t misses;	/* paths that were not known, while there are, */
	uint64_t misses_least;	/* and how many there must be before the others are read */
	uint32_t rules_count;	/* of this heap, in the segment */
	char *spare;	/* pages that were used for the paths, for the rows; NULL = none */
	uint64_t spare_size;
	uint64_t *kept_rules;	/* bits by their hash; NULL = none is kept yet */
	uintptr_t *past;	/* return addresses of the last new path, outermost first */
	uint32_t *past_ids;	/* and their steps */
	uint32_t past_count;
	uint32_t past_mark;	/* the outermost step, if it is not code */
	uint64_t fills_seen;	/* walker.fills when the rows were last checked */
	void *frames;	/* room of the walker and of `past` */
	uint32_t depth_most;	/* frames of a path; the walker has room for fewer at first */
	struct hp_walker walker;
};

#define HP_NO_BLOCK ((void *)1)

static_assert(HP_EARLY_ZERO(offsetof(struct hp_heap_local, gate)), "see preload/guest/early.h");
static_assert(HP_EARLY_ZERO(offsetof(struct hp_heap_local, heap)), "the same");
static_assert(HP_EARLY_ZERO(offsetof(struct hp_heap_local, is_off)), "the same");
static_assert(HP_EARLY_ZERO(offsetof(struct hp_heap_local, state)), "the same");

HP_THREAD_POINTER(struct hp_heap_local, heap)
extern struct hp_heap_local hp_heap_unborn;

extern const struct hp_recorder hp_heap_recorder;

/*
 * Handles a shut gate: opens the thread's heap if it has none, and does
 * necessary work. Returns the heap, or NULL: this allocation is not recorded.
 * Then `*is_nested` is set if a signal handler interrupted a slow path.
 */
struct hp_heap_local *hp_heap_enter(uintptr_t sp);

/*
 * The step of a call by a thread without a heap that may never allocate, walked with the heap of
 * an ended thread, which is free again afterwards. 0 = unknown: the thread may open its own.
 */
uint32_t hp_heap_borrowed_step(const struct hp_path_frame *frame);

/* The same for a free: no heap is opened for it. */
struct hp_heap_local *hp_heap_enter_free(void);

/* Around a slow path of ours. */
void hp_heap_shut(struct hp_heap_local *me, uintptr_t sp);
void hp_heap_reopen(struct hp_heap_local *me);

/* The thread's allocations in between are ours, and not recorded. */
struct hp_heap_local *hp_heap_pause(void);
void hp_heap_go_on(struct hp_heap_local *was);

/* Room in the segment for this heap, zeroed, at a multiple of HP_LINE; NULL = full. */
void *hp_heap_take(struct hp_heap_local *me, uint64_t size);

/* True if allocations are recorded in this process. */
extern bool hp_heap_is_wanted;

/* HOTPATH_ALLOC_PROVE: each path is walked and compared with the cache's answer. */
extern HP_HIDDEN bool hp_heap_proves;

/* Threads that do not record point here: for good, and while they are being opened. */
extern struct hp_heap_local hp_heap_closed;
extern HP_HIDDEN struct hp_heap_local hp_heap_opening;

/* enum hp_allocator_kind: the allocator's owner, if allocations are recorded. */
uint32_t hp_heap_allocator(void);

/* Nobody requested allocations: nothing was ever recorded in this process. */
static inline bool hp_heap_is_off(void)
{
	return hp_heap() == &hp_heap_closed && !hp_heap_is_wanted;
}

static inline struct hp_site *hp_heap_site(const struct hp_heap_local *me, uint64_t offset)
{
	return (struct hp_site *)(me->base + offset);
}

/* A record that another process may have left; NULL = no such place. */
static inline void *hp_heap_at(const struct hp_heap_local *me, uint64_t offset, uint64_t size)
{
	return hp_segment_at(&hp_segment, offset, size) ? me->base + offset : NULL;
}

#endif
