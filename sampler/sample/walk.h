/* SPDX-License-Identifier: MIT */
/*
 * walk.h - the callers of a sample, from its registers and a copy of its stack.
 *
 * Uses the same rows of call frame information as in the target (unwind/cfi.h), read from the
 * files; they are cached by the code's address in our process. Code without information is unwound
 * by its frame pointer, if that is plausible.
 */
#ifndef HP_SAMPLER_SAMPLE_WALK_H
#define HP_SAMPLER_SAMPLE_WALK_H

#include "sampler/sample/row.h"
#include "sampler/sample/space.h"
#include "sampler/sample/trail.h"
#include "unwind/cfi.h"

struct hp_sample_walker {
	struct hp_spaces *spaces;
	struct hp_space *space;	/* of the sample */
	struct hp_rows rows;

	struct hp_stack_copy stack;
	struct hp_trail *trail;	/* of the thread; NULL = everything is walked, and nothing is kept */

	/* The result, the innermost first. */
	struct hp_place *places;
	uint32_t count;
	uint32_t most;
	uint32_t joint;	/* the outer rest equals these first frames of the trail; 0 = all are in places */
	bool is_complete;	/* it reached the first function of the thread */
	bool is_cut;	/* the copy ended earlier */

	/* The frames of the places, for the trail. */
	struct hp_trail_frame *fresh;	/* HP_TRAIL_MAX */
	uint32_t fresh_count;	/* more than that = too many */
	struct hp_trail_frame *noting;	/* receives the words that are read; NULL = none */
};

/* Returns false if memory runs out. */
bool hp_sample_walker_init(struct hp_sample_walker *walker, struct hp_spaces *spaces);
void hp_sample_walker_release(struct hp_sample_walker *walker);

/* Fills the result, which is appended to `count` places; space, stack, trail and places are set. */
void hp_sample_walk(struct hp_sample_walker *walker, uint64_t pc, uint64_t sp, uint64_t fp);

/* Keeps the walk as the thread's trail; `paths`: those up to the appended places. */
void hp_sample_walk_keep(struct hp_sample_walker *walker, const struct hp_tree_path *paths);

#endif
