/* SPDX-License-Identifier: MIT */
/*
 * mark.h - marks of untimed holds: which hold, and since when.
 *
 * A hold is identified by its use and the number of its acquisition; the mark
 * stores a few bits of their hash. The marking thread reads both before the
 * clock, and the owner compares them at the release. A mark that came too late
 * names another hold and is ignored.
 *
 * A waiter's mark is one word, since several threads may mark one hold; the
 * first mark stays. It holds the time in units of HP_MARK_UNIT ticks, rounded
 * up. The sampler's mark is three words with one writer; the last is its
 * version.
 */
#ifndef HP_SEGMENT_MARK_H
#define HP_SEGMENT_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "segment/layout/lock.h"
#include "util/hash.h"

#define HP_MARK_BITS 10
#define HP_MARK_UNIT (UINT64_C(1) << HP_MARK_BITS)
#define HP_MARK_TIME ((UINT64_C(1) << 40) - 1)
#define HP_SEEN_UNIT 64	/* ticks; of gaps */

/* Never 0 in its upper 24 bits. */
static inline uint64_t hp_mark_hash(uint64_t use_offset, uint64_t count)
{
	uint64_t hash = hp_hash_add(use_offset / HP_LINE, count) * HP_HASH_GOLDEN;

	return hash | UINT64_C(1) << 40;
}

static inline uint64_t hp_mark_word(uint64_t hash, uint64_t ticks)
{
	return (hash & ~HP_MARK_TIME) | (((ticks >> HP_MARK_BITS) + 1) & HP_MARK_TIME);
}

static inline bool hp_mark_is_of(uint64_t word, uint64_t hash)
{
	return ((word ^ hash) & ~HP_MARK_TIME) == 0;
}

/* Ticks from the mark to `now`, rounded down. */
static inline uint64_t hp_mark_until(uint64_t word, uint64_t now)
{
	uint64_t units = ((now >> HP_MARK_BITS) - word) & HP_MARK_TIME;

	/* The mark was rounded up. */
	return units > HP_MARK_TIME / 2 ? 0 : units << HP_MARK_BITS;
}

/* The upper half identifies the hold, the lower half the gap before the sampler's check. */
static inline uint64_t hp_seen_word(uint64_t hash, uint64_t gap)
{
	uint64_t units = gap / HP_SEEN_UNIT;

	return (hash >> 32 << 32) | (units < UINT32_MAX ? units : UINT32_MAX);
}

static inline bool hp_seen_is_of(uint64_t word, uint64_t hash)
{
	return word >> 32 == hash >> 32;
}

static inline uint64_t hp_seen_gap(uint64_t word)
{
	return (word & UINT32_MAX) * HP_SEEN_UNIT;
}

#endif
