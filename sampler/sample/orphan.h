/* SPDX-License-Identifier: MIT */
/*
 * orphan.h - rings in the segment whose owner has died without releasing them.
 */
#ifndef HP_SAMPLER_SAMPLE_ORPHAN_H
#define HP_SAMPLER_SAMPLE_ORPHAN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "segment/segment.h"
#include "segment/layout/process.h"

struct hp_ring_owner {
	uint64_t process;	/* offset of its hp_process */
	uint64_t image;	/* and hp_process.start_ticks */
};

static inline struct hp_ring_owner hp_ring_owner_read(const uint64_t *process,
						      const uint64_t *image)
{
	return (struct hp_ring_owner){ __atomic_load_n(process, __ATOMIC_ACQUIRE),
				       __atomic_load_n(image, __ATOMIC_ACQUIRE) };
}

/*
 * Frees a ring if its owner is dead.  A live owner may pass it to another process
 * while we check, and we may read a mix of both: two equal readings are from one
 * owner. A dead owner's fields no longer change. True = it was freed.
 */
static inline bool hp_ring_free_orphan(const struct hp_segment *segment, _Atomic uint32_t *state,
				       const uint64_t *process, const uint64_t *image)
{
	uint32_t taken = HP_TAKEN;
	struct hp_ring_owner owner, again;
	const struct hp_process *record;

	if (atomic_load_explicit(state, memory_order_acquire) != HP_TAKEN)
		return false;
	owner = hp_ring_owner_read(process, image);
	again = hp_ring_owner_read(process, image);
	record = hp_segment_at(segment, owner.process, sizeof(*record));
	if (owner.process != again.process || owner.image != again.image || !record ||
	    (atomic_load(&record->state) != HP_FREE && record->start_ticks == owner.image))
		return false;
	/* Release: the next owner continues after the words that were read. */
	return atomic_compare_exchange_strong_explicit(state, &taken, HP_FREE, memory_order_release,
						       memory_order_relaxed);
}

#endif
