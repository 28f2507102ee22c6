/* SPDX-License-Identifier: MIT */
/*
 * heap.c - see heap.h: the gate, and room in the segment.
 */
#include "preload/heap/heap.h"

#include "preload/call/tally.h"
#include "preload/guest/bulky.h"
#include "preload/guest/early.h"
#include "preload/guest/guest.h"
#include "preload/thread/drop.h"
#include "preload/thread/state.h"
#include "util/assert.h"

#define HP_HEAP_CHUNK_FIRST 2048	/* of a heap with a path or two, */
#define HP_HEAP_CHUNK_SECOND 8192	/* and with a few: */
#define HP_SITES_FEW 16
#define HP_HEAP_CHUNK_NEXT 65536

extern char __libc_single_threaded __attribute__((weak));	/* glibc 2.32 and later */

HP_BULKY struct hp_heap_local hp_heap_unborn = { .state = HP_THREAD_UNBORN };

/* Threads that do not record point here: for good, and while they are being opened. */
HP_BULKY_DATA struct hp_heap_local hp_heap_closed = { .state = HP_THREAD_CLOSED,
						      .last = HP_NO_BLOCK };
HP_BULKY_DATA struct hp_heap_local hp_heap_opening = { .state = HP_THREAD_BUSY,
						       .last = HP_NO_BLOCK };
__thread struct hp_heap_local *hp_heap_pointer = &hp_heap_unborn;

bool hp_heap_is_wanted;
bool hp_heap_proves;

/* A thread that only waits needs a path or two; but one path may have hundreds of steps. */
static uint64_t chunk_size(const struct hp_heap *heap, uint64_t size)
{
	if (!heap->arena && size <= HP_HEAP_CHUNK_FIRST)
		return HP_HEAP_CHUNK_FIRST;
	if (heap->site_count <= HP_SITES_FEW && size <= HP_HEAP_CHUNK_SECOND)
		return HP_HEAP_CHUNK_SECOND;
	return HP_HEAP_CHUNK_NEXT;
}

void *hp_heap_take(struct hp_heap_local *me, uint64_t size)
{
	struct hp_heap *heap = me->heap;
	uint64_t chunk, at;

	size = (size + HP_LINE - 1) & ~(uint64_t)(HP_LINE - 1);
	chunk = chunk_size(heap, size);
	HP_ASSERT(size <= chunk);
	if (heap->arena_end - heap->arena < size) {
		hp_drop_check();
		at = hp_segment_take(&hp_segment, chunk, HP_LINE);
		if (at == 0)
			return NULL;
		heap->arena = at;
		heap->arena_end = at + chunk;
	}
	at = heap->arena;
	heap->arena += size;
	return hp_heap_at(me, at, size);
}

struct hp_heap_local *hp_heap_pause(void)
{
	struct hp_heap_local *was;

	if (hp_is_early())
		return NULL;
	was = hp_heap();
	hp_heap_set(&hp_heap_opening);
	return was;
}

void hp_heap_go_on(struct hp_heap_local *was)
{
	if (was)
		hp_heap_set(was);
}

void hp_heap_shut(struct hp_heap_local *me, uintptr_t sp)
{
	me->gate = 0;
	me->shut_at = sp;
	me->state = HP_THREAD_BUSY;
	atomic_signal_fence(memory_order_seq_cst);
}

/* glibc has no other thread yet, and creating one is a barrier. */
static inline bool is_single_threaded(void)
{
	return &__libc_single_threaded && __libc_single_threaded;
}

void hp_heap_reopen(struct hp_heap_local *me)
{
	atomic_signal_fence(memory_order_seq_cst);
	me->state = HP_THREAD_OPEN;
	if (!hp_heap_proves && !hp_tally_has_most)
		__atomic_store_n(&me->gate, me->gate_open, __ATOMIC_RELAXED);
	/*
	 * The other side is forget: is_stale, then gate.  Either we see
	 * is_stale here, or its store to the gate comes after ours.
	 */
	if (!is_single_threaded())
		atomic_thread_fence(memory_order_seq_cst);
	if (HP_UNLIKELY(atomic_load_explicit(&me->is_stale, memory_order_relaxed)))
		me->gate = 0;
}
