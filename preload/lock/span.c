/* SPDX-License-Identifier: MIT */
/*
 * span.c - when a thread held a lock for long.
 *
 * A reader finds the samples and waits of that time, and so what the thread did with the lock:
 * nothing has to be recorded when it waits. A thread with many long holds keeps a random part of
 * them, smaller with each few chunks, so that its records grow with the logarithm of their number.
 */
#include "preload/lock/lock.h"
#include "segment/mark.h"
#include "util/random.h"

#define CHUNKS_OF_ONE_PART 40	/* then half of that part, */
#define CHUNKS_FEW 320	/* and after so many chunks with each one */

/* When it is known to have been held; 0 = never. */
static uint64_t start_of(const struct hp_release *release)
{
	uint64_t known = release->since ? hp_mark_until(release->since, release->end) : 0;

	if (release->held.start)
		return release->held.start;
	if (release->seen_at && hp_clock_between(release->seen_at, release->end) > known)
		return release->seen_at;
	return release->end - known;
}

static uint32_t every_of(uint32_t number)
{
	uint32_t before = number - 1;
	uint32_t shift = before < CHUNKS_FEW
				 ? before / CHUNKS_OF_ONE_PART
				 : before - CHUNKS_FEW + CHUNKS_FEW / CHUNKS_OF_ONE_PART;

	return UINT32_C(1) << (shift < 31 ? shift : 31);
}

/* NULL = no room. */
static struct hp_span_chunk *chunk_new(struct hp_waiter_local *me, uint64_t before, uint32_t number)
{
	struct hp_span_chunk *chunk = hp_lock_take(me, sizeof(*chunk));

	if (!chunk)
		return NULL;
	chunk->next = before;
	chunk->number = number;
	chunk->every = every_of(number);
	/* Release: a reader that finds it finds these. */
	atomic_store_explicit(&me->waiter->spans, (uint64_t)((char *)chunk - me->base),
			      memory_order_release);
	return chunk;
}

/* The one with room; NULL = there is none. */
static struct hp_span_chunk *chunk_get(struct hp_waiter_local *me)
{
	uint64_t at = atomic_load_explicit(&me->waiter->spans, memory_order_relaxed);
	struct hp_span_chunk *chunk = at ? (struct hp_span_chunk *)(me->base + at) : NULL;

	if (chunk && atomic_load_explicit(&chunk->count, memory_order_relaxed) < HP_SPANS)
		return chunk;
	return chunk_new(me, at, chunk ? chunk->number + 1 : 1);
}

void hp_lock_span_add(struct hp_waiter_local *me, const struct hp_use *use,
		      const struct hp_release *release)
{
	uint64_t start = start_of(release);
	struct hp_span_chunk *chunk;
	uint32_t count;

	if (hp_clock_between(start, release->end) < HP_SPAN_TICKS || !(chunk = chunk_get(me)) ||
	    (chunk->every > 1 && hp_random_next(&me->random) >> 32 & (chunk->every - 1)))
		return;
	count = atomic_load_explicit(&chunk->count, memory_order_relaxed);
	chunk->spans[count] = (struct hp_span){
		.start = start,
		.end = release->end,
		.at = release->held.at,
		.use = (uint32_t)((uint64_t)((const char *)use - me->base) / HP_LINE),
		.tid = me->tid,
	};
	/* Release: readers take no span before it is complete. */
	atomic_store_explicit(&chunk->count, count + 1, memory_order_release);
}
