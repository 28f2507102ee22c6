/* SPDX-License-Identifier: MIT */
/*
 * sampler_size_test.c - the line of sizes keeps a long run's points evenly spread.
 */
#include <stdlib.h>

#include "sampler/session/size.h"
#include "test/test.h"

TEST(sizes, a_long_run_keeps_its_first_point_and_an_even_spread)
{
	struct hp_size_line *line = calloc(1, sizeof(*line) + 512 * sizeof(struct hp_size_point));

	uint64_t live[512];
	struct hp_sizes sizes = { .line = line, .live = live, .capacity = 512, .every = 1 };
	struct hp_sizes none = { .line = NULL };

	for (uint64_t i = 0; i < 100000; i++)
		hp_sizes_add(&sizes, &(struct hp_size_point){ 1000 + i, i }, true, 3 * i);
	CHECK(line->count >= 256 && line->count <= 512);
	CHECK_EQ(line->points[0].ns, 1000);
	for (uint32_t i = 1; i < line->count; i++)
		CHECK_EQ(line->points[i].ns - line->points[i - 1].ns, line->every);
	/* The last one is not older than a step. */
	CHECK(100999 - line->points[line->count - 1].ns < line->every);
	for (uint32_t i = 0; i < line->count; i++)
		CHECK_EQ(live[i], 3 * line->points[i].rss_kb);
	hp_sizes_add(&none, &(struct hp_size_point){ 1, 1 }, true, 1);
	free(line);
}
