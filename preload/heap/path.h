/* SPDX-License-Identifier: MIT */
/*
 * path.h - from the stack of a call to the site of its call path.
 *
 * The path cache answers the usual case.  An entry has a key, (return address, stack
 * pointer), and holds the slots that decided the walk (unwind/walk.h), innermost last; it matches
 * only if all of them hold the same words. The entry that followed the latest one last time is
 * tried first, then those of the key. So a hit is exact, costs some two loads per frame, and reads
 * only words of live frames. Misses are walked; one hash over the whole path leads to its site;
 * only a path that is new for this thread is added to the tree.
 */
#ifndef HP_PRELOAD_HEAP_PATH_H
#define HP_PRELOAD_HEAP_PATH_H

#include "preload/guest/guest.h"
#include "preload/heap/heap.h"
#include "util/hash.h"

struct hp_path_entry {
	uintptr_t pc;	/* return address; 1 = matches nothing */
	uintptr_t sp;	/* before the call */
	uintptr_t fp;
	uintptr_t fp_mask;	/* 0 = the frame pointer does not matter */
	uint64_t site;	/* offset of hp_site */
	const struct hp_walk_slot *top;	/* the innermost slot */
	uint32_t size;	/* of all of it; 0 = the ring's end */
	uint32_t set;	/* place in the index */
	uint32_t number;
	uint32_t reserved;
	struct hp_walk_slot slots[];	/* the first never matches; the others as in the walker */
};

/* A stand-in's knowledge of its caller. */
struct hp_path_frame {
	uintptr_t pc;	/* return address */
	uintptr_t sp;	/* before the call */
	uintptr_t fp;
};

/* Belongs to the function that uses it, which keeps a frame pointer for it. */
#if defined(__x86_64__)
#define HP_PATH_FRAME \
	((struct hp_path_frame){ ((const uintptr_t *)__builtin_frame_address(0))[1], \
				 (uintptr_t)__builtin_frame_address(0) + 2 * sizeof(uintptr_t), \
				 ((const uintptr_t *)__builtin_frame_address(0))[0] })
#else
#define HP_PATH_FRAME \
	((struct hp_path_frame){ (uintptr_t)__builtin_return_address(0), \
				 (uintptr_t)__builtin_dwarf_cfa(), \
				 ((const uintptr_t *)__builtin_frame_address(0))[0] })
#endif

/*
 * Once, before the program's code: it may later make the top of its stack unreadable, where the
 * kernel put the auxiliary vector.
 */
void hp_path_begin(void);

/*
 * True if the loader's code is at `pc`. Its frees in a thread without a heap are from the
 * thread's end, after the last key destructor: a heap opened then would never be released.
 */
bool hp_path_is_loader(uintptr_t pc);

/* Tables and caches; false = no memory. */
bool hp_path_init(struct hp_heap_local *me, uintptr_t sp);

/* The stack of the thread that took `me` over. */
void hp_path_set_stack(struct hp_heap_local *me, uintptr_t sp);

/* Empties the address-keyed caches. */
void hp_path_forget(struct hp_heap_local *me);

/*
 * If the entry that is tried first does not match: the others of its key, else a walk.
 * Never NULL. The frame's words are passed separately: otherwise they would be stored for
 * each call.
 */
struct hp_site *hp_path_miss(struct hp_heap_local *me, uintptr_t pc, uintptr_t sp, uintptr_t fp);

/* Walks again, from the allocation to the outermost frame, and compares. */
struct hp_site *hp_path_prove(struct hp_heap_local *me, const struct hp_path_frame *frame);

static inline bool hp_path_slot_fits(const struct hp_walk_slot *slot)
{
	return *(const uintptr_t *)slot->place == slot->word;
}

static inline bool hp_path_fits(const struct hp_path_entry *entry, uintptr_t pc, uintptr_t sp,
				uintptr_t fp)
{
	const struct hp_walk_slot *slot;

	if (HP_UNLIKELY(entry->pc != pc) || HP_UNLIKELY(entry->sp != sp) ||
	    HP_UNLIKELY((entry->fp ^ fp) & entry->fp_mask))
		return false;
	/* The first slot never matches, so each needs one comparison. */
	for (slot = entry->top;; slot -= 4) {
		if (HP_UNLIKELY(!hp_path_slot_fits(slot)))
			return slot == entry->slots;
		if (HP_UNLIKELY(!hp_path_slot_fits(slot - 1)))
			return slot - 1 == entry->slots;
		if (HP_UNLIKELY(!hp_path_slot_fits(slot - 2)))
			return slot - 2 == entry->slots;
		if (HP_UNLIKELY(!hp_path_slot_fits(slot - 3)))
			return slot - 3 == entry->slots;
	}
}

static inline uint32_t *hp_path_set(const struct hp_heap_local *me, uintptr_t pc, uintptr_t sp)
{
	uint64_t key = pc ^ sp << 20;

	/* A mask of bytes is two operations less than a shift and a multiplication. */
	return (uint32_t *)(void *)((char *)me->index +
				    ((key * HP_HASH_FACTOR) >> 40 & me->index_mask));
}

/* The number of the entry that is tried first: the one that followed the latest last time. */
static inline uint32_t hp_path_expected(const struct hp_heap_local *me)
{
	return me->numbers[me->latest].next;
}

/* The entry of this number; if it is gone, the one that matches nothing. */
static inline const struct hp_path_entry *hp_path_numbered(const struct hp_heap_local *me,
							   uint32_t number)
{
	return (const struct hp_path_entry *)(me->entries + me->numbers[number].place);
}

/* The place of this caller's site, if paths have no other frame. */
static inline struct hp_path_flat *hp_path_flat(const struct hp_heap_local *me, uintptr_t pc)
{
	return &me->flat[hp_hash_index(pc, HP_PATH_FLAT_BITS)];
}

#endif
