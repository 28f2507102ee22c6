/* SPDX-License-Identifier: MIT */
/*
 * lock_cells.h - the getters of what was done with a side of a lock: they are
 * many and alike, and the same for each side and section.
 *
 * HP_LOCK_CELLS(prefix, sum_of) defines prefix_count, prefix_wait_percentile, ...
 * where sum_of(row) is the row's struct hp_lock_sum.
 */
#ifndef HP_REPORT_SECTION_WAIT_LOCK_CELLS_H
#define HP_REPORT_SECTION_WAIT_LOCK_CELLS_H

#include "report/section/wait/lock_section.h"

#define HP_LOCK_CELL(name) \
	__attribute__((unused)) static void name(struct hp_report *report, const void *row, \
						 double percentile, struct hp_value *value)

#define HP_LOCK_UNUSED(x) (void)(x)

/* < 0 = not known. */
static inline void hp_lock_set_ticks(const struct hp_report *report, double ticks,
				     struct hp_value *value)
{
	value->number = ticks * report->model.ns_per_tick;
	value->is_unknown = ticks < 0;
}

#define HP_LOCK_CELL_COUNT(name, sum_of, field) \
	HP_LOCK_CELL(name) \
	{ \
		HP_LOCK_UNUSED(report), HP_LOCK_UNUSED(percentile); \
		value->number = (double)sum_of(row)->field; \
	}

#define HP_LOCK_CELL_TICKS(name, sum_of, field) \
	HP_LOCK_CELL(name) \
	{ \
		HP_LOCK_UNUSED(percentile); \
		hp_lock_set_ticks(report, (double)sum_of(row)->field, value); \
	}

#define HP_LOCK_CELL_WAITS(prefix, sum_of) \
	HP_LOCK_CELL(prefix##_wait_mean) \
	{ \
		const struct hp_lock_sum *sum = sum_of(row); \
		HP_LOCK_UNUSED(percentile); \
		hp_lock_set_ticks(report, sum->count ? sum->wait_ticks / (double)sum->count : -1, \
				  value); \
	} \
	HP_LOCK_CELL(prefix##_wait_percentile) \
	{ \
		hp_lock_set_ticks(report, hp_lock_wait_percentile(sum_of(row), percentile), \
				  value); \
	}

/* Of holds that have ended, as far as they are known. */
#define HP_LOCK_CELL_HOLDS(prefix, sum_of) \
	HP_LOCK_CELL(prefix##_hold) \
	{ \
		HP_LOCK_UNUSED(percentile); \
		hp_lock_set_ticks(report, sum_of(row)->hold_ticks, value); \
		value->is_estimated = sum_of(row)->is_estimated; \
	} \
	HP_LOCK_CELL(prefix##_hold_mean) \
	{ \
		const struct hp_lock_sum *sum = sum_of(row); \
		uint64_t count = sum->drawn ? sum->count : sum->timed; \
		HP_LOCK_UNUSED(percentile); \
		hp_lock_set_ticks(report, count ? sum->hold_ticks / (double)count : -1, value); \
		value->is_estimated = sum->is_estimated; \
	} \
	HP_LOCK_CELL(prefix##_hold_percentile) \
	{ \
		hp_lock_set_ticks(report, hp_lock_hold_percentile(sum_of(row), percentile), \
				  value); \
		value->is_estimated = sum_of(row)->is_estimated; \
		value->is_bound = value->is_estimated && percentile >= 100; \
	} \
	HP_LOCK_CELL(prefix##_hold_most) \
	{ \
		const struct hp_lock_sum *sum = sum_of(row); \
		HP_LOCK_UNUSED(percentile); \
		hp_lock_set_ticks(report, sum->timed + sum->drawn ? (double)sum->hold_most : -1, \
				  value); \
		value->is_bound = sum->is_estimated; \
	}

#define HP_LOCK_CELLS(prefix, sum_of) \
	HP_LOCK_CELL_COUNT(prefix##_count, sum_of, count) \
	HP_LOCK_CELL_COUNT(prefix##_contended, sum_of, contended) \
	HP_LOCK_CELL_COUNT(prefix##_failed, sum_of, failed) \
	HP_LOCK_CELL_COUNT(prefix##_timeouts, sum_of, timeouts) \
	HP_LOCK_CELL_COUNT(prefix##_timed, sum_of, timed + sum_of(row)->drawn) \
	HP_LOCK_CELL_TICKS(prefix##_wait, sum_of, wait_ticks) \
	HP_LOCK_CELL_TICKS(prefix##_wait_most, sum_of, wait_most) \
	HP_LOCK_CELL_WAITS(prefix, sum_of) \
	HP_LOCK_CELL_HOLDS(prefix, sum_of)

#endif
