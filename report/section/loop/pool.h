/* SPDX-License-Identifier: MIT */
/*
 * pool.h - threads that wait for work together: several of a process that wait again and again
 * on one condition, by one call path.
 */
#ifndef HP_REPORT_SECTION_LOOP_POOL_H
#define HP_REPORT_SECTION_LOOP_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/read/lock_place.h"
#include "report/section/core/section.h"

struct hp_pool_row {
	uint32_t lock;	/* its condition: place in hp_locks.rows */
	uint32_t path;	/* of the waits: place in hp_locks.paths, or HP_NONE */
	struct hp_lock_place at;	/* the call that waits */
	char *name;	/* the function that waits */
	const char *kind;	/* "libuv", "GLib", "condition" */
	uint64_t workers;	/* threads, also those that have ended */
	uint64_t waiting;	/* of these: waited at the end */
	uint64_t waits;	/* ended ones */
	uint64_t idle_ticks;	/* in these waits, ongoing ones included */
	uint64_t idle_most;	/* the longest, ticks */
	uint64_t life_ticks;	/* of all workers, if is_life_known; at least idle_ticks */
	bool is_life_known;
};

struct hp_pools {
	struct hp_pool_row *rows;	/* those with most waits first */
	size_t count;
};

/* Read on first request. */
const struct hp_pools *hp_pools_of(const struct hp_report *report);

#endif
