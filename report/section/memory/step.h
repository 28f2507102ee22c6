/* SPDX-License-Identifier: MIT */
/*
 * step.h - the tree of call paths: steps of equal paths are one step.
 *
 * A large program has a million steps, but only some 10,000 places in its code: each
 * place has a number, so that facts about it are found without a search.
 */
#ifndef HP_REPORT_SECTION_MEMORY_STEP_H
#define HP_REPORT_SECTION_MEMORY_STEP_H

#include <stddef.h>
#include <stdint.h>

struct hp_alloc_step {
	uint32_t caller;	/* place of the step below, which is lower; 0 = none; [0] is the root */
	uint32_t object;	/* place in model->objects, or HP_NONE */
	uint64_t address;	/* return address: ELF address, or plain */
	uint32_t mark;	/* enum hp_step_mark: no code; 0 = code */
	uint32_t depth;	/* code steps from here to the root */
	uint32_t code;	/* number of object and address, from 1; 0 = no code */
	uint32_t own;	/* place of its sum; 0 = nothing was allocated directly there */
};

/* Numbers that were found by their contents: open addressing, half full at most. */
struct hp_alloc_index {
	uint32_t *slots;	/* number + 1; 0 = empty */
	unsigned bits;
};

/* All zeroes: none, not even the root. */
struct hp_alloc_tree {
	struct hp_alloc_step *steps;
	size_t count;
	size_t room;
	uint32_t *first;	/* parallel to the steps: the first with it as its caller; 0 = none */
	size_t first_room;
	struct hp_alloc_index same;	/* of the others */
	size_t same_count;
	uint32_t *codes;	/* number - 1 -> a step with that code */
	size_t code_count;
	size_t code_room;
	struct hp_alloc_index same_codes;
};

/* With the root, and room for `more` steps. */
void hp_alloc_tree_reserve(struct hp_alloc_tree *tree, size_t more);

/* The place of an equal step, by caller, object, address and mark. */
uint32_t hp_alloc_tree_step(struct hp_alloc_tree *tree, const struct hp_alloc_step *wanted);
void hp_alloc_tree_release(struct hp_alloc_tree *tree);

/* Only the steps remain, and no more can be added. */
void hp_alloc_tree_finish(struct hp_alloc_tree *tree);

#endif
