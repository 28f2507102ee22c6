/* SPDX-License-Identifier: MIT */
/*
 * report_bound_test.c - the words of the table `bound` follow from the numbers, and
 * the trees of flame graphs lose nothing when they are pruned.
 */
#include <stdio.h>

#include "report/section/mixed/bound.h"
#include "report/view/flame.h"
#include "report/name/wrapper.h"
#include "test/test.h"

#define MS UINT64_C(1000000)

static enum hp_bound_word word(uint64_t samples, uint64_t cpu_ms, uint64_t blocked_ms,
			       uint64_t allocator_ms)
{
	struct hp_bound_row row = { .samples = samples,
				    .cpu_ns = cpu_ms * MS,
				    .blocked_ns = blocked_ms * MS,
				    .allocator_ns = allocator_ms * MS };

	return hp_bound_word(&row);
}

TEST(bound, two_thirds_decide)
{
	CHECK_EQ(word(100, 100, 0, 0), HP_BOUND_CPU);
	CHECK_EQ(word(100, 100, 50, 0), HP_BOUND_CPU);
	CHECK_EQ(word(100, 100, 51, 0), HP_BOUND_MIXED);
	CHECK_EQ(word(100, 100, 199, 0), HP_BOUND_MIXED);
	CHECK_EQ(word(100, 100, 200, 0), HP_BOUND_WAITING);
	CHECK_EQ(word(0, 0, 200, 0), HP_BOUND_WAITING);
}

TEST(bound, a_third_inside_the_allocator_is_reported)
{
	CHECK_EQ(word(100, 99, 0, 33), HP_BOUND_ALLOCATION);
	CHECK_EQ(word(100, 99, 0, 32), HP_BOUND_CPU);
	CHECK_EQ(word(100, 99, 99, 99), HP_BOUND_MIXED);
}

TEST(bound, memory_is_named_only_where_counters_say_so)
{
	struct hp_bound_row row = { .samples = 100, .cpu_ns = 100 * MS };

	CHECK_EQ(hp_bound_word(&row), HP_BOUND_CPU);
	row.counted_ns = 100 * MS, row.memory_ns = 50 * MS;
	CHECK_EQ(hp_bound_word(&row), HP_BOUND_MEMORY);
	row.memory_ns = 49 * MS;
	CHECK_EQ(hp_bound_word(&row), HP_BOUND_CPU);
	row.counted_ns = row.memory_ns = 49 * MS;	/* below half of it, no verdict */
	CHECK_EQ(hp_bound_word(&row), HP_BOUND_CPU);
	row.counted_ns = row.memory_ns = 100 * MS;
	row.allocator_ns = 34 * MS;
	CHECK_EQ(hp_bound_word(&row), HP_BOUND_ALLOCATION);
	row.allocator_ns = 0, row.blocked_ns = 200 * MS;
	CHECK_EQ(hp_bound_word(&row), HP_BOUND_WAITING);
}

TEST(bound, little_data_gives_no_bound)
{
	CHECK_EQ(word(9, 9, 9, 9), HP_BOUND_UNKNOWN);
	CHECK_EQ(word(9, 9, 10, 0), HP_BOUND_MIXED);
	CHECK_EQ(word(10, 10, 0, 0), HP_BOUND_CPU);
}

TEST(bound, missing_system_calls_are_reported)
{
	static struct hp_settings settings = { .cpu_is_inclusive = true };
	static struct hp_report report = { .settings = &settings };

	report.model.sampling.is_there = true;
	report.model.sampling.record.samples = 10;
	CHECK_STR(hp_bound_note(&report), "CPU of user code only");
	report.model.sampling.record.has_kernel = 1;
	CHECK_STR(hp_bound_note(&report), NULL);
}

TEST(bound, allocators_are_known_by_name)
{
	CHECK(hp_wrapper_allocates("malloc"));
	CHECK(hp_wrapper_allocates("operator new(unsigned long)"));
	CHECK(hp_wrapper_allocates("_int_free"));
	CHECK(!hp_wrapper_allocates("malloc_slow"));
	CHECK(!hp_wrapper_allocates("freeze"));
}

/* A root with `wide` children of `deep` further ones; each node has its number as its own. */
static void tree_make(struct hp_flame *flame, struct hp_flame_tree *tree, int wide, int deep)
{
	uint32_t root = hp_flame_name(flame, "root", HP_FLAME_OTHER);
	char name[32];

	tree->nodes = NULL;
	*tree = (struct hp_flame_tree){ .nodes = NULL };
	/* The first child of no node is the root itself. */
	CHECK_EQ(hp_flame_child(tree, 0, root), 0);
	for (int i = 0; i < wide; i++) {
		uint32_t at = 0;

		for (int d = 0; d < deep; d++) {
			snprintf(name, sizeof(name), "f%d_%d", i, d);
			at = hp_flame_child(tree, at, hp_flame_name(flame, name, HP_FLAME_PROGRAM));
			tree->nodes[at].self[0] = (double)at;
			tree->nodes[at].self[3] = 1;
		}
	}
}

static double sum(const struct hp_flame_tree *tree, int measure)
{
	double all = 0;

	for (size_t i = 0; i < tree->count; i++)
		all += tree->nodes[i].self[measure];
	return all;
}

TEST(flame, equal_names_below_one_caller_are_one_node)
{
	struct hp_flame flame = { .names = NULL };
	struct hp_flame_tree *tree = &flame.trees[0];
	uint32_t a = hp_flame_name(&flame, "a", HP_FLAME_PROGRAM), one;

	CHECK_EQ(hp_flame_name(&flame, "a", HP_FLAME_PROGRAM), a);
	CHECK(hp_flame_name(&flame, "a", HP_FLAME_LIBRARY) != a);
	flame.tree_count = 1;
	tree_make(&flame, tree, 1, 1);
	one = hp_flame_child(tree, 0, a);
	CHECK_EQ(hp_flame_child(tree, 0, a), one);
	CHECK(hp_flame_child(tree, one, a) != one);
	hp_flame_release(&flame);
}

TEST(flame, what_is_cut_is_summed_up_below_its_caller)
{
	struct hp_flame flame = { .names = NULL };
	struct hp_flame_tree *tree = &flame.trees[0];
	double before[2];

	flame.tree_count = 1;
	tree_make(&flame, tree, 200, 5);
	before[0] = sum(tree, 0);
	before[1] = sum(tree, 3);
	hp_flame_prune(&flame, tree, 100);
	/* One more for each caller that lost some. */
	CHECK(tree->count <= 201);
	CHECK_EQ((uint64_t)sum(tree, 0), (uint64_t)before[0]);
	CHECK_EQ((uint64_t)sum(tree, 3), (uint64_t)before[1]);
	for (uint32_t i = 1; i < tree->count; i++)
		CHECK(tree->nodes[i].parent < i);
	hp_flame_release(&flame);
}
