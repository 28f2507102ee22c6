/* SPDX-License-Identifier: MIT */
/*
 * cpu_follow_test.c - a refresh that reads only changed stacks gives the same as one that reads
 * all.
 */
/* The test runner has the same name. */
#define hp_place hp_code_place
#include "sampler/sample/tree.h"
#undef hp_place

#include <stdlib.h>
#include <string.h>

#include "report/read/sampling.h"
#include "test/test.h"

#define DEPTH 8

struct subject {
	struct hp_segment segment;
	struct hp_sample_tree tree;
	uint64_t offset;	/* of hp_sampling */
	struct hp_map objects;
	struct hp_model_sampling sampling;	/* that refreshes again and again */
};

static unsigned chance;

static uint32_t random_below(uint32_t n)
{
	chance = chance * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)chance * n >> 32);
}

static void subject_init(struct subject *s)
{
	struct hp_segment_wish wish = { .size = UINT64_C(64) << 20, .path = NULL };

	memset(s, 0, sizeof(*s));
	CHECK_EQ(hp_segment_create(&s->segment, &wish), 0);
	s->offset = hp_segment_take(&s->segment, sizeof(struct hp_sampling), HP_LINE);
	CHECK(hp_sample_tree_init(&s->tree, &s->segment,
				  hp_segment_at(&s->segment, s->offset,
						sizeof(struct hp_sampling))));
	chance = 1;
}

static void subject_release(struct subject *s)
{
	hp_model_sampling_release(&s->sampling);
	hp_map_release(&s->objects);
	hp_sample_tree_release(&s->tree);
	hp_segment_release(&s->segment);
}

/* One sample of a random stack, or the report's figure for a waiting one. */
static void count(struct subject *s, uint32_t ways, uint32_t object)
{
	struct hp_code_place places[DEPTH];
	struct hp_stack_node *node;
	bool is_folded;
	uint32_t number;

	for (uint32_t i = 0; i < DEPTH; i++)
		places[i] = (struct hp_code_place){ 4096 + random_below(ways), object };
	number = random_below(16) ? hp_sample_tree_at(&s->tree, places, DEPTH, &is_folded) : 0;
	node = hp_sample_tree_node(&s->tree, number);
	node->samples++;
	node->cpu_ns += 1000 + random_below(1000);
	node->waits += random_below(2);
	node->blocked_ns += random_below(100);
	hp_sample_tree_changed(&s->tree, number);
}

static void look(struct subject *s, struct hp_model_sampling *sampling, uint64_t *steps)
{
	struct hp_reader reader = { .segment = s->segment, .mapped = s->segment.size };

	hp_reader_restart(&reader, 1);
	*steps = reader.steps;
	hp_model_sampling_look(sampling, &reader, s->offset, &s->objects);
	*steps -= reader.steps;
	CHECK(!reader.is_damaged);
}

/* Refreshes, and lets another reader read everything; returns how many nodes were read
 * completely. */
static uint64_t compare(struct subject *s)
{
	struct hp_model_sampling all = { .stacks = NULL };
	uint64_t steps, steps_of_all;
	unsigned wrong = 0;

	hp_model_sampling_pause(&s->sampling);
	look(s, &s->sampling, &steps);
	look(s, &all, &steps_of_all);
	CHECK_EQ(s->sampling.stack_count, all.stack_count);
	CHECK_EQ(all.stack_count, s->tree.count);
	for (size_t i = 0; i < all.stack_count; i++) {
		const struct hp_model_stack *a = &all.stacks[i], *b = &s->sampling.stacks[i];

		wrong += a->address != b->address || a->object != b->object ||
			 a->parent != b->parent || a->samples != b->samples ||
			 a->cpu_ns != b->cpu_ns || a->waits != b->waits ||
			 a->blocked_ns != b->blocked_ns || a->code != b->code;
	}
	CHECK_EQ(wrong, 0);
	hp_model_sampling_release(&all);
	return steps;
}

TEST(follow, only_changed_and_new_nodes_are_read)
{
	struct subject s;
	size_t before;
	uint64_t steps;

	subject_init(&s);
	CHECK(compare(&s) >= 1);
	for (int i = 0; i < 20000; i++)
		count(&s, 5, 0);
	compare(&s);
	for (int round = 0; round < 50; round++) {
		before = s.tree.count;
		for (uint32_t i = 0; i < 300; i++)
			count(&s, round % 2 ? 5 : 2, 0);
		steps = compare(&s);
		CHECK(steps <= s.tree.count - before + 8);
	}
	CHECK(s.tree.count > 20000);
	CHECK(compare(&s) <= 8);
	subject_release(&s);
}

TEST(follow, more_changes_than_are_kept_have_all_read)
{
	struct subject s;

	subject_init(&s);
	for (int round = 0; round < 4; round++) {
		for (uint32_t i = 0; i < s.tree.changes->capacity + 10; i++)
			count(&s, 3, 0);
		CHECK(compare(&s) >= s.tree.count);
	}
	for (uint32_t i = 0; i < s.tree.changes->capacity - 1; i++)
		count(&s, 1, 0);
	CHECK(compare(&s) < s.tree.count);
	subject_release(&s);
}

TEST(follow, a_segment_without_changes_is_read_as_ever)
{
	struct subject s;

	subject_init(&s);
	s.tree.changes = NULL;
	((struct hp_stack_chunk *)s.tree.chunks[0])->changes = 0;
	for (int round = 0; round < 4; round++) {
		for (uint32_t i = 0; i < 3000; i++)
			count(&s, 4, 0);
		CHECK(compare(&s) >= s.tree.count);
	}
	subject_release(&s);
}

TEST(follow, an_object_that_is_known_later_is_found)
{
	struct subject s;
	bool is_new;

	subject_init(&s);
	for (uint32_t i = 0; i < 500; i++)
		count(&s, 3, 9);
	compare(&s);
	*hp_map_at(&s.objects, 9 * HP_LINE, &is_new) = 4;
	compare(&s);
	CHECK_EQ(s.sampling.stacks[1].object, 3);
	subject_release(&s);
}

TEST(follow, changed_figures_are_read_again_completely)
{
	struct subject s;

	subject_init(&s);
	for (uint32_t i = 0; i < 3000; i++)
		count(&s, 3, 0);
	compare(&s);
	for (size_t i = 0; i < s.sampling.stack_count; i++)
		s.sampling.stacks[i].samples = 0;
	hp_model_sampling_spoil(&s.sampling);
	CHECK(compare(&s) >= s.tree.count);
	subject_release(&s);
}
