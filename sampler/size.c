/* SPDX-License-Identifier: MIT */
/*
 * size.c - see size.h.
 */
#include "sampler/size.h"

#define POINTS 512

struct hp_size_line *hp_sizes_new(const struct hp_segment *segment, struct hp_watch *watch)
{
	uint64_t size = sizeof(struct hp_size_line) + POINTS * sizeof(struct hp_size_point);
	uint64_t offset = hp_segment_take(segment, size, HP_LINE);
	struct hp_size_line *line = hp_segment_at(segment, offset, size);

	if (!line)
		return NULL;
	line->capacity = POINTS;
	line->every = 1;
	watch->sizes = (uint32_t)(offset / HP_LINE);
	return line;
}

/*
 * A reader that looks meanwhile finds fewer points, or some in two places: it takes
 * only those that are later than the one before.
 */
static void halve(struct hp_size_line *line)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < line->count; i += 2)
		line->points[kept++] = line->points[i];
	line->count = kept;
	line->every *= 2;
}

void hp_sizes_add(struct hp_size_line *line, uint64_t ns, uint64_t rss_kb)
{
	if (!line || line->looks++ % line->every)
		return;
	if (line->count == line->capacity)
		halve(line);
	line->points[line->count] = (struct hp_size_point){ .ns = ns, .rss_kb = rss_kb };
	line->count++;
}
