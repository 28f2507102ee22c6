/* SPDX-License-Identifier: MIT */
/*
 * claim.h - the state of whatever one thread has at a time: HP_FREE, HP_TAKEN,
 * or HP_MOVING while its owner is being stored (segment/layout/process.h).
 *
 * Lock-free; signal handlers and other processes may claim at the same time.
 */
#ifndef HP_PRELOAD_GUEST_CLAIM_H
#define HP_PRELOAD_GUEST_CLAIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "segment/layout/process.h"
#include "util/assert.h"

/* Only one caller gets it. The load first: a failed exchange would take the line from its owner. */
static inline bool hp_claim(_Atomic uint32_t *state, uint32_t from, uint32_t to)
{
	HP_ASSERT(from != to);
	/* Acquire: the last owner's contents. */
	return atomic_load_explicit(state, memory_order_relaxed) == from &&
	       atomic_compare_exchange_strong_explicit(state, &from, to, memory_order_acq_rel,
						       memory_order_relaxed);
}

/* By its owner. */
static inline void hp_claim_end(_Atomic uint32_t *state)
{
	HP_ASSERT(atomic_load_explicit(state, memory_order_relaxed) != HP_FREE);
	/* Release: the next owner finds everything as we leave it. */
	atomic_store_explicit(state, HP_FREE, memory_order_release);
}

#endif
