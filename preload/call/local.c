/* SPDX-License-Identifier: MIT */
/*
 * local.c - see local.h: the pointer of each thread, and its private memory.
 */
#include "preload/call/local.h"

#include "preload/guest/pages.h"
#include "preload/guest/self.h"
#include "preload/thread/state.h"

#define HP_POOL 4096	/* private memory is taken in pieces of this size */

struct hp_local hp_unborn = { .state = HP_THREAD_UNBORN };

__thread struct hp_local *hp_local_pointer = &hp_unborn;

void *hp_local_memory(struct hp_local *me, uint64_t size)
{
	void *memory;

	size = (size + 15) & ~(uint64_t)15;
	if (size > (uint64_t)(me->pool_end - me->pool)) {
		me->pool = hp_pages(HP_POOL);
		me->pool_end = me->pool ? me->pool + HP_POOL : NULL;
		if (!me->pool)
			return NULL;
	}
	memory = me->pool;
	me->pool += size;
	return memory;
}

void hp_local_count_lost(void)
{
	atomic_fetch_add_explicit(&hp_segment.header->lost_calls, 1, memory_order_relaxed);
}
