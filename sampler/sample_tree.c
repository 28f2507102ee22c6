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

/* Of the path from outside up to a place: multiplication and shift, with factors of SplitMix64. */
static uint64_t hash_on(uint64_t hash, struct hp_place place)
{
	hash = (hash ^ place.address) * UINT64_C(0xbf58476d1ce4e5b9);
	hash = (hash ^ hash >> 29 ^ place.object) * UINT64_C(0x94d049bb133111eb);
	return hash ^ hash >> 32;
}

static struct hp_tree_slot *slot_of(const struct hp_sample_tree *tree, uint64_t hash)
{
	for (uint64_t at = hash;; at++) {
		struct hp_tree_slot *slot = &tree->slots[at & (tree->slot_count - 1)];

		if (!slot->number || slot->hash == hash)
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
	for (uint32_t i = 0; i < tree->slot_count; i++)
		if (tree->slots[i].number)
			*slot_of(&larger, tree->slots[i].hash) = tree->slots[i];
	free(tree->slots);
	*tree = larger;
	return true;
}

/* 0 = there is no room. */
static uint32_t child_of(struct hp_sample_tree *tree, uint32_t parent, uint64_t hash,
			 struct hp_place place, uint32_t most)
{
	if (!grow(tree))
		return 0;
	struct hp_tree_slot *slot = slot_of(tree, hash);
	if (!slot->number) {
		slot->number = node_new(tree, parent, place, most);
		slot->hash = hash;
	}
	return slot->number;
}

/* What is known of a path from here on is found from the inside out: mostly all of it. */
static uint32_t known_part(const struct hp_sample_tree *tree, uint64_t from, const uint64_t *hashes,
			   uint32_t count, uint32_t *unknown)
{
	uint32_t number;

	for (*unknown = 0; *unknown < count; ++*unknown)
		if ((number = slot_of(tree, hashes[*unknown])->number))
			return number;
	return from == HP_TREE_ROOT ? 0 : slot_of(tree, from)->number;
}

uint32_t hp_sample_tree_below(struct hp_sample_tree *tree, uint64_t from,
			      const struct hp_place *places, uint32_t count, uint64_t *hashes,
			      bool *is_folded)
{
	uint32_t most = tree->node_most > NODES_RESERVED ? tree->node_most - NODES_RESERVED : 1;
	uint64_t hash = from;
	uint32_t node, unknown;

	*is_folded = false;
	for (uint32_t i = count; i-- > 0;) {
		hashes[i] = hash = hash_on(hash, places[i]);
		__builtin_prefetch(&tree->slots[hash & (tree->slot_count - 1)]);
	}
	node = known_part(tree, from, hashes, count, &unknown);
	while (unknown-- > 0) {
		uint32_t child = child_of(tree, node, hashes[unknown], places[unknown], most);

		if (child) {
			node = child;
			continue;
		}
		*is_folded = true;
		return child_of(tree, 0, hash_on(HP_TREE_ROOT, places[0]), places[0],
				tree->node_most);
	}
	return node;
}

uint32_t hp_sample_tree_at(struct hp_sample_tree *tree, const struct hp_place *places,
			   uint32_t count, bool *is_folded)
{
	uint64_t hashes[HP_STACK_MOST];

	if (count > HP_STACK_MOST)
		count = HP_STACK_MOST;
	return hp_sample_tree_below(tree, HP_TREE_ROOT, places, count, hashes, is_folded);
}

struct hp_stack_node *hp_sample_tree_node(const struct hp_sample_tree *tree, uint32_t number)
{
	return node_at(tree, number);
}
