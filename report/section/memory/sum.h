/* SPDX-License-Identifier: MIT */
/*
 * sum.h - the figures of one path, function or program.
 */
#ifndef HP_REPORT_SECTION_MEMORY_SUM_H
#define HP_REPORT_SECTION_MEMORY_SUM_H

#include <stdint.h>

struct hp_alloc_sum {
	uint64_t count; /* blocks */
	uint64_t bytes; /* as requested */
	uint64_t frees;
	uint64_t freed_bytes;
	uint64_t temporary; /* of the blocks: freed by the same thread before its next allocation */
	uint64_t temporary_bytes;
	int64_t live; /* blocks at the end */
	int64_t live_bytes;
	int64_t peak_bytes; /* at the process's peak */
	uint64_t lost; /* blocks that nothing pointed to at the end (hp_alloc.leak_scans) */
	uint64_t lost_bytes;
};

/* A hostile segment may hold any number. */
static inline int64_t hp_alloc_plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t hp_alloc_minus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline void hp_alloc_add(struct hp_alloc_sum *to, const struct hp_alloc_sum *sum)
{
	to->count += sum->count;
	to->bytes += sum->bytes;
	to->frees += sum->frees;
	to->freed_bytes += sum->freed_bytes;
	to->temporary += sum->temporary;
	to->temporary_bytes += sum->temporary_bytes;
	to->live = hp_alloc_plus(to->live, sum->live);
	to->live_bytes = hp_alloc_plus(to->live_bytes, sum->live_bytes);
	to->peak_bytes = hp_alloc_plus(to->peak_bytes, sum->peak_bytes);
	to->lost += sum->lost;
	to->lost_bytes += sum->lost_bytes;
}

/* The difference from `before` to `now`. */
static inline struct hp_alloc_sum hp_alloc_difference(const struct hp_alloc_sum *now,
						      const struct hp_alloc_sum *before)
{
	return (struct hp_alloc_sum){
		.count = now->count - before->count,
		.bytes = now->bytes - before->bytes,
		.frees = now->frees - before->frees,
		.freed_bytes = now->freed_bytes - before->freed_bytes,
		.temporary = now->temporary - before->temporary,
		.temporary_bytes = now->temporary_bytes - before->temporary_bytes,
		.live = hp_alloc_minus(now->live, before->live),
		.live_bytes = hp_alloc_minus(now->live_bytes, before->live_bytes),
		.peak_bytes = hp_alloc_minus(now->peak_bytes, before->peak_bytes),
		.lost = now->lost - before->lost,
		.lost_bytes = now->lost_bytes - before->lost_bytes,
	};
}

#endif
