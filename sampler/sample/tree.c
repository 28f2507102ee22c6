/* SPDX-License-Identifier: MIT */
/*
 * tree.c - see tree.h.
 */
#include "sampler/sample/tree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/wide.h"
#include "util/hash.h"

#define CHUNK_SIZE (UINT64_C(65536))
#define CHUNK_NODES \
	(uint32_t)((CHUNK_SIZE - sizeof(struct hp_stack_chunk)) / sizeof(struct hp_stack_node))
#define SLOTS_FIRST (HP_WIDE_PAGE / sizeof(hp_tree_slot))
#define SHARE_OF_SEGMENT 4	/* the largest share of it that nodes take */
#define NODES_MAX (UINT32_C(1) << 20)
#define CHANGES (UINT32_C(1) << 13)	/* of some seconds */
#define NODES_RESERVED 4096	/* for innermost places, when there is no more room for paths */

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

/* Without them readers read all nodes at each refresh. */
static void changes_new(struct hp_sample_tree *tree)
{
	uint64_t size = sizeof(*tree->changes) + CHANGES * sizeof(tree->changes->nodes[0]);
	uint64_t offset = hp_segment_take(tree->segment, size, HP_LINE);

	tree->changes = hp_segment_at(tree->segment, offset, size);
	if (!tree->changes)
		return;
	tree->changes->capacity = CHANGES;
	tree->newest->changes = offset;
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
	tree->node_most = most < NODES_MAX ? (uint32_t)most : NODES_MAX;
	tree->slot_count = SLOTS_FIRST;
	tree->slots = hp_wide_new(tree->slot_count * sizeof(*tree->slots));
	if (!tree->slots)
		return false;
	node_new(tree, 0, (struct hp_place){ .address = 0 }, 1);
	if (tree->count == 1)
		changes_new(tree);
	return tree->count == 1;
}

void hp_sample_tree_release(struct hp_sample_tree *tree)
{
	free(tree->chunks);
	hp_wide_free(tree->slots, tree->slot_count * sizeof(*tree->slots));
	memset(tree, 0, sizeof(*tree));
}

/* Hash of the path from the outermost place up to one. */
static uint64_t hash_on(uint64_t hash, struct hp_place place)
{
	return hp_hash_add(hp_hash_add(hash, place.address), place.object);
}

#define NUMBER_MASK ((UINT64_C(1) << HP_TREE_NUMBER_BITS) - 1)

static_assert(NODES_MAX <= NUMBER_MASK + 1, "a slot holds the number of any node");

/* The path's slot, or the empty one for it. */
static hp_tree_slot *slot_of(const struct hp_sample_tree *tree, uint64_t hash)
{
	for (uint64_t at = hash;; at++) {
		hp_tree_slot *slot = &tree->slots[at & (tree->slot_count - 1)];

		if (!*slot || (*slot ^ hash) <= NUMBER_MASK)
			return slot;
	}
}

/* Slots do not contain the complete hashes: these are recomputed, parents before children. */
static void slots_fill(struct hp_sample_tree *tree, uint64_t *hashes)
{
	hashes[0] = 0;
	for (uint32_t i = 1; i < tree->count; i++) {
		const struct hp_stack_node *node = node_at(tree, i);
		uint32_t parent = __atomic_load_n(&node->parent, __ATOMIC_RELAXED);

		/* A member may have overwritten it. */
		hashes[i] = hash_on(hashes[parent < i ? parent : 0],
				    (struct hp_place){ node->address, node->object });
		*slot_of(tree, hashes[i]) = (hashes[i] & ~NUMBER_MASK) | i;
	}
}

static bool grow(struct hp_sample_tree *tree)
{
	struct hp_sample_tree larger = *tree;
	uint64_t *hashes;

	if (__builtin_expect(tree->count * 2 < tree->slot_count, 1))
		return true;
	larger.slot_count = tree->slot_count * 2;
	larger.slots = hp_wide_new(larger.slot_count * sizeof(*larger.slots));
	hashes = malloc(tree->count * sizeof(*hashes));
	if (!larger.slots || !hashes) {
		hp_wide_free(larger.slots, larger.slot_count * sizeof(*larger.slots));
		free(hashes);
		return tree->count + 1 < tree->slot_count;
	}
	slots_fill(&larger, hashes);
	free(hashes);
	hp_wide_free(tree->slots, tree->slot_count * sizeof(*tree->slots));
	*tree = larger;
	return true;
}

/* 0 = no room. */
static uint32_t child_of(struct hp_sample_tree *tree, uint32_t parent, uint64_t hash,
			 struct hp_place place, uint32_t most)
{
	hp_tree_slot *slot = slot_of(tree, hash);
	uint32_t number;

	if (__builtin_expect(*slot != 0, 1))
		return (uint32_t)(*slot & NUMBER_MASK);
	if (!grow(tree))
		return 0;
	number = node_new(tree, parent, place, most);
	if (number)
		*slot_of(tree, hash) = (hash & ~NUMBER_MASK) | number;
	return number;
}

uint32_t hp_sample_tree_below(struct hp_sample_tree *tree, struct hp_tree_path from,
			      const struct hp_place *places, uint32_t count,
			      struct hp_tree_path *paths, bool *is_folded)
{
	uint32_t most = tree->node_most > NODES_RESERVED ? tree->node_most - NODES_RESERVED : 1;
	uint64_t hash = from.hash;
	uint32_t node = from.node;

	*is_folded = false;
	for (uint32_t i = count; i-- > 0;) {
		paths[i].hash = hash = hash_on(hash, places[i]);
		__builtin_prefetch(&tree->slots[hash & (tree->slot_count - 1)]);
	}
	for (uint32_t i = count; i-- > 0;) {
		uint32_t child = child_of(tree, node, paths[i].hash, places[i], most);

		if (child) {
			paths[i].node = node = child;
			continue;
		}
		*is_folded = true;
		return child_of(tree, 0, hash_on(0, places[0]), places[0], tree->node_most);
	}
	return node;
}

uint32_t hp_sample_tree_at(struct hp_sample_tree *tree, const struct hp_place *places,
			   uint32_t count, bool *is_folded)
{
	struct hp_tree_path paths[HP_PLACES_MAX];

	if (count > HP_PLACES_MAX)
		count = HP_PLACES_MAX;
	return hp_sample_tree_below(tree, (struct hp_tree_path){ 0, 0 }, places, count, paths,
				    is_folded);
}

struct hp_stack_node *hp_sample_tree_node(const struct hp_sample_tree *tree, uint32_t number)
{
	return node_at(tree, number);
}

void hp_sample_tree_changed(const struct hp_sample_tree *tree, uint32_t number)
{
	struct hp_stack_changes *changes = tree->changes;
	uint64_t head;

	if (!changes)
		return;
	head = atomic_load_explicit(&changes->head, memory_order_relaxed);
	/*
	 * Readers follow head, number, counters: each store is seen after those before it.
	 * The number replaces an older one: a reader that sees it sees a valid head.
	 */
	atomic_store_explicit(&changes->nodes[head & (CHANGES - 1)], number, memory_order_release);
	atomic_store_explicit(&changes->head, head + 1, memory_order_release);
}
