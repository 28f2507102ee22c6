/* SPDX-License-Identifier: MIT */
/*
 * lock_sum.h - operations on one side of a lock and their times; also for
 * channel messages.
 */
#ifndef HP_REPORT_READ_LOCK_SUM_H
#define HP_REPORT_READ_LOCK_SUM_H

#include <stdbool.h>
#include <stdint.h>

#include "report/read/model.h"
#include "segment/layout/lock.h"

/* Sums over untimed holds; FORMAT.md has the consequences. */
struct hp_lock_rest {
	double count;	/* holds that were neither timed nor sampled */
	double known;	/* certain time of these and the sampled ones, ticks */
	double shorts;	/* their first parts up to HP_LOCK_SHORT, estimated */
	double variance;	/* of that */
	double skew;	/* increase of that for each possible hold longer than all sampled ones */
	double hits;	/* checks that saw one held for longer */
	double gaps;	/* the gaps before these */
	double more;	/* and the time of these holds after the check, in whole gaps, */
	double tail;	/* or exactly */
	double gap;	/* the mean gap between checks */
	double gap_most;	/* the longest */
	double blind;	/* time without checks */
	double most;	/* no marked hold took longer */
	double open;	/* time of holds that have not ended, as far as known */
	double open_most;	/* of the longest */
	double open_untimed;	/* their number, without those whose start is known */
	bool is_unknown;	/* recorded by an earlier version: all of that is unknown */
};

/* Operations on one side of a lock. */
struct hp_lock_sum {
	uint64_t count;	/* acquisitions */
	uint64_t contended;	/* of them: had to wait */
	uint64_t failed;	/* tries that found it taken */
	uint64_t timeouts;
	uint64_t timed;	/* holds that were all timed */
	uint64_t sampled;	/* and sampled ones */
	double wait_ticks;
	uint64_t wait_most;
	double hold_ticks;	/* of all holds, partly estimated */
	double hold_low;	/* 95 % interval of that */
	double hold_high;	/* < 0 = unknown */
	uint64_t hold_most;
	double hold_most_high;	/* none can have taken longer; < 0 = unknown */
	bool is_estimated;	/* hold_ticks and their percentiles */
	struct hp_lock_rest *rest;	/* NULL = all zero, as of most locks */
	struct hp_histogram waits;	/* of the contended */
	struct hp_histogram holds;
};

/*
 * Adds the holds of a use, `samples` of them sampled, a rare one counted once.
 * `sums` NULL = none; `gap`: between checks in ticks, if the sums have none.
 */
void hp_lock_sum_add(struct hp_lock_sum *sum, const struct hp_use *use,
		     const struct hp_hold_sums *sums, uint64_t samples, double gap);

/*
 * Adds a hold that has not ended, `ticks` of it known. Unless `is_timed`, it may have begun a gap
 * between two checks earlier.
 */
void hp_lock_sum_open(struct hp_lock_sum *sum, double ticks, bool is_timed);

/*
 * After all uses were added: computes hold_ticks and its interval.
 * `clock_ticks` is the timing error of one hold, the same for all; the sum
 * cannot exceed `most_ticks` (0 = no limit).
 */
void hp_lock_sum_finish(struct hp_lock_sum *sum, double clock_ticks, double most_ticks);

void hp_lock_sum_release(struct hp_lock_sum *sum);

/* True if hold_most is only a lower bound of the longest hold. */
bool hp_lock_sum_is_most_bound(const struct hp_lock_sum *sum);

/* Adds the counters of a hp_spread at `place` * HP_LINE. */
void hp_lock_spread_add(struct hp_model *model, struct hp_histogram *histogram, uint32_t place);

/* The same from a use's sums, if it has no hp_spread because the values are few: see HP_FEW. */
void hp_lock_few_add(struct hp_histogram *histogram, uint64_t count, uint64_t ticks, uint64_t most);

/* The wait that `percent` of all acquisitions do not exceed, ticks; < 0 = none. */
double hp_lock_wait_percentile(const struct hp_lock_sum *sum, double percent);

/* The same for holds. */
double hp_lock_hold_percentile(const struct hp_lock_sum *sum, double percent);

#endif
