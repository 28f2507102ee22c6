/* SPDX-License-Identifier: MIT */
/*
 * sampled.h - how large blocks are and how long they live, from a random sample.
 *
 * One block in HP_SAMPLED_MEAN, with random gaps: examining all of them would cost each
 * allocation more than a fraction of a nanosecond. Counts of all blocks do not depend on it.
 */
#ifndef HP_PRELOAD_HEAP_SAMPLED_H
#define HP_PRELOAD_HEAP_SAMPLED_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/heap/heap.h"
#include "segment/layout/heap.h"

#define HP_SAMPLED_MEAN 256	/* blocks */
#define HP_PROVE_SAMPLES 4	/* after this many samples, a result of the path cache is verified */

/* Before the thread's first allocation. */
void hp_sampled_init(struct hp_heap_local *me);

/*
 * me->countdown reached 0.  True = the block has an entry in block_extra.h, and its
 * word is marked.
 */
bool hp_sampled_begin(struct hp_heap_local *me, struct hp_site *site, const void *block,
		      uint64_t size);

/* It is the last sampled one, and the thread has allocated nothing since. */
static inline bool hp_sampled_is_temporary(const struct hp_heap_local *me, const void *block)
{
	return block == me->sampled && me->countdown == me->sampled_at;
}

/* A sampled block that was not temporary is freed. */
void hp_sampled_end(const struct hp_heap_local *me, struct hp_site *site, uint64_t born);

#endif
