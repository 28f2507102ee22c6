/* SPDX-License-Identifier: MIT */
/*
 * sampled.c - see sampled.h.
 */
#include "preload/heap/sampled.h"

#include <stdatomic.h>

#include "preload/guest/guest.h"
#include "preload/guest/ticks.h"
#include "preload/heap/block_extra.h"
#include "segment/clock.h"
#include "util/count.h"
#include "util/random.h"

#define BUSY_PATH 512	/* blocks: such a path has its own record */
#define LEAST_TICKS_LOG 10	/* of the first class of lifetimes */

void hp_sampled_init(struct hp_heap_local *me)
{
	me->random = hp_ticks_about() ^ (uintptr_t)me;
	me->countdown = hp_random_gap(&me->random, HP_SAMPLED_MEAN);
	me->blocks = me->countdown;
}

/* The class of values up to 2^n: n, at most the last one. */
static uint32_t class_of(uint64_t value, uint32_t classes)
{
	uint32_t n = value <= 1 ? 0 : 64 - (uint32_t)__builtin_clzll(value - 1);

	return n < classes ? n : classes - 1;
}

/* The path's own record, once there are many; NULL = none.  The gate is shut meanwhile. */
static struct hp_spread_of_blocks *spread_of(struct hp_heap_local *me, struct hp_site *site)
{
	struct hp_spread_of_blocks *spread;

	if (site->spread)
		return (void *)(me->base + (uint64_t)site->spread * HP_LINE);
	if (site->allocs + site->temporary < BUSY_PATH || !me->gate)
		return NULL;
	hp_heap_shut(me, (uintptr_t)__builtin_frame_address(0));
	spread = hp_heap_take(me, sizeof(*spread));
	if (spread)
		site->spread = (uint32_t)((uint64_t)((char *)spread - me->base) / HP_LINE);
	hp_heap_reopen(me);
	return spread;
}

HP_COLD bool hp_sampled_begin(struct hp_heap_local *me, struct hp_site *site, const void *block,
			      uint64_t size)
{
	struct hp_spread_of_blocks *spread = spread_of(me, site);
	uint32_t class = class_of(size, HP_SIZE_CLASSES);

	me->countdown = hp_random_gap(&me->random, HP_SAMPLED_MEAN);
	me->blocks += me->countdown;
	me->heap->sizes[class]++;
	if (spread)
		hp_count_up(&spread->sizes[class]);
	me->sampled = NULL;
	if (!hp_block_extra_put((uintptr_t)block,
				(struct hp_block_extra){ .size = size,
							 .born = hp_ticks_about() })) {
		me->heap->sampled_lost++;
		return false;
	}
	me->sampled = block;
	me->sampled_at = me->countdown;
	return true;
}

HP_COLD void hp_sampled_end(const struct hp_heap_local *me, struct hp_site *site, uint64_t born)
{
	uint64_t ticks = hp_ticks_about(), age = ticks > born ? ticks - born : 0;
	uint32_t class = class_of(age >> LEAST_TICKS_LOG, HP_LIFE_CLASSES);

	me->heap->lives[class]++;
	if (site->spread) {
		struct hp_spread_of_blocks *spread =
			(void *)(me->base + (uint64_t)site->spread * HP_LINE);

		hp_count_up_atomic(&spread->lives[class]);
	}
}
