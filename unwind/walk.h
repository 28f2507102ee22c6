/* SPDX-License-Identifier: MIT */
/*
 * walk.h - walks the callers on a stack of this process, by rows.
 *
 * Folder: unwind - call frame information: from one frame of a stack to the
 *   next
 * May use: util
 *
 * The walker caches rows in a table, so a frame seen before costs a few
 * nanoseconds. Besides return addresses, a walk returns the slots that decided
 * it: words of the stack and their values. If all of them have the same values
 * again, at the same stack pointer (and frame pointer, if used), the walk would
 * give the same result, because each slot's place follows from the ones further
 * in. So read a slot only after those further in compared equal; then every
 * slot read belongs to a live frame, or, where the code has no call frame information, is on the
 * home stack (has_guessed: it must still be the same one).
 *
 * The last walk is the trail. The next walk stops where it meets a frame of the
 * trail whose slots still have the same values. Most of a deep stack stays the
 * same from one allocation to the next, and comparing costs a tenth of walking.
 *
 * No malloc, no lock.  One thread at a time uses a walker.
 */
#ifndef HP_UNWIND_WALK_H
#define HP_UNWIND_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi.h"
#include "util/hash.h"

struct hp_walk_slot {
	uintptr_t place;
	uintptr_t word;
};

/* A frame of the trail. */
struct hp_walk_frame {
	uintptr_t pc;	/* return address (of an interrupted instruction: its address + 1) */
	uintptr_t sp;	/* there */
	uintptr_t fp;	/* there */
	uint64_t hash;	/* of this frame's return address and those further out */
	uint32_t slots;	/* number of slots, from the first, that decide the frames further out */
	uint32_t needs_fp;	/* frames further out depend on fp */
};

/* Frames that the current walk has found. */
struct hp_walk_fresh {
	uintptr_t pc;
	uintptr_t sp;
	uintptr_t fp;
	uintptr_t ra_place;	/* where the next frame's pc was loaded from; 0 = no next frame */
	uintptr_t fp_place;	/* the same for its fp; 0 = unchanged */
	uintptr_t cfa_place;	/* the same for its sp; 0 = computed */
	bool uses_fp;
	bool checks_fp;	/* the next frame's fp decides, whoever uses it */
};

enum hp_walk_mode {
	HP_WALK_AUTO = 0,	/* call frame information, frame pointers where none exists */
	HP_WALK_CFI,
	HP_WALK_FP,
};

struct hp_walker {
	struct hp_cfi_row *rows;	/* pairs, by pc; zeroed at first */
	uint32_t row_shift;	/* 64 - log2(number of pairs, at least four) */
	uint32_t mode;	/* enum hp_walk_mode */
	uint32_t most;	/* frames; further ones are not walked */
	uint64_t fills;	/* rows made, ever */
	/* Called for each of them; NULL = no need. */
	void (*made)(struct hp_walker *walker, const struct hp_cfi_row *row);
	/* The known stack: from any stack pointer on it up to here. */
	uintptr_t home_low;
	uintptr_t home_high;
	/*
	 * For the search for home_low: as far as known, no stack pointer below
	 * this is on that stack.
	 */
	uintptr_t home_hole;
	uint32_t hole_passed;	/* times that this was so, */
	uint32_t hole_wait;	/* and the count at which it is checked again */
	/*
	 * For other stacks: true if `size` bytes at `address` are readable.
	 * NULL = unknown, so such a stack is walked only to the end of its
	 * page.
	 */
	bool (*is_readable)(uintptr_t address, uintptr_t size);

	/* Code of the loader; where it has no information, the process began there. */
	uintptr_t start_low;
	uintptr_t start_high;
	uintptr_t entry;	/* the program's: some linkers leave _start without information, too */

	/* The last walk, outermost frame first. */
	struct hp_walk_frame
		*trail;	/* room for `most`; preceded by one without slots, which is outermost */
	struct hp_walk_slot *slots; /* room for 3 * most; preceded by one that never matches */
	struct hp_walk_fresh *fresh;	/* room for `most`; current walk, innermost first */
	uint32_t count;
	uint32_t shared;	/* frames, from the outermost, that all walks since the user set it have shared */
	bool is_followed;	/* the next walk may end in it */
	bool is_complete;	/* reached the outermost frame */
	bool is_cut;	/* more frames than `most` */
	bool is_proven;	/* the slots prove it */
	bool has_kept;	/* hp_cfi.has_kept, of `room` */
	/* A slot's place was taken from a frame pointer that may be any number, or from an inherited row. */
	bool has_guessed;
	/*
	 * Rows were made by another process, and may be wrong: they serve on the home stack only, which is
	 * readable up to its end.
	 */
	bool has_inherited;
	uintptr_t limit;	/* end of readable memory */
	uint64_t room[HP_CFI_ROOM / 8];
};

/*
 * Bytes needed for walks of this many frames, without rows; hp_walk_settle
 * divides such zeroed memory up.
 */
#define HP_WALK_ROOM(most) \
	(sizeof(struct hp_walk_frame) + 5 * sizeof(struct hp_walk_slot) + \
	 (most) * (sizeof(struct hp_walk_frame) + 3 * sizeof(struct hp_walk_slot) + \
		   sizeof(struct hp_walk_fresh)))
void hp_walk_settle(struct hp_walker *walker, void *room, uint32_t most);

#define HP_WALK_PAIR (2 * sizeof(struct hp_cfi_row))
#define HP_WALK_NEAR 8	/* rows of four pairs */

/* The pair that holds the row of `pc`, if any does. */
static inline struct hp_cfi_row *hp_walk_pair(const struct hp_walker *walker, uintptr_t pc)
{
	/* Multiplicative hashing, with the factor of SplitMix64. */
	return &walker->rows[2 * ((pc * HP_HASH_FACTOR) >> walker->row_shift)];
}

/*
 * Rows without room in their pair are in another one of its four, side by side, if there is room.
 * The row of `pc` among them; 0 = an empty one. NULL = none.
 */
static inline struct hp_cfi_row *hp_walk_near(const struct hp_walker *walker,
					      const struct hp_cfi_row *pair, uintptr_t pc)
{
	struct hp_cfi_row *row = walker->rows + ((pair - walker->rows) & ~(HP_WALK_NEAR - 1));

	for (struct hp_cfi_row *end = row + HP_WALK_NEAR; row < end; row++)
		if (row->pc == pc)
			return row;
	return NULL;
}

/* Puts a row into the table that is not there. If there is no room, the older one of its pair is lost. */
void hp_walk_keep(struct hp_walker *walker, const struct hp_cfi_row *row);

/* The frames from the return address `pc` on; sp is its value before that function was called. */
void hp_walk(struct hp_walker *walker, uintptr_t pc, uintptr_t sp, uintptr_t fp);

/* Discards all rows, of which some were inherited. */
void hp_walk_forget_rows(struct hp_walker *walker);

/* Discards the trail of the last walk: code was unmapped. */
static inline void hp_walk_forget(struct hp_walker *walker)
{
	walker->is_followed = false;
	walker->has_kept = false;
}

#endif
