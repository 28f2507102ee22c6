/* SPDX-License-Identifier: MIT */
/*
 * walk.h - walks the callers on a stack of this process, by rows.
 *
 * Folder: unwind - call frame information: from one frame of a stack to the
 *   next
 * May use: util
 *
 * The rows are kept in a table of the walker's, so a frame that was met before
 * costs some nanoseconds.  Beside the return addresses a walk gives the slots
 * that decided it: words of the stack and what they held.  Where all of them
 * hold the same again, at the same stack pointer (and frame pointer, if that was
 * used), the walk would come out the same: each slot's place follows from the
 * ones further in.  So a slot is to be read only after those further in were
 * found equal; then none is read that is not of a live frame.
 *
 * The last walk is the trail.  The next one leaves it where it meets a frame
 * that was there too, if the slots from there on hold the same: most of a deep
 * stack stays as it is from one allocation to the next, and comparing costs a
 * tenth of walking.
 *
 * No malloc, no lock.  One thread at a time uses a walker.
 */
#ifndef HP_UNWIND_WALK_H
#define HP_UNWIND_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/cfi.h"

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
	uint32_t slots;	/* that decide what is further out: so many from the first on */
	uint32_t needs_fp;	/* what is further out hangs on fp */
};

/* What the present walk has met. */
struct hp_walk_fresh {
	uintptr_t pc;
	uintptr_t sp;
	uintptr_t fp;
	uintptr_t ra_place;	/* where the next frame's pc was loaded from; 0 = there is no next one */
	uintptr_t fp_place;	/* the same of its fp; 0 = it is the same one */
	uintptr_t cfa_place;	/* the same of its sp; 0 = reckoned */
	bool uses_fp;
};

enum hp_walk_mode {
	HP_WALK_AUTO = 0,	/* call frame information, frame pointers where there is none */
	HP_WALK_CFI,
	HP_WALK_FP,
};

struct hp_walker {
	struct hp_cfi_row *rows;	/* pairs, by pc; zeroed at first */
	uint32_t row_shift;	/* 64 - log2(number of pairs) */
	uint32_t mode;	/* enum hp_walk_mode */
	uint32_t most;	/* frames; the outer ones beyond are not walked */
	uint64_t fills;	/* rows made, ever */
	/* The stack that is known to be there: from any stack pointer on it up to here. */
	uintptr_t home_low;
	uintptr_t home_high;
	/* Of who looks for home_low: no stack pointer below this one is of it, as far as is known. */
	uintptr_t home_hole;
	uint32_t hole_passed;	/* times that this was so, */
	uint32_t hole_wait;	/* and after how many it is looked at again */
	/*
	 * Of other stacks: true if `size` bytes at `address` can be read.  NULL = nobody
	 * can tell, so such a stack is walked to the end of its page only.
	 */
	bool (*is_readable)(uintptr_t address, uintptr_t size);

	/* Code without information in here is where the process began: of the loader. */
	uintptr_t start_low;
	uintptr_t start_high;

	/* The last walk, outermost frame first. */
	struct hp_walk_frame
		*trail;	/* room for `most`; in front of it one without slots, above all */
	struct hp_walk_slot
		*slots;	/* room for 3 * most; in front of it one that never holds its word */
	struct hp_walk_fresh *fresh;	/* room for `most`; innermost first, of the present one */
	uint32_t count;
	uint32_t shared;	/* frames that were those of the walk before */
	bool is_followed;	/* the next walk may end in it */
	bool is_complete;	/* it reached the outermost frame */
	bool is_cut;	/* there were more frames than `most` */
	bool is_proven;	/* the slots prove it */
	uintptr_t limit;	/* end of what may be read */
	uint64_t room[HP_CFI_ROOM / 8];
};

/* Bytes for walks of so many frames, rows apart; hp_walk_settle divides such zeroed memory up. */
#define HP_WALK_ROOM(most) \
	(sizeof(struct hp_walk_frame) + 5 * sizeof(struct hp_walk_slot) + \
	 (most) * (sizeof(struct hp_walk_frame) + 3 * sizeof(struct hp_walk_slot) + \
		   sizeof(struct hp_walk_fresh)))
void hp_walk_settle(struct hp_walker *walker, void *room, uint32_t most);

/* The frames from the return address `pc` on; sp is what it was before the call of that function. */
void hp_walk(struct hp_walker *walker, uintptr_t pc, uintptr_t sp, uintptr_t fp);

/* The trail of the last walk is not to be relied on: code was unmapped. */
static inline void hp_walk_forget(struct hp_walker *walker)
{
	walker->is_followed = false;
}

#endif
