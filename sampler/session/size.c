/* SPDX-License-Identifier: MIT */
/*
 * size.c - see size.h.
 */
#include "sampler/session/size.h"
#include "segment/layout/process.h"
#include "segment/layout/heap.h"

#include <stdatomic.h>
#include <stdbool.h>

#define POINTS 512

#define RECORDS_MAX 65536	/* examined each time: a damaged list may be endless */

void hp_sizes_init(struct hp_sizes *sizes, const struct hp_segment *segment, struct hp_watch *watch)
{
	uint64_t size = sizeof(struct hp_size_line) + POINTS * sizeof(struct hp_size_point);
	uint64_t offset = hp_segment_take(segment, size + POINTS * sizeof(uint64_t), HP_LINE);
	struct hp_size_line *line =
		hp_segment_at(segment, offset, size + POINTS * sizeof(uint64_t));

	*sizes = (struct hp_sizes){ .line = line, .capacity = POINTS, .every = 1 };
	if (!line)
		return;
	sizes->live = hp_segment_at(segment, offset + size, POINTS * sizeof(uint64_t));
	line->capacity = POINTS;
	line->every = 1;
	line->live = offset + size;
	watch->sizes = (uint32_t)(offset / HP_LINE);
}

/* The newest block of each thread is pending: in no sum yet. */
static int64_t heaps_live(const struct hp_segment *segment, uint64_t at, uint32_t *records)
{
	const struct hp_heap *heap;
	int64_t live = 0;

	for (; at && *records < RECORDS_MAX; at = heap->next, (*records)++) {
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

	for (; at && records < RECORDS_MAX; at = process->next, records++) {
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
 * A concurrent reader finds fewer points, or some twice: it uses only those
 * that are later than the previous one.
 */
static void halve(struct hp_sizes *sizes, bool has_live)
{
	struct hp_size_line *line = sizes->line;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < sizes->count; i += 2, kept++) {
		line->points[kept] = line->points[i];
		if (has_live)
			sizes->live[kept] = sizes->live[i];
	}
	line->count = sizes->count = kept;
	line->every = sizes->every *= 2;
}

void hp_sizes_add(struct hp_sizes *sizes, const struct hp_size_point *point, bool has_live,
		  uint64_t live_bytes)
{
	struct hp_size_line *line = sizes->line;

	if (!line)
		return;
	line->looks = sizes->looks + 1;
	if (sizes->looks++ % sizes->every)
		return;
	has_live = has_live && sizes->live;
	if (sizes->count == sizes->capacity)
		halve(sizes, has_live);
	line->points[sizes->count] = *point;
	if (has_live)
		sizes->live[sizes->count] = live_bytes;
	line->count = ++sizes->count;
}

void hp_sizes_note_descriptors(struct hp_sizes *sizes, uint32_t count)
{
	struct hp_size_line *line = sizes->line;

	if (!line || !count)
		return;
	line->descriptors = count;
	if (count > line->descriptors_most)
		line->descriptors_most = count;
}
