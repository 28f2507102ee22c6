/* SPDX-License-Identifier: MIT */
/*
 * histogram.c - see histogram.h.
 */
#include "report/read/histogram.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "segment/histogram.h"

#define FEW_MAX 16	/* 8 bytes each; a group takes 512 */

const uint64_t *hp_histogram_see(const struct hp_histogram *histogram, unsigned group,
				 uint64_t room[HP_GROUP_SIZE])
{
	bool is_any = false;

	if (histogram->groups)
		return histogram->groups[group];
	for (uint64_t i = 0; histogram->few && i < histogram->total; i++) {
		if (hp_bucket_group(histogram->few[i]) != group)
			continue;
		if (!is_any)
			memset(room, 0, HP_GROUP_SIZE * sizeof(*room));
		is_any = true;
		room[hp_bucket_place(histogram->few[i], group)]++;
	}
	return is_any ? room : NULL;
}

static uint64_t *group_have(struct hp_histogram *histogram, unsigned group)
{
	uint64_t **counters = &histogram->groups[group];

	if (!*counters)
		*counters = hp_xcalloc(HP_GROUP_SIZE, sizeof(**counters));
	return *counters;
}

static void groups_have(struct hp_histogram *histogram)
{
	if (histogram->groups)
		return;
	histogram->groups = hp_xcalloc(HP_GROUPS, sizeof(*histogram->groups));
	for (uint64_t i = 0; histogram->few && i < histogram->total; i++) {
		unsigned group = hp_bucket_group(histogram->few[i]);

		group_have(histogram, group)[hp_bucket_place(histogram->few[i], group)]++;
	}
	free(histogram->few);
	histogram->few = NULL;
}

uint64_t *hp_histogram_group(struct hp_histogram *histogram, unsigned group)
{
	groups_have(histogram);
	return group_have(histogram, group);
}

void hp_histogram_add(struct hp_histogram *histogram, uint64_t value)
{
	unsigned group = hp_bucket_group(value);

	if (histogram->groups || histogram->total == FEW_MAX) {
		hp_histogram_group(histogram, group)[hp_bucket_place(value, group)]++;
	} else {
		/* Doubles at 1, 2, 4, ... */
		if (!(histogram->total & (histogram->total - 1)))
			histogram->few = hp_xrealloc(histogram->few,
						     histogram->total ? histogram->total * 2 : 1,
						     sizeof(*histogram->few));
		histogram->few[histogram->total] = value;
	}
	histogram->total++;
}

void hp_histogram_move(struct hp_histogram *to, struct hp_histogram *from)
{
	for (uint64_t i = 0; from->few && i < from->total; i++)
		hp_histogram_add(to, from->few[i]);
	for (unsigned group = 0; from->groups && group < HP_GROUPS; group++) {
		uint64_t *there = from->groups[group];

		if (!there)
			continue;
		groups_have(to);
		if (!to->groups[group]) {
			to->groups[group] = there;
			from->groups[group] = NULL;
			continue;
		}
		for (unsigned i = 0; i < HP_GROUP_SIZE; i++)
			to->groups[group][i] += there[i];
	}
	if (from->groups)
		to->total += from->total;
	hp_histogram_release(from);
}

uint64_t hp_histogram_value(const struct hp_histogram *histogram, uint64_t rank)
{
	uint64_t room[HP_GROUP_SIZE];

	for (unsigned group = 0; group < HP_GROUPS; group++) {
		const uint64_t *counters = hp_histogram_see(histogram, group, room);

		for (unsigned i = 0; counters && i < HP_GROUP_SIZE; i++) {
			if (counters[i] >= rank)
				return hp_bucket_value(group, i);
			rank -= counters[i];
		}
	}
	return UINT64_MAX;
}

void hp_histogram_release(struct hp_histogram *histogram)
{
	for (unsigned group = 0; histogram->groups && group < HP_GROUPS; group++)
		free(histogram->groups[group]);
	free(histogram->groups);
	free(histogram->few);
	*histogram = (struct hp_histogram){ .total = 0 };
}
