/* SPDX-License-Identifier: MIT */
/*
 * random.h - random gaps between sampled events.
 *
 * Cheap, not cryptographic: one multiplication and one addition.  The caller
 * keeps the state, one per thread, so nothing here is shared.  Any seed works,
 * including 0; seeds of different threads should differ.
 */
#ifndef HP_UTIL_RANDOM_H
#define HP_UTIL_RANDOM_H

#include <stdint.h>

/*
 * Advances the state, and returns it.  Use the upper 32 bits: the lower ones
 * repeat early.  Knuth's MMIX generator (The Art of Computer Programming 2,
 * 3.3.4, table 1).
 */
static inline uint64_t hp_random_next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state;
}

/* Uniform in 1 .. 2 * mean - 1, so that `mean` is the mean; `mean` is 1 to 2^31. */
static inline uint32_t hp_random_gap(uint64_t *state, uint32_t mean)
{
	return 1 + (uint32_t)(((hp_random_next(state) >> 32) * (2 * (uint64_t)mean - 1)) >> 32);
}

#endif
