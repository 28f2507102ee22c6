/* SPDX-License-Identifier: MIT */
/*
 * span.c - reads the threads' long holds.
 *
 * Segments of earlier versions have other records where a waiter's `spans` is now, so a list counts
 * only if all its chunks look like chunks.
 */
#include <stddef.h>

#include "report/base/memory.h"
#include "report/section/wait/lock_build.h"

#define SPANS_LINE (offsetof(struct hp_waiter, spans) / HP_LINE * HP_LINE)
#define CHUNKS_MAX 512	/* of a waiter, which makes fewer */

static bool is_valid(const struct hp_span_chunk *chunk, uint32_t after)
{
	return chunk->count <= HP_SPANS && chunk->every && !(chunk->every & (chunk->every - 1)) &&
	       chunk->number && chunk->number <= CHUNKS_MAX &&
	       (!after || chunk->number == after - 1) && (chunk->number == 1) == !chunk->next;
}

static void span_add(struct hp_lock_build *b, const struct hp_waiter *waiter,
		     const struct hp_span *span, uint32_t every, uint64_t modules)
{
	struct hp_locks *locks = b->locks;
	const uint32_t *lock = hp_map_find(&b->uses, (uint64_t)span->use * HP_LINE);

	if (!lock || span->start >= span->end || !span->tid)
		return;
	locks->spans =
		hp_xgrow(locks->spans, locks->span_count, &b->span_room, sizeof(*locks->spans));
	locks->spans[locks->span_count++] = (struct hp_lock_span){
		.lock = (*lock & 0x3fffffff) - 1,
		.side = *lock >> 30,
		.pid = waiter->pid,
		.tid = span->tid,
		.every = every,
		.at = hp_lock_build_plain(b, modules, span->at),
		.start = span->start,
		.end = span->end,
	};
}

void hp_lock_read_spans(struct hp_lock_build *b, const struct hp_waiter *waiter, uint64_t at,
			uint64_t modules)
{
	struct hp_reader *reader = &b->model->reader;
	size_t before = b->locks->span_count;
	struct hp_span_chunk chunk;
	uint64_t line[HP_LINE / sizeof(uint64_t)], next;
	uint32_t after = 0;

	if (!hp_reader_copy(reader, at + SPANS_LINE, line, sizeof(line)))
		return;
	next = line[(offsetof(struct hp_waiter, spans) - SPANS_LINE) / sizeof(uint64_t)];
	/* Not hp_reader_step: an offset that is none would look like damage. */
	for (; next % HP_LINE == 0 && hp_segment_at(&reader->segment, next, sizeof(chunk));
	     next = chunk.next) {
		if (!hp_reader_copy(reader, next, &chunk, sizeof(chunk)) ||
		    !is_valid(&chunk, after)) {
			b->locks->span_count = before;
			return;
		}
		after = chunk.number;
		for (uint32_t i = 0; i < chunk.count; i++)
			span_add(b, waiter, &chunk.spans[i], chunk.every, modules);
	}
}
