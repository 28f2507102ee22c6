/* SPDX-License-Identifier: MIT */
/*
 * sampler_tree_test.c - the tree of stacks gives each path one node, however many there are.
 */
/* The test runner has the same name. */
#define hp_place hp_code_place
#include "sampler/sample/tree.h"
#undef hp_place

#include <stdlib.h>

#include "test/test.h"

#define DEPTH 20
#define WAYS 12	/* places below each place */
#define STACKS 60000	/* with some 400 000 nodes: the slots grow twice */

struct subject {
	struct hp_segment segment;
	struct hp_sample_tree tree;
};

static unsigned chance;

static uint32_t random_below(uint32_t n)
{
	chance = chance * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)chance * n >> 32);
}

static void subject_init(struct subject *s, uint64_t size)
{
	struct hp_segment_wish wish = { .size = size, .path = NULL };
	uint64_t offset;

	CHECK_EQ(hp_segment_create(&s->segment, &wish), 0);
	offset = hp_segment_take(&s->segment, sizeof(struct hp_sampling), HP_LINE);
	CHECK(hp_sample_tree_init(&s->tree, &s->segment,
				  hp_segment_at(&s->segment, offset, sizeof(struct hp_sampling))));
}

static void subject_release(struct subject *s)
{
	hp_sample_tree_release(&s->tree);
	hp_segment_release(&s->segment);
}

/* The innermost first; the same sequence from the same `chance`. */
static void stack_make(struct hp_code_place *places)
{
	for (uint32_t i = DEPTH; i-- > 0;)
		places[i] =
			(struct hp_code_place){ 4096 + random_below(i < 15 ? WAYS : 2), 7 + i % 2 };
}

/* The nodes from `number` to the root, against the places. */
static bool is_path(const struct subject *s, uint32_t number, const struct hp_code_place *places)
{
	for (uint32_t i = 0; i < DEPTH; i++) {
		const struct hp_stack_node *node = hp_sample_tree_node(&s->tree, number);

		if (node->address != places[i].address || node->object != places[i].object)
			return false;
		number = node->parent;
	}
	return number == 0;
}

TEST(tree, a_path_has_one_node_and_keeps_it_when_the_slots_grow)
{
	static uint32_t numbers[STACKS];
	struct hp_code_place places[DEPTH];
	struct subject s;
	unsigned wrong = 0;
	bool is_folded;

	subject_init(&s, UINT64_C(256) << 20);
	uint32_t slots_before = s.tree.slot_count, count;
	chance = 1;
	for (uint32_t i = 0; i < STACKS; i++) {
		stack_make(places);
		numbers[i] = hp_sample_tree_at(&s.tree, places, DEPTH, &is_folded);
		wrong += is_folded || !is_path(&s, numbers[i], places);
	}
	CHECK(s.tree.slot_count >= 4 * slots_before);
	CHECK(s.tree.count * 2 <= s.tree.slot_count);
	count = s.tree.count;
	chance = 1;
	for (uint32_t i = 0; i < STACKS; i++) {
		stack_make(places);
		wrong += hp_sample_tree_at(&s.tree, places, DEPTH, &is_folded) != numbers[i];
	}
	CHECK_EQ(wrong, 0);
	CHECK_EQ(s.tree.count, count);
	subject_release(&s);
}

TEST(tree, a_known_path_is_extended_like_a_new_one)
{
	struct hp_code_place places[DEPTH];
	struct hp_tree_path paths[DEPTH], rest[DEPTH];
	struct subject s;
	unsigned wrong = 0;
	bool is_folded;

	subject_init(&s, UINT64_C(64) << 20);
	chance = 5;
	for (uint32_t i = 0; i < 500; i++) {
		uint32_t kept = random_below(DEPTH), node;

		stack_make(places);
		node = hp_sample_tree_below(&s.tree, (struct hp_tree_path){ 0, 0 }, places, DEPTH,
					    paths, &is_folded);
		wrong += node != paths[0].node;
		wrong += hp_sample_tree_below(&s.tree, paths[kept], places, kept, rest,
					      &is_folded) != node;
		for (uint32_t j = 0; j < kept; j++)
			wrong += rest[j].node != paths[j].node || rest[j].hash != paths[j].hash;
	}
	CHECK_EQ(wrong, 0);
	subject_release(&s);
}

TEST(tree, without_room_the_innermost_place_is_charged)
{
	struct hp_code_place places[DEPTH];
	struct subject s;
	unsigned folded = 0, wrong = 0;
	bool is_folded;

	subject_init(&s, UINT64_C(2) << 20);
	chance = 9;
	for (uint32_t i = 0; i < 5000; i++) {
		stack_make(places);
		uint32_t node = hp_sample_tree_at(&s.tree, places, DEPTH, &is_folded);
		const struct hp_stack_node *n = hp_sample_tree_node(&s.tree, node);

		folded += is_folded;
		wrong += is_folded && (n->parent != 0 || n->address != places[0].address);
	}
	CHECK(folded > 0);
	CHECK_EQ(wrong, 0);
	subject_release(&s);
}
