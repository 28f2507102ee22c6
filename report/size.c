/* SPDX-License-Identifier: MIT */
/*
 * size.c - see size.h.
 */
#include "report/size.h"

#include <stdlib.h>
#include <string.h>

#include "report/memory.h"

#define POINTS_MOST 65536	/* a damaged file may say any number */

/* The line of the first watch; false = there is none. */
static bool line_find(struct hp_reader *reader, struct hp_size_line *line, uint64_t *at)
{
	struct hp_watch watch;

	if (!reader->header.sampler_area ||
	    !hp_reader_copy(reader, reader->header.sampler_area, &watch, sizeof(watch)))
		return false;
	*at = (uint64_t)watch.sizes * HP_LINE;
	return watch.sizes && hp_reader_copy(reader, *at, line, sizeof(*line)) &&
	       line->count <= POINTS_MOST;
}

struct hp_size_moment *hp_sizes_read(const struct hp_model *model, size_t *count)
{
	struct hp_reader reader = model->reader;	/* not released: the model's */
	uint64_t start = reader.header.start.ns, before = 0, at;
	struct hp_size_moment *moments;
	struct hp_size_line line;
	const char *points;

	*count = 0;
	if (!line_find(&reader, &line, &at))
		return NULL;
	points = hp_reader_see(&reader, at + sizeof(line),
			       line.count * sizeof(struct hp_size_point));
	if (!points)
		return NULL;
	moments = hp_xcalloc(line.count, sizeof(*moments));
	for (uint32_t i = 0; i < line.count; i++) {
		struct hp_size_point point;

		memcpy(&point, points + i * sizeof(point), sizeof(point));
		/* The writer may be making room. */
		if (point.ns <= before || point.ns < start)
			continue;
		before = point.ns;
		moments[(*count)++] = (struct hp_size_moment){ .ns = point.ns - start,
							       .rss_bytes = point.rss_kb * 1024 };
	}
	return moments;
}

void hp_sizes_add_json(const struct hp_model *model, cJSON *list)
{
	size_t count;
	struct hp_size_moment *moments = hp_sizes_read(model, &count);
	cJSON *array = count ? cJSON_AddArrayToObject(list, "rss_timeline") : NULL;

	for (size_t i = 0; i < count; i++) {
		double pair[] = { (double)moments[i].ns, (double)moments[i].rss_bytes };

		cJSON_AddItemToArray(array, cJSON_CreateDoubleArray(pair, 2));
	}
	free(moments);
}
