/* SPDX-License-Identifier: MIT */
/*
 * size.c - see size.h.
 */
#include "sampler/session/size.h"

#include <stdatomic.h>
#include <stdbool.h>

#define POINTS 512

#define RECORDS_MOST 65536	/* looked at each time: a damaged list may have no end */

struct hp_size_line *hp_sizes_new(const struct hp_segment *segment, struct hp_watch *watch)
{
	uint64_t size = sizeof(struct hp_size_line) + POINTS * sizeof(struct hp_size_point);
	uint64_t offset = hp_segment_take(segment, size + POINTS * sizeof(uint64_t), HP_LINE);
	struct hp_size_line *line =
		hp_segment_at(segment, offset, size + POINTS * sizeof(uint64_t));

	if (!line)
		return NULL;
	line->capacity = POINTS;
	line->every = 1;
	line->live = offset + size;
	watch->sizes = (uint32_t)(offset / HP_LINE);
	return line;
}

/* The newest block of each thread is pending: in no sum yet. */
static int64_t heaps_live(const struct hp_segment *segment, uint64_t at, uint32_t *records)
{
	const struct hp_heap *heap;
	int64_t live = 0;

	for (; at && *records < RECORDS_MOST; at = heap->next, (*records)++) {
		heap = hp_segment_at(segment, at, sizeof(*heap));
		if (!heap)
			break;
		live += *(const volatile int64_t *)&heap->live +
			(int64_t) * (const volatile uint64_t *)&heap->pending_bytes -
			heap->folded_live;
	}
	return live;
}

int64_t hp_sizes_live(const struct hp_segment *segment)
{
	uint64_t at = atomic_load_explicit(&segment->header->processes, memory_order_acquire);
	const struct hp_process *process;
	bool is_recorded = false;
	uint32_t records = 0;
	int64_t live = 0;

	for (; at && records < RECORDS_MOST; at = process->next, records++) {
		uint64_t heaps;

		process = hp_segment_at(segment, at, sizeof(*process));
		if (!process)
			break;
		heaps = atomic_load_explicit(&process->heaps, memory_order_acquire);
		if (!heaps || atomic_load(&process->state) != HP_TAKEN)
			continue;
		is_recorded = true;
		live += heaps_live(segment, heaps, &records);
	}
	return is_recorded ? live : -1;
}

/*
 * A reader that looks meanwhile finds fewer points, or some in two places: it takes
 * only those that are later than the one before.
 */
static void halve(struct hp_size_line *line, uint64_t *live)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < line->count; i += 2, kept++) {
		line->points[kept] = line->points[i];
		if (live)
			live[kept] = live[i];
	}
	line->count = kept;
	line->every *= 2;
}

void hp_sizes_add(struct hp_size_line *line, uint64_t *live, const struct hp_size_point *point,
		  uint64_t live_bytes)
{
	if (!line || line->looks++ % line->every)
		return;
	if (line->count == line->capacity)
		halve(line, live);
	line->points[line->count] = *point;
	if (live)
		live[line->count] = live_bytes;
	line->count++;
}
