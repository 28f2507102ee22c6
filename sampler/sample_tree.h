/* SPDX-License-Identifier: MIT */
/*
 * sample_tree.h - stacks in the segment: each place once below each path to it.
 *
 * The nodes are hp_stack_node, for readers; what finds them again by a hash of
 * the path from outside is private to the sampler.  Memory is bounded: when there is
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

#define HP_TREE_ROOT UINT64_C(0)	/* the hash of no place at all */

/* Of a path, by the 64 bits of its hash: two of a million are alike once in 37 million runs. */
struct hp_tree_slot {
	uint64_t hash;
	uint32_t number;	/* of the node; 0 = empty */
};

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
	struct hp_tree_slot *slots;
	uint32_t slot_count;	/* a power of two */
};

/* Returns false if there is no room for even the root. */
bool hp_sample_tree_init(struct hp_sample_tree *tree, const struct hp_segment *segment,
			 struct hp_sampling *record);
void hp_sample_tree_release(struct hp_sample_tree *tree);

/* The number of the node of a stack, innermost place first.  `is_folded`: it is not all of it. */
uint32_t hp_sample_tree_at(struct hp_sample_tree *tree, const struct hp_place *places,
			   uint32_t count, bool *is_folded);

/*
 * The same below a path that is known by its hash.  `hashes` gets those of the
 * paths up to each place.
 */
uint32_t hp_sample_tree_below(struct hp_sample_tree *tree, uint64_t from,
			      const struct hp_place *places, uint32_t count, uint64_t *hashes,
			      bool *is_folded);
struct hp_stack_node *hp_sample_tree_node(const struct hp_sample_tree *tree, uint32_t number);

#endif
