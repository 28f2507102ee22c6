/* SPDX-License-Identifier: MIT */
/*
 * walk.h - walks the callers on a stack of this process, by rows.
 *
 * The rows are kept in a direct-mapped table of the walker's, so a frame that
 * was met before costs some nanoseconds.  Beside the return addresses a walk
 * gives the slots that decided it, from the inside out: words of the stack and
 * what they held.  Where all of them hold the same again, at the same stack
 * pointer (and frame pointer, if that was used), the walk would come out the
 * same: each slot's place follows from the ones before it.  So a slot is to be
 * read only after the ones before it were found equal; then none is read that
 * is not of a live frame.
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

enum hp_walk_mode {
	HP_WALK_AUTO = 0,	/* call frame information, frame pointers where there is none */
	HP_WALK_CFI,
	HP_WALK_FP,
};

struct hp_walker {
	struct hp_cfi_row *rows;	/* zeroed at first */
	uint32_t row_shift;	/* 64 - log2(number of rows) */
	uint32_t mode;	/* enum hp_walk_mode */
	uint32_t most;	/* frames; the outer ones beyond are not walked */
	uint64_t fills;	/* rows made, ever */
	/* The stack that is known to be there: from any stack pointer on it up to here. */
	uintptr_t home_low;
	uintptr_t home_high;
	/*
	 * Of other stacks: true if `size` bytes at `address` can be read.  NULL = nobody
	 * can tell, so such a stack is walked to the end of its page only.
	 */
	bool (*is_readable)(uintptr_t address, uintptr_t size);

	/* Code without information in here is where the process began: of the loader. */
	uintptr_t start_low;
	uintptr_t start_high;

	/* The last walk. */
	uintptr_t *frames;	/* return addresses (of an interrupted instruction: its address + 1) */
	struct hp_walk_slot *slots;	/* room for 2 * most + 2 */
	uint32_t count;
	uint32_t slot_count;
	bool is_complete;	/* it reached the outermost frame */
	bool is_cut;	/* there were more frames than `most` */
	bool is_proven;	/* the slots prove it */
	bool uses_fp;	/* of the start */
	uint64_t hash;	/* of the frames */
	uintptr_t limit;	/* end of what may be read */
	uint64_t room[HP_CFI_ROOM / 8];
};

/* The frames from the return address `pc` on; sp is what it was before the call of that function. */
void hp_walk(struct hp_walker *walker, uintptr_t pc, uintptr_t sp, uintptr_t fp);

/* The same step by step, by the programs themselves: to compare. */
uint32_t hp_walk_slowly(struct hp_walker *walker, uintptr_t pc, uintptr_t sp, uintptr_t fp,
			uintptr_t *frames);

#endif
