/* SPDX-License-Identifier: MIT */
/*
 * step.c - see step.h.
 *
 * Most steps have one step above them, so the first is stored with its caller, and only the
 * others are looked up in an index.  Indexes hold numbers of 4 bytes and no keys: their targets are
 * compared.
 */
#include "report/section/memory/step.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/read/model.h"
#include "util/hash.h"

#define FIRST_BITS 10

static uint64_t hash_of(const struct hp_alloc_step *step)
{
	return hp_hash_add((uint64_t)step->caller << 32 | step->object,
			   step->address + step->mark * HP_HASH_GOLDEN);
}

static uint64_t code_hash_of(const struct hp_alloc_step *step)
{
	return hp_hash_add(step->object, step->address);
}

static bool is_same_code(const struct hp_alloc_step *a, const struct hp_alloc_step *b)
{
	return a->address == b->address && a->object == b->object;
}

static bool is_same(const struct hp_alloc_step *a, const struct hp_alloc_step *b)
{
	return a->caller == b->caller && is_same_code(a, b) && a->mark == b->mark;
}

/* --- indexes --- */

static size_t slot_first(const struct hp_alloc_index *index, uint64_t hash)
{
	return (size_t)hp_hash_index(hash, index->bits);
}

static size_t slot_next(const struct hp_alloc_index *index, size_t slot)
{
	return (slot + 1) & (((size_t)1 << index->bits) - 1);
}

static void put(struct hp_alloc_index *index, uint64_t hash, size_t number)
{
	size_t slot = slot_first(index, hash);

	while (index->slots[slot])
		slot = slot_next(index, slot);
	index->slots[slot] = (uint32_t)number + 1;
}

/* True if it was rebuilt, empty: `count` numbers must fill at most half of it. */
static bool index_grow(struct hp_alloc_index *index, size_t count)
{
	unsigned bits = index->bits ? index->bits : FIRST_BITS;

	while (count * 2 > (size_t)1 << bits)
		bits++;
	if (index->slots && bits == index->bits)
		return false;
	free(index->slots);
	index->bits = bits;
	index->slots = hp_xcalloc((size_t)1 << bits, sizeof(*index->slots));
	return true;
}

static void same_reserve(struct hp_alloc_tree *tree, size_t count)
{
	if (!index_grow(&tree->same, count))
		return;
	for (size_t i = 1; i < tree->count; i++)
		if (tree->first[tree->steps[i].caller] != i)
			put(&tree->same, hash_of(&tree->steps[i]), i);
}

static void codes_reserve(struct hp_alloc_tree *tree, size_t count)
{
	if (index_grow(&tree->same_codes, count))
		for (size_t i = 0; i < tree->code_count; i++)
			put(&tree->same_codes, code_hash_of(&tree->steps[tree->codes[i]]), i);
}

/* --- the tree --- */

void hp_alloc_tree_reserve(struct hp_alloc_tree *tree, size_t more)
{
	size_t count = tree->count + more + 1;

	if (count > tree->room) {
		tree->room = tree->room ? count + count / 4 : count;
		tree->steps = hp_xrealloc(tree->steps, tree->room, sizeof(*tree->steps));
		tree->first = hp_xrealloc(tree->first, tree->room, sizeof(*tree->first));
		tree->first_room = tree->room;
	}
	if (tree->count)
		return;
	tree->steps[0] = (struct hp_alloc_step){ .object = HP_NONE };
	tree->first[0] = 0;
	tree->count = 1;
}

/* The number of its code; the step is the last one. */
static uint32_t code_of(struct hp_alloc_tree *tree, const struct hp_alloc_step *step)
{
	struct hp_alloc_index *index = &tree->same_codes;
	uint32_t number;
	size_t slot;

	codes_reserve(tree, tree->code_count + 1);
	for (slot = slot_first(index, code_hash_of(step)); (number = index->slots[slot]);
	     slot = slot_next(index, slot))
		if (is_same_code(&tree->steps[tree->codes[number - 1]], step))
			return number;
	tree->codes =
		hp_xgrow(tree->codes, tree->code_count, &tree->code_room, sizeof(*tree->codes));
	tree->codes[tree->code_count++] = (uint32_t)(step - tree->steps);
	return index->slots[slot] = (uint32_t)tree->code_count;
}

static uint32_t step_new(struct hp_alloc_tree *tree, const struct hp_alloc_step *wanted)
{
	struct hp_alloc_step *step;

	tree->steps = hp_xgrow(tree->steps, tree->count, &tree->room, sizeof(*tree->steps));
	tree->first = hp_xgrow(tree->first, tree->count, &tree->first_room, sizeof(*tree->first));
	tree->first[tree->count] = 0;
	step = &tree->steps[tree->count++];
	*step = *wanted;
	step->depth = tree->steps[wanted->caller].depth + (wanted->mark == 0);
	step->own = 0;
	step->code = wanted->mark ? 0 : code_of(tree, step);
	return (uint32_t)(step - tree->steps);
}

/* For a caller that already has another step above it. */
static uint32_t other_step(struct hp_alloc_tree *tree, const struct hp_alloc_step *wanted)
{
	struct hp_alloc_index *index = &tree->same;
	uint32_t number;
	size_t slot;

	same_reserve(tree, tree->same_count + 1);
	for (slot = slot_first(index, hash_of(wanted)); (number = index->slots[slot]);
	     slot = slot_next(index, slot))
		if (is_same(&tree->steps[number - 1], wanted))
			return number - 1;
	tree->same_count++;
	index->slots[slot] = (uint32_t)tree->count + 1;
	return step_new(tree, wanted);
}

uint32_t hp_alloc_tree_step(struct hp_alloc_tree *tree, const struct hp_alloc_step *wanted)
{
	uint32_t first = tree->first[wanted->caller];

	if (first)
		return is_same(&tree->steps[first], wanted) ? first : other_step(tree, wanted);
	first = step_new(tree, wanted);
	return tree->first[wanted->caller] = first;
}

void hp_alloc_tree_finish(struct hp_alloc_tree *tree)
{
	struct hp_alloc_step *steps = tree->steps;

	free(tree->first);
	free(tree->same.slots);
	free(tree->codes);
	free(tree->same_codes.slots);
	*tree = (struct hp_alloc_tree){ .steps = steps };
}

void hp_alloc_tree_release(struct hp_alloc_tree *tree)
{
	hp_alloc_tree_finish(tree);
	free(tree->steps);
	tree->steps = NULL;
}
