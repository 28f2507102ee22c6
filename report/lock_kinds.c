/* SPDX-License-Identifier: MIT */
/*
 * lock_kinds.c - the sections of rwlocks, conditions, semaphores and barriers:
 * a row is a lock with all its sides.
 */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/format.h"
#include "report/lock_section.h"
#include "report/memory.h"

#define UNUSED(x) (void)(x)
#define CELL(name) \
	static void name(struct hp_report *report, const void *row, double percentile, \
			 struct hp_value *value)

static const struct hp_lock_sum *side(const void *row, enum hp_lock_side which)
{
	return &((const struct hp_lock_row *)row)->sums[which];
}

static void set_ticks(const struct hp_report *report, double ticks, struct hp_value *value)
{
	value->number = ticks * report->model.ns_per_tick;
	value->is_unknown = ticks < 0;
}

CELL(cell_name)
{
	UNUSED(percentile);
	value->text = hp_lock_name(report, row);
}

CELL(cell_id)
{
	const struct hp_locks *locks = hp_lock_view_locks(report->locks);

	UNUSED(percentile);
	value->number = (double)((const struct hp_lock_row *)row - locks->rows) + 1;
}

CELL(cell_type)
{
	UNUSED(report), UNUSED(percentile);
	value->text = hp_lock_type(((const struct hp_lock_row *)row)->kind);
}

CELL(cell_source)
{
	const struct hp_lock_row *lock = row;
	const struct hp_symbol_spot *spot =
		lock->number == HP_LOCK_STATIC ? NULL : hp_lock_site(report, lock);

	UNUSED(percentile);
	free(report->text);
	if (spot && spot->file)
		report->text = hp_xprintf("%s:%d", spot->file, spot->line);
	else
		report->text = hp_xstrdup(hp_lock_name(report, lock));
	value->text = report->text;
}

CELL(cell_objects)
{
	UNUSED(report), UNUSED(percentile);
	value->number = (double)((const struct hp_lock_row *)row)->objects;
}

/* One getter for each (side, what): they are many and alike. */
#define COUNT(name, which, field) \
	CELL(name) \
	{ \
		UNUSED(report), UNUSED(percentile); \
		value->number = (double)side(row, which)->field; \
	}
#define TICKS(name, which, field) \
	CELL(name) \
	{ \
		UNUSED(percentile); \
		set_ticks(report, (double)side(row, which)->field, value); \
	}
#define WAIT_MEAN(name, which) \
	CELL(name) \
	{ \
		const struct hp_lock_sum *sum = side(row, which); \
		UNUSED(percentile); \
		set_ticks(report, sum->count ? sum->wait_ticks / (double)sum->count : -1, value); \
	}
#define HOLD_MEAN(name, which) \
	CELL(name) \
	{ \
		const struct hp_lock_sum *sum = side(row, which); \
		uint64_t count = sum->drawn ? sum->count : sum->timed; \
		UNUSED(percentile); \
		set_ticks(report, count ? sum->hold_ticks / (double)count : -1, value); \
		value->is_estimated = sum->is_estimated; \
	}
#define WAIT_PERCENTILE(name, which) \
	CELL(name) \
	{ \
		set_ticks(report, hp_lock_wait_percentile(side(row, which), percentile), value); \
	}
#define HOLD_PERCENTILE(name, which) \
	CELL(name) \
	{ \
		set_ticks(report, hp_lock_hold_percentile(side(row, which), percentile), value); \
		value->is_estimated = side(row, which)->is_estimated; \
	}

COUNT(only_count, HP_SIDE_ONLY, count)
COUNT(only_contended, HP_SIDE_ONLY, contended)
COUNT(only_failed, HP_SIDE_ONLY, failed)
COUNT(only_timeouts, HP_SIDE_ONLY, timeouts)
TICKS(only_wait, HP_SIDE_ONLY, wait_ticks)
TICKS(only_most, HP_SIDE_ONLY, wait_most)
WAIT_MEAN(only_wait_mean, HP_SIDE_ONLY)
WAIT_PERCENTILE(only_wait_percentile, HP_SIDE_ONLY)
HOLD_PERCENTILE(only_hold_percentile, HP_SIDE_ONLY)
COUNT(post_count, HP_SIDE_POST, count)
COUNT(read_count, HP_SIDE_READ, count)
COUNT(read_contended, HP_SIDE_READ, contended)
COUNT(read_failed, HP_SIDE_READ, failed)
COUNT(read_timeouts, HP_SIDE_READ, timeouts)
TICKS(read_wait, HP_SIDE_READ, wait_ticks)
TICKS(read_hold, HP_SIDE_READ, hold_ticks)
TICKS(read_most, HP_SIDE_READ, wait_most)
WAIT_MEAN(read_wait_mean, HP_SIDE_READ)
HOLD_MEAN(read_hold_mean, HP_SIDE_READ)
WAIT_PERCENTILE(read_wait_percentile, HP_SIDE_READ)
HOLD_PERCENTILE(read_hold_percentile, HP_SIDE_READ)
COUNT(write_count, HP_SIDE_WRITE, count)
COUNT(write_contended, HP_SIDE_WRITE, contended)
COUNT(write_failed, HP_SIDE_WRITE, failed)
COUNT(write_timeouts, HP_SIDE_WRITE, timeouts)
TICKS(write_wait, HP_SIDE_WRITE, wait_ticks)
TICKS(write_hold, HP_SIDE_WRITE, hold_ticks)
TICKS(write_most, HP_SIDE_WRITE, wait_most)
WAIT_MEAN(write_wait_mean, HP_SIDE_WRITE)
HOLD_MEAN(write_hold_mean, HP_SIDE_WRITE)
WAIT_PERCENTILE(write_wait_percentile, HP_SIDE_WRITE)
HOLD_PERCENTILE(write_hold_percentile, HP_SIDE_WRITE)

#define NUMBER(key, getter) \
	{ \
		.raw = key, .unit = HP_UNIT_NUMBER, .get = getter \
	}

#define HEAD(title) \
	{ .key = "id", .raw = "id", .unit = HP_UNIT_NUMBER, .get = cell_id }, \
		{ title, "label", "label", HP_UNIT_NAME, cell_name, false, false }, \
		{ NULL, "source", "source", HP_UNIT_TEXT, cell_source, false, false }, \
	{ \
		NULL, "type_name", "type_name", HP_UNIT_TEXT, cell_type, false, false \
	}

/* Waits for something that nobody holds. */
#define WAITS \
	{ "Wait avg", "wait_avg", "wait_avg_ns", HP_UNIT_TIME, only_wait_mean, false, false }, \
		{ "Wait P", NULL, "wait_p", HP_UNIT_TIME, only_wait_percentile, true, false }, \
		{ "Longest", "wait_max", "wait_max_ns", HP_UNIT_TIME, only_most, false, false }, \
		NUMBER("wait_total_ns", only_wait), NUMBER("objects", cell_objects)

const struct hp_column hp_cond_columns[HP_COND_COLUMNS] = {
	HEAD("Condition"),
	{ "Waits", "count", "count", HP_UNIT_COUNT, only_count, false, false },
	{ "Signals", "signals", "signals", HP_UNIT_COUNT, post_count, false, false },
	{ "Timeouts", "timeouts", "timeouts", HP_UNIT_COUNT, only_timeouts, false, false },
	WAITS,
	{ "Wake P", NULL, "wake_p", HP_UNIT_TIME, only_hold_percentile, true, false },
	NUMBER("without_signal", only_failed),
};

const struct hp_column hp_sem_columns[HP_SEM_COLUMNS] = {
	HEAD("Semaphore"),
	{ "Taken", "count", "count", HP_UNIT_COUNT, only_count, false, false },
	{ "Posts", "posts", "posts", HP_UNIT_COUNT, post_count, false, false },
	{ "Waits", NULL, "contended", HP_UNIT_COUNT, only_contended, false, false },
	WAITS,
	NUMBER("failed_tries", only_failed),
	NUMBER("timeouts", only_timeouts),
};

const struct hp_column hp_barrier_columns[HP_BARRIER_COLUMNS] = {
	HEAD("Barrier"),
	{ "Arrivals", "count", "count", HP_UNIT_COUNT, only_count, false, false },
	WAITS,
};

const struct hp_column hp_rwlock_columns[HP_RWLOCK_COLUMNS] = {
	HEAD("RwLock"),
	{ "Reads", "read_count", "read_count", HP_UNIT_COUNT, read_count, false, false },
	{ NULL, "read_wait_avg", "read_wait_avg_ns", HP_UNIT_TIME, read_wait_mean, false, false },
	{ "Wait P", NULL, "read_wait_p", HP_UNIT_TIME, read_wait_percentile, true, false },
	{ "Longest", NULL, "read_wait_max_ns", HP_UNIT_TIME, read_most, false, false },
	{ NULL, "read_acquire_avg", "read_acquire_avg_ns", HP_UNIT_TIME, read_hold_mean, false,
	  false },
	{ "Acq P", NULL, "read_acquire_p", HP_UNIT_TIME, read_hold_percentile, true, false },
	{ "Writes", "write_count", "write_count", HP_UNIT_COUNT, write_count, false, false },
	{ NULL, "write_wait_avg", "write_wait_avg_ns", HP_UNIT_TIME, write_wait_mean, false,
	  false },
	{ "Wait P", NULL, "write_wait_p", HP_UNIT_TIME, write_wait_percentile, true, false },
	{ "Longest", NULL, "write_wait_max_ns", HP_UNIT_TIME, write_most, false, false },
	{ NULL, "write_acquire_avg", "write_acquire_avg_ns", HP_UNIT_TIME, write_hold_mean, false,
	  false },
	{ "Acq P", NULL, "write_acquire_p", HP_UNIT_TIME, write_hold_percentile, true, false },
	NUMBER("read_contended", read_contended),
	NUMBER("read_wait_total_ns", read_wait),
	NUMBER("read_acquire_total_ns", read_hold),
	NUMBER("read_failed_tries", read_failed),
	NUMBER("read_timeouts", read_timeouts),
	NUMBER("write_contended", write_contended),
	NUMBER("write_wait_total_ns", write_wait),
	NUMBER("write_acquire_total_ns", write_hold),
	NUMBER("write_failed_tries", write_failed),
	NUMBER("write_timeouts", write_timeouts),
	NUMBER("objects", cell_objects),
};

/* --- lists --- */

static double waited(const struct hp_lock_row *lock)
{
	double ticks = 0;

	for (int i = 0; i < HP_SIDES; i++)
		ticks += lock->sums[i].wait_ticks;
	return ticks;
}

static uint64_t used(const struct hp_lock_row *lock)
{
	uint64_t count = 0;

	for (int i = 0; i < HP_SIDES; i++)
		count += lock->sums[i].count + lock->sums[i].failed + lock->sums[i].timeouts;
	return count;
}

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct hp_lock_row *a = *(const struct hp_lock_row *const *)left;
	const struct hp_lock_row *b = *(const struct hp_lock_row *const *)right;
	double x = waited(a), y = waited(b);

	if (x > y || x < y)
		return x > y ? -1 : 1;
	if (used(a) != used(b))
		return used(a) > used(b) ? -1 : 1;
	return strcmp(hp_lock_name(context, a), hp_lock_name(context, b));
}

static void fill(struct hp_report *report, struct hp_list *list, uint32_t kind)
{
	const struct hp_locks *locks = hp_lock_view_locks(report->locks);

	list->rows = hp_xcalloc(locks->count, sizeof(*list->rows));
	list->total = 0;
	for (size_t i = 0; i < locks->count; i++)
		if (locks->rows[i].kind == kind && used(&locks->rows[i]))
			list->rows[list->total++] = &locks->rows[i];
	if (list->total)
		qsort_r(list->rows, list->total, sizeof(*list->rows), compare_rows, report);
	hp_lock_list_cut(report, list);
}

static bool has(const struct hp_report *report, uint32_t kind)
{
	const struct hp_locks *locks = hp_lock_view_locks(report->locks);

	for (size_t i = 0; i < locks->count; i++)
		if (locks->rows[i].kind == kind && used(&locks->rows[i]))
			return true;
	return false;
}

#define SECTION(name, kind, text) \
	const char *hp_##name##_describe(const struct hp_report *report) \
	{ \
		UNUSED(report); \
		return text; \
	} \
	void hp_##name##_fill(struct hp_report *report, struct hp_list *list) \
	{ \
		fill(report, list, kind); \
	} \
	bool hp_##name##_has_data(const struct hp_report *report) \
	{ \
		return has(report, kind); \
	}

SECTION(conds, HP_LOCK_COND, "Condition variables: waits, signals, and from signal to wake-up.")
SECTION(sems, HP_LOCK_SEM, "Semaphores.")
SECTION(barriers, HP_LOCK_BARRIER, "Barriers: how long threads waited for the last one.")
SECTION(rw_locks, HP_LOCK_RWLOCK, "RwLock wait & acquire time statistics.")

/* --- JSON --- */

void hp_kind_entry_add(struct hp_report *report, const void *row, cJSON *entry)
{
	const struct hp_lock_row *lock = row;

	hp_lock_identity_add(report, lock, entry);
	hp_lock_percentiles_add(report, &lock->sums[HP_SIDE_ONLY], false, "wait_percentiles",
				entry);
}

void hp_rwlock_entry_add(struct hp_report *report, const void *row, cJSON *entry)
{
	const struct hp_lock_row *lock = row;
	const struct hp_lock_sum *read = &lock->sums[HP_SIDE_READ];
	const struct hp_lock_sum *write = &lock->sums[HP_SIDE_WRITE];

	hp_lock_identity_add(report, lock, entry);
	hp_lock_percentiles_add(report, read, false, "read_wait_percentiles", entry);
	hp_lock_percentiles_add(report, write, false, "write_wait_percentiles", entry);
	hp_lock_percentiles_add(report, read, true, "read_acquire_percentiles", entry);
	hp_lock_percentiles_add(report, write, true, "write_acquire_percentiles", entry);
}
