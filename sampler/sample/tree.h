/* SPDX-License-Identifier: MIT */
/*
 * tree.h - stacks in the segment: each place once below each path to it.
 *
 * The nodes are hp_stack_node, for readers; the index, by a hash of the path, is
 * private to the sampler.  Memory is bounded: without room for another
 * node, its time is charged to a node of its innermost place directly below the
 * root, and without room for that one to the root.
 */
#ifndef HP_SAMPLER_SAMPLE_TREE_H
#define HP_SAMPLER_SAMPLE_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "segment/segment.h"
#include "segment/layout/sample.h"

/* A path from the outermost place up to some place: the root's children start empty, { 0, 0 }. */
struct hp_tree_path {
	uint64_t hash;
	uint32_t node;
};

/*
 * A node's slot, by the hash of its path: the upper 44 bits of that and the node's number; the
 * lower ones determine the slot's place. Two of a million paths collide once in 7 million runs.
 */
#define HP_TREE_NUMBER_BITS 20
typedef uint64_t hp_tree_slot;	/* 0 = empty */

/* Where code is, in terms of its object. */
struct hp_place {
	uint64_t address;
	uint32_t object;	/* offset / HP_LINE; 0 = not known */
};

struct hp_sample_tree {
	const struct hp_segment *segment;
	struct hp_sampling *record;
	struct hp_stack_chunk *newest;
	struct hp_stack_changes *changes;	/* NULL = no room for them */
	struct hp_stack_chunk **chunks;	/* all of one capacity */
	uint32_t chunk_count;
	uint32_t node_most;
	uint32_t count;
	hp_tree_slot *slots;
	uint32_t slot_count;	/* a power of two */
};

/* Returns false without room for even the root. */
bool hp_sample_tree_init(struct hp_sample_tree *tree, const struct hp_segment *segment,
			 struct hp_sampling *record);
void hp_sample_tree_release(struct hp_sample_tree *tree);

/* The number of the node of a stack, innermost place first. `is_folded`: only a part of it. */
uint32_t hp_sample_tree_at(struct hp_sample_tree *tree, const struct hp_place *places,
			   uint32_t count, bool *is_folded);

/* The same below a known path. `paths` gets those up to each place. */
uint32_t hp_sample_tree_below(struct hp_sample_tree *tree, struct hp_tree_path from,
			      const struct hp_place *places, uint32_t count,
			      struct hp_tree_path *paths, bool *is_folded);
struct hp_stack_node *hp_sample_tree_node(const struct hp_sample_tree *tree, uint32_t number);

/* The node's counters have changed: notifies readers. */
void hp_sample_tree_changed(const struct hp_sample_tree *tree, uint32_t number);

#endif
