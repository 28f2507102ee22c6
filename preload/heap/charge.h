/* SPDX-License-Identifier: MIT */
/*
 * charge.h - allocations are charged to the calls that make them (preload/call/tally.h).
 */
#ifndef HP_PRELOAD_HEAP_CHARGE_H
#define HP_PRELOAD_HEAP_CHARGE_H

#include <stdint.h>

#include "preload/call/tally.h"
#include "preload/guest/guest.h"
#include "preload/heap/heap.h"

/*
 * The top frame belongs to a call that `sp` has left, or to another stack: the
 * frame to charge instead; NULL = none.
 */
struct hp_frame *hp_charge_frame(struct hp_local *local, uintptr_t sp);

/* A block of `size` bytes is about to be recorded, or to be freed: updates the net. */
void hp_charge_follow(struct hp_heap_local *me, struct hp_tally *tally, uint64_t size);
void hp_charge_free(struct hp_heap_local *me);

/* Bytes that the thread has allocated minus those that it has freed. */
static inline int64_t hp_charge_net(const struct hp_heap_local *me)
{
	return me->heap->live + (int64_t)me->heap->pending_bytes;
}

/* A block of `size` bytes was allocated in the top call; it is recorded after this. */
static inline void hp_charge_add(struct hp_heap_local *me, uint64_t size)
{
	uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
	struct hp_local *local = me->calls;
	struct hp_frame *f = local->top - 1;
	struct hp_tally *tally;

	if (HP_UNLIKELY(f->cfa < sp || sp < local->low)) {
		f = hp_charge_frame(local, sp);
		if (!f)
			return;
	}
	tally = (struct hp_tally *)(uintptr_t)f->tally;
	if (HP_UNLIKELY(!(f->weight & HP_WEIGHT_TALLY))) {
		tally = hp_tally_attach(local, f, hp_charge_net(me), me->net_blocks);
		if (!tally)
			return;
	}
	tally->bytes += size;
	tally->count++;
	if (HP_UNLIKELY(hp_tally_has_most))
		hp_charge_follow(me, tally, size);
}

#endif
