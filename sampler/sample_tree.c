/* SPDX-License-Identifier: MIT */
/*
 * sample_tree.c - see sample_tree.h.
 */
#include "sampler/sample_tree.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_SIZE (UINT64_C(65536))
#define CHUNK_NODES \
	(uint32_t)((CHUNK_SIZE - sizeof(struct hp_stack_chunk)) / sizeof(struct hp_stack_node))
#define SLOTS_FIRST 4096
#define SHARE_OF_SEGMENT 4	/* nodes take no more of it */
#define NODES_MOST (UINT32_C(1) << 20)
#define NODES_RESERVED 4096	/* for innermost places, when paths have no room any more */

static struct hp_stack_node *node_at(const struct hp_sample_tree *tree, uint32_t number)
{
	return &tree->chunks[number / CHUNK_NODES]->nodes[number % CHUNK_NODES];
}

static bool chunk_new(struct hp_sample_tree *tree)
{
	struct hp_stack_chunk **list =
		realloc(tree->chunks, (tree->chunk_count + 1) * sizeof(struct hp_stack_chunk *));
	uint64_t offset;

	if (!list)
		return false;
	tree->chunks = list;
	offset = hp_segment_take(tree->segment, CHUNK_SIZE, HP_LINE);
	struct hp_stack_chunk *chunk = hp_segment_at(tree->segment, offset, CHUNK_SIZE);
	if (!chunk)
		return false;
	chunk->capacity = CHUNK_NODES;
	list[tree->chunk_count++] = chunk;
	if (tree->newest)
		tree->newest->next = offset;
	else
		tree->record->nodes = offset;
	tree->newest = chunk;
	return true;
}

/* Readers see a node once it is complete. */
static uint32_t node_new(struct hp_sample_tree *tree, uint32_t parent, struct hp_place place,
			 uint32_t most)
{
	if (tree->count >= most || (tree->count % CHUNK_NODES == 0 && !chunk_new(tree)))
		return 0;
	uint32_t number = tree->count;
	struct hp_stack_node *node = node_at(tree, number);
	node->address = place.address;
	node->object = place.object;
	node->parent = parent;
	tree->count++;
	__atomic_store_n(&tree->newest->count, number % CHUNK_NODES + 1, __ATOMIC_RELEASE);
	tree->record->node_count = tree->count;
	return number;
}

bool hp_sample_tree_init(struct hp_sample_tree *tree, const struct hp_segment *segment,
			 struct hp_sampling *record)
{
	uint64_t most = segment->size / SHARE_OF_SEGMENT / sizeof(struct hp_stack_node);

	memset(tree, 0, sizeof(*tree));
	tree->segment = segment;
	tree->record = record;
	tree->node_most = most < NODES_MOST ? (uint32_t)most : NODES_MOST;
	tree->slot_count = SLOTS_FIRST;
	tree->slots = calloc(tree->slot_count, sizeof(*tree->slots));
	if (!tree->slots)
		return false;
	node_new(tree, 0, (struct hp_place){ .address = 0 }, 1);
	return tree->count == 1;
}

void hp_sample_tree_release(struct hp_sample_tree *tree)
{
	free(tree->chunks);
	free(tree->slots);
	memset(tree, 0, sizeof(*tree));
}

static uint32_t *slot_of(const struct hp_sample_tree *tree, uint32_t parent, struct hp_place place)
{
	uint64_t hash = (place.address ^ ((uint64_t)parent << 40) ^ ((uint64_t)place.object << 20) ^
			 parent) *
			UINT64_C(0x9E3779B97F4A7C15);
	uint32_t at = (uint32_t)(hash >> 32);

	for (;; at++) {
		uint32_t *slot = &tree->slots[at & (tree->slot_count - 1)];
		const struct hp_stack_node *node;

		if (!*slot)
			return slot;
		node = node_at(tree, *slot);
		if (node->parent == parent && node->address == place.address &&
		    node->object == place.object)
			return slot;
	}
}

static bool grow(struct hp_sample_tree *tree)
{
	struct hp_sample_tree larger = *tree;

	if (tree->count * 2 < tree->slot_count)
		return true;
	larger.slot_count = tree->slot_count * 2;
	larger.slots = calloc(larger.slot_count, sizeof(*larger.slots));
	if (!larger.slots)
		return tree->count + 1 < tree->slot_count;
	for (uint32_t i = 1; i < tree->count; i++) {
		const struct hp_stack_node *node = node_at(tree, i);

		*slot_of(&larger, node->parent, (struct hp_place){ node->address, node->object }) =
			i;
	}
	free(tree->slots);
	*tree = larger;
	return true;
}

/* 0 = there is no room. */
static uint32_t child_of(struct hp_sample_tree *tree, uint32_t parent, struct hp_place place,
			 uint32_t most)
{
	if (!grow(tree))
		return 0;
	uint32_t *slot = slot_of(tree, parent, place);
	if (!*slot)
		*slot = node_new(tree, parent, place, most);
	return *slot;
}

uint32_t hp_sample_tree_at(struct hp_sample_tree *tree, const struct hp_place *places,
			   uint32_t count, bool *is_folded)
{
	uint32_t most = tree->node_most > NODES_RESERVED ? tree->node_most - NODES_RESERVED : 1;
	uint32_t node = 0;

	*is_folded = false;
	for (uint32_t i = count; i-- > 0;) {
		uint32_t child = child_of(tree, node, places[i], most);

		if (child) {
			node = child;
			continue;
		}
		*is_folded = true;
		node = child_of(tree, 0, places[0], tree->node_most);
		break;
	}
	return node;
}

struct hp_stack_node *hp_sample_tree_node(const struct hp_sample_tree *tree, uint32_t number)
{
	return node_at(tree, number);
}
