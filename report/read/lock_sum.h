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
#include "segment/layout/lock.h"

/* Holds that were not timed each, as sums over uses: FORMAT.md says what of them follows. */
struct hp_lock_rest {
	double count;	/* holds that were neither timed nor drawn */
	double known;	/* of them and of the drawn ones what is certain, ticks */
	double shorts;	/* their first parts up to HP_LOCK_SHORT, estimated */
	double variance;	/* of that */
	double skew;	/* what that would be more for each hold longer than all drawn ones that one might have drawn */
	double hits;	/* looks that saw one for longer than that */
	double gaps;	/* the gaps in front of these */
	double more;	/* and what these holds took behind the look in whole gaps, */
	double tail;	/* or exactly */
	double gap;	/* the mean gap of looks */
	double gap_most;	/* the longest */
	double blind;	/* time without looks */
	double most;	/* no hold that was marked took longer */
	bool is_unknown;	/* an earlier version recorded it: nothing of all that is known */
};

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
	double hold_low;	/* 95 % interval of that */
	double hold_high;	/* < 0 = not known */
	uint64_t hold_most;
	double hold_most_high;	/* none can have taken longer; < 0 = not known */
	bool is_estimated;	/* hold_ticks and their percentiles */
	struct hp_lock_rest rest;
	struct hp_model_histogram waits;	/* of the contended */
	struct hp_model_histogram holds;
};

/*
 * Adds the holds of a use, of which `draws` were drawn, a rare one counted once.  `sums` NULL = there are none;
 * `gap`: of looks in ticks, if they say nothing of it.
 */
void hp_lock_sum_add(struct hp_lock_sum *sum, const struct hp_use *use,
		     const struct hp_hold_sums *sums, uint64_t draws, double gap);

/*
 * All uses have been added: hold_ticks and its interval.  `clock_ticks` is the error of the time of
 * one hold, which is the same for all; the sum cannot be above `most_ticks` (0 = no limit).
 */
void hp_lock_sum_finish(struct hp_lock_sum *sum, double clock_ticks, double most_ticks);

/* hold_most is the longest hold only as far as is known. */
bool hp_lock_sum_is_most_bound(const struct hp_lock_sum *sum);

/* Adds the counters of a hp_spread at `place` * HP_LINE. */
void hp_lock_spread_add(struct hp_model *model, struct hp_model_histogram *histogram,
			uint32_t place);

/* So many percent of all acquisitions waited at most this long; < 0 = there were none.  Ticks. */
double hp_lock_wait_percentile(const struct hp_lock_sum *sum, double percent);

/* The same of holds. */
double hp_lock_hold_percentile(const struct hp_lock_sum *sum, double percent);

#endif
