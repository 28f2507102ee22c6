/* SPDX-License-Identifier: MIT */
/*
 * size.c - see size.h.
 */
#include "report/read/size.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "segment/layout/watch.h"

#define PARTS 60	/* characters */
#define MOMENTS_MIN 16	/* with fewer the line is useless */
#define POINTS_MAX 65536	/* a damaged file may claim any number */

/* The line of the first watch; false = none. */
static bool line_find(struct hp_reader *reader, struct hp_size_line *line, uint64_t *at)
{
	struct hp_watch watch;

	if (!reader->header.sampler_area ||
	    !hp_reader_copy(reader, reader->header.sampler_area, &watch, sizeof(watch)))
		return false;
	*at = (uint64_t)watch.sizes * HP_LINE;
	return watch.sizes && hp_reader_copy(reader, *at, line, sizeof(*line)) &&
	       line->count <= POINTS_MAX;
}

struct hp_size_descriptors hp_model_descriptors(const struct hp_model *model)
{
	struct hp_reader reader = model->reader;	/* not released: the model's */
	struct hp_size_line line;
	uint64_t at;

	if (!line_find(&reader, &line, &at))
		return (struct hp_size_descriptors){ 0 };
	return (struct hp_size_descriptors){ line.descriptors, line.descriptors_most };
}

struct hp_size_moment *hp_sizes_read(const struct hp_model *model, size_t *count)
{
	struct hp_reader reader = model->reader;	/* not released: the model's */
	uint64_t start = reader.header.start.ns, before = 0, at;
	struct hp_size_moment *moments;
	struct hp_size_line line;
	const char *points, *live;

	*count = 0;
	if (!line_find(&reader, &line, &at))
		return NULL;
	points = hp_reader_see(&reader, at + sizeof(line),
			       line.count * sizeof(struct hp_size_point));
	if (!points)
		return NULL;
	live = line.live ? hp_reader_see(&reader, line.live, line.count * sizeof(uint64_t)) : NULL;
	moments = hp_xcalloc(line.count, sizeof(*moments));
	for (uint32_t i = 0; i < line.count; i++) {
		struct hp_size_point point;

		memcpy(&point, points + i * sizeof(point), sizeof(point));
		/* The writer may be making room. */
		if (point.ns <= before || point.ns < start)
			continue;
		before = point.ns;
		moments[*count] = (struct hp_size_moment){ .ns = point.ns - start,
							   .rss_bytes = point.rss_kb * 1024 };
		if (live)
			memcpy(&moments[*count].live_bytes, live + i * sizeof(uint64_t),
			       sizeof(uint64_t));
		(*count)++;
	}
	return moments;
}

static uint64_t most_live(const struct hp_size_moment *moments, size_t count)
{
	uint64_t most = 0;

	for (size_t i = 0; i < count; i++)
		most = moments[i].live_bytes > most ? moments[i].live_bytes : most;
	return most;
}

/* The maximum in the part of the run that a character represents. */
static uint64_t most_of_part(const struct hp_size_moment *moments, size_t count, size_t part)
{
	double end = (double)moments[count - 1].ns + 1;
	uint64_t most = 0;
	size_t last = 0;

	for (size_t i = 0; i < count; i++) {
		size_t of = hp_whole((double)moments[i].ns / end * PARTS);

		if (of <= part)
			last = i;
		if (of == part && moments[i].live_bytes > most)
			most = moments[i].live_bytes;
	}
	/* No sample: repeat the previous value. */
	return most ? most : moments[last].live_bytes;
}

char *hp_sizes_live_text(const struct hp_model *model)
{
	size_t count;
	struct hp_size_moment *moments = hp_sizes_read(model, &count);
	uint64_t most = most_live(moments, count);
	char *text = NULL, *at;

	if (most && count >= MOMENTS_MIN) {
		text = at = hp_xcalloc(PARTS * 3 + 1, 1);
		for (size_t part = 0; part < PARTS; part++) {
			uint64_t live = most_of_part(moments, count, part);
			unsigned eighths = (unsigned)((double)live / (double)most * 7.999);

			/* U+2581 to U+2588, lower blocks of an eighth to the whole. */
			memcpy(at, "\342\226", 2);
			at[2] = (char)(0x81 + eighths);
			at += 3;
		}
	}
	free(moments);
	return text;
}
