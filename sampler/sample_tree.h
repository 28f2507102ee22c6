/* SPDX-License-Identifier: MIT */
/*
 * sample_tree.h - stacks in the segment: each place once below each path to it.
 *
 * The nodes are hp_stack_node, for readers; what finds them again by (parent,
 * object, address) is private to the sampler.  Memory is bounded: when there is
 * no room for another node, what belongs there is charged to a node of its
 * innermost place directly below the root, and where that does not fit either
 * to the root.
 */
#ifndef HP_SAMPLER_SAMPLE_TREE_H
#define HP_SAMPLER_SAMPLE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "segment/segment.h"

#define HP_STACK_MOST 1024	/* places of a stack; of a longer one the innermost */

/* Where code is, in terms of its object. */
struct hp_place {
	uint64_t address;
	uint32_t object;	/* offset / HP_LINE; 0 = not known */
};

struct hp_sample_tree {
	const struct hp_segment *segment;
	struct hp_sampling *record;
	struct hp_stack_chunk *newest;
	struct hp_stack_chunk **chunks;	/* all of one capacity */
	uint32_t chunk_count;
	uint32_t node_most;
	uint32_t count;
	uint32_t *slots;	/* hash of nodes; 0 = empty */
	uint32_t slot_count;	/* a power of two */
};

/* Returns false if there is no room for even the root. */
bool hp_sample_tree_init(struct hp_sample_tree *tree, const struct hp_segment *segment,
			 struct hp_sampling *record);
void hp_sample_tree_release(struct hp_sample_tree *tree);

/* The number of the node of a stack, innermost place first.  `is_folded`: it is not all of it. */
uint32_t hp_sample_tree_at(struct hp_sample_tree *tree, const struct hp_place *places,
			   uint32_t count, bool *is_folded);
struct hp_stack_node *hp_sample_tree_node(const struct hp_sample_tree *tree, uint32_t number);

#endif
