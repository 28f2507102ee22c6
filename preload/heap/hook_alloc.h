/* SPDX-License-Identifier: MIT */
/*
 * hook_alloc.h - for stand-ins of allocators other than the malloc family: the work of
 * hook_alloc.c after an allocation and before a free.
 */
#ifndef HP_PRELOAD_HEAP_HOOK_ALLOC_H
#define HP_PRELOAD_HEAP_HOOK_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#include "preload/heap/heap.h"
#include "preload/heap/path.h"

/* Functions that are tail-called; without optimisation they would not be. */
#ifdef __OPTIMIZE__
#define HP_TAIL __attribute__((noinline))
#else
#define HP_TAIL inline __attribute__((always_inline))
#endif

/* The state of the thread's heap at one moment. */
struct hp_alloc_mark {
	const struct hp_heap_local *heap;
	const void *last;
	const void *sampled;
	uint32_t countdown;
};

static inline struct hp_alloc_mark hp_alloc_mark(void)
{
	const struct hp_heap_local *me = hp_heap();

	return (struct hp_alloc_mark){ me, me->last, me->sampled, me->countdown };
}

/*
 * `block` is new (NULL = none); counts it, unless a stand-in called since the mark has.
 */
void hp_alloc_note_since(const struct hp_alloc_mark *mark, void *block, size_t size,
			 const struct hp_path_frame *frame);

/*
 * `block` is about to be freed; counts it. Until hp_alloc_forgive is called with the returned
 * mark, the thread may free it again.
 */
const void *hp_alloc_note_delete(const void *block, uintptr_t sp);
void hp_alloc_forgive(const void *block);

#endif
