/* SPDX-License-Identifier: MIT */
/*
 * lock_sum.h - what was done with one side of a lock, and how long that took: for messages
 * in channels, too.
 */
#ifndef HP_REPORT_READ_LOCK_SUM_H
#define HP_REPORT_READ_LOCK_SUM_H

#include <stdbool.h>
#include <stdint.h>

#include "report/read/model.h"

/* What was done with a lock on one of its sides. */
struct hp_lock_sum {
	uint64_t count;	/* acquisitions */
	uint64_t contended;	/* of them: had to wait */
	uint64_t failed;	/* tries that found it taken */
	uint64_t timeouts;
	uint64_t timed;	/* holds that were timed each */
	uint64_t drawn;	/* and at random */
	double wait_ticks;
	uint64_t wait_most;
	double hold_ticks;	/* of all holds, partly estimated */
	uint64_t hold_most;
	bool is_estimated;	/* hold_ticks and their percentiles */
	struct hp_model_histogram waits;	/* of the contended */
	struct hp_model_histogram holds;
};

/* Adds the counters of a hp_spread at `place` * HP_LINE. */
void hp_lock_spread_add(struct hp_model *model, struct hp_model_histogram *histogram,
			uint32_t place);

/* So many percent of all acquisitions waited at most this long; < 0 = there were none.  Ticks. */
double hp_lock_wait_percentile(const struct hp_lock_sum *sum, double percent);

/* The same of holds. */
double hp_lock_hold_percentile(const struct hp_lock_sum *sum, double percent);

#endif
