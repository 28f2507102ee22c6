/* SPDX-License-Identifier: MIT */
/*
 * count.h - 32-bit counters that saturate: they stay at UINT32_MAX, "that many
 * or more". Where a record has room, a counter is wider or has a second one
 * that counts its overflows. These have neither: their events take at least 100
 * ns each, so they fill after minutes to days.
 */
#ifndef HP_UTIL_COUNT_H
#define HP_UTIL_COUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* By its only writer. */
static inline void hp_count_up(uint32_t *counter)
{
	*counter += *counter != UINT32_MAX;
}

static inline bool hp_count_is_full(_Atomic uint32_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed) == UINT32_MAX;
}

/* By any thread. */
static inline void hp_count_up_atomic(_Atomic uint32_t *counter)
{
	uint32_t was = atomic_load_explicit(counter, memory_order_relaxed);

	while (was != UINT32_MAX &&
	       !atomic_compare_exchange_weak_explicit(counter, &was, was + 1, memory_order_relaxed,
						      memory_order_relaxed))
		;
}

#endif
