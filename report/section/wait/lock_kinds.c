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

#include "report/base/format.h"
#include "report/section/wait/lock_cells.h"
#include "report/section/wait/lock_section.h"
#include "report/section/core/list.h"
#include "report/base/memory.h"
#include "segment/layout/header.h"

/* --- latecomers at a barrier --- */

static bool is_at(const struct hp_locks *locks, size_t i, const void *row)
{
	return &locks->rows[locks->parties[i].lock] == row && locks->parties[i].count;
}

/*
 * Among the threads that arrived there, those that waited least and most: the others
 * wait for the former; NULL = fewer than two.
 */
static const struct hp_lock_party *latest(const struct hp_report *report, const void *row,
					  const struct hp_lock_party **earliest)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));
	const struct hp_lock_party *least = NULL, *most = NULL;

	for (size_t i = 0; i < locks->party_count; i++) {
		const struct hp_lock_party *party = &locks->parties[i];

		if (!is_at(locks, i, row))
			continue;
		least = !least || party->ticks < least->ticks ? party : least;
		most = !most || party->ticks > most->ticks ? party : most;
	}
	*earliest = most;
	return least == most ? NULL : least;
}

static void barrier_latest(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_lock_party *most, *party = latest(cell->report, cell->row, &most);
	const char *name = "";

	value->is_unknown = !party;
	if (!party)
		return;
	for (size_t i = 0; i < cell->report->model.thread_count; i++)
		if (cell->report->model.threads[i].tid == party->tid &&
		    cell->report->model.threads[i].pid == party->pid)
			name = cell->report->model.threads[i].name;
	hp_cell_set_text(cell, hp_xprintf("%s%s%u", name, *name ? " " : "", party->tid), value);
}

static void barrier_imbalance(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_lock_party *most, *party = latest(cell->report, cell->row, &most);

	hp_lock_set_ticks(cell, party ? (double)(most->ticks - party->ticks) : -1, value);
}

static const struct hp_column cond_columns[] = {
	{ .key = "id", .raw = "id", .unit = HP_UNIT_NUMBER, .get = hp_lock_get_id },
	{ "Condition", "label", "label", HP_UNIT_NAME, .get = hp_lock_get_name },
	{ NULL, "source", "source", HP_UNIT_TEXT, .get = hp_lock_get_source },
	{ NULL, "type_name", "type_name", HP_UNIT_TEXT, .get = hp_lock_get_type },
	{ "Waits", "count", "count", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_ONLY].count) },
	{ "Signals", "signals", "signals", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_POST].count) },
	{ "Timeouts", "timeouts", "timeouts", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_ONLY].timeouts) },
	{ "Wait avg", "wait_avg", "wait_avg_ns", HP_UNIT_TIME, .get = hp_lock_get_wait_mean,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_ONLY]) },
	{ "Wait P", NULL, "wait_p", HP_UNIT_TIME, .get = hp_lock_get_wait_percentile,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_ONLY]), .is_percentiles = true,
	  .need = HP_NEED_ROOM },
	{ "Longest", "wait_max", "wait_max_ns", HP_UNIT_TIME, .get = hp_lock_get_longest,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_ONLY]) },
	{ .raw = "wait_total_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_TICKS(hp_lock_row, sums[HP_SIDE_ONLY].wait_ticks) },
	{ .raw = "objects", .unit = HP_UNIT_NUMBER, .member = HP_MEMBER(hp_lock_row, objects) },
	{ "Wake P", NULL, "wake_p", HP_UNIT_TIME, .get = hp_lock_get_hold_percentile,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_ONLY]), .is_percentiles = true },
	{ .raw = "without_signal",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_ONLY].failed) },
	{ 0 },
};

static const struct hp_column sem_columns[] = {
	{ .key = "id", .raw = "id", .unit = HP_UNIT_NUMBER, .get = hp_lock_get_id },
	{ "Semaphore", "label", "label", HP_UNIT_NAME, .get = hp_lock_get_name },
	{ NULL, "source", "source", HP_UNIT_TEXT, .get = hp_lock_get_source },
	{ NULL, "type_name", "type_name", HP_UNIT_TEXT, .get = hp_lock_get_type },
	{ "Taken", "count", "count", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_ONLY].count) },
	{ "Posts", "posts", "posts", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_POST].count) },
	{ "Waits", NULL, "contended", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_ONLY].contended) },
	{ "Wait avg", "wait_avg", "wait_avg_ns", HP_UNIT_TIME, .get = hp_lock_get_wait_mean,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_ONLY]) },
	{ "Wait P", NULL, "wait_p", HP_UNIT_TIME, .get = hp_lock_get_wait_percentile,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_ONLY]), .is_percentiles = true,
	  .need = HP_NEED_ROOM },
	{ "Longest", "wait_max", "wait_max_ns", HP_UNIT_TIME, .get = hp_lock_get_longest,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_ONLY]) },
	{ .raw = "wait_total_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_TICKS(hp_lock_row, sums[HP_SIDE_ONLY].wait_ticks) },
	{ .raw = "objects", .unit = HP_UNIT_NUMBER, .member = HP_MEMBER(hp_lock_row, objects) },
	{ .raw = "failed_tries",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_ONLY].failed) },
	{ .raw = "timeouts",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_ONLY].timeouts) },
	{ 0 },
};

static const struct hp_column barrier_columns[] = {
	{ .key = "id", .raw = "id", .unit = HP_UNIT_NUMBER, .get = hp_lock_get_id },
	{ "Barrier", "label", "label", HP_UNIT_NAME, .get = hp_lock_get_name },
	{ NULL, "source", "source", HP_UNIT_TEXT, .get = hp_lock_get_source },
	{ NULL, "type_name", "type_name", HP_UNIT_TEXT, .get = hp_lock_get_type },
	{ "Arrivals", "count", "count", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_ONLY].count) },
	{ "Wait avg", "wait_avg", "wait_avg_ns", HP_UNIT_TIME, .get = hp_lock_get_wait_mean,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_ONLY]) },
	{ "Wait P", NULL, "wait_p", HP_UNIT_TIME, .get = hp_lock_get_wait_percentile,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_ONLY]), .is_percentiles = true,
	  .need = HP_NEED_ROOM },
	{ "Longest", "wait_max", "wait_max_ns", HP_UNIT_TIME, .get = hp_lock_get_longest,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_ONLY]) },
	{ .raw = "wait_total_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_TICKS(hp_lock_row, sums[HP_SIDE_ONLY].wait_ticks) },
	{ .raw = "objects", .unit = HP_UNIT_NUMBER, .member = HP_MEMBER(hp_lock_row, objects) },
	{ "Latest", "latest", "latest", HP_UNIT_TEXT, .get = barrier_latest,
	  .need = HP_NEED_KNOWN },
	{ "Imbalance", "imbalance", "imbalance_ns", HP_UNIT_TIME, .get = barrier_imbalance,
	  .need = HP_NEED_KNOWN },
	{ 0 },
};

static const struct hp_column rwlock_columns[] = {
	{ .key = "id", .raw = "id", .unit = HP_UNIT_NUMBER, .get = hp_lock_get_id },
	{ "RwLock", "label", "label", HP_UNIT_NAME, .get = hp_lock_get_name },
	{ NULL, "source", "source", HP_UNIT_TEXT, .get = hp_lock_get_source },
	{ NULL, "type_name", "type_name", HP_UNIT_TEXT, .get = hp_lock_get_type },
	{ "Reads", "read_count", "read_count", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_READ].count) },
	/* Every acquisition is counted, so the sampled count is the total. */
	{ .key = "read_sampled_count",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_READ].count) },
	{ NULL, "read_wait_avg", "read_wait_avg_ns", HP_UNIT_TIME, .get = hp_lock_get_wait_mean,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_READ]) },
	{ "Wait P", NULL, "read_wait_p", HP_UNIT_TIME, .get = hp_lock_get_wait_percentile,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_READ]), .is_percentiles = true,
	  .need = HP_NEED_ROOM },
	{ "Longest", NULL, "read_wait_max_ns", HP_UNIT_TIME, .get = hp_lock_get_longest,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_READ]) },
	{ NULL, "read_acquire_avg", "read_acquire_avg_ns", HP_UNIT_TIME,
	  .get = hp_lock_get_hold_mean, .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_READ]) },
	{ "\302\26195%", NULL, NULL, HP_UNIT_ERROR, .get = hp_lock_get_hold_error,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_READ]), .need = HP_NEED_ESTIMATE },
	{ "Held P", NULL, "read_acquire_p", HP_UNIT_TIME, .get = hp_lock_get_hold_percentile,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_READ]), .is_percentiles = true },
	{ "Writes", "write_count", "write_count", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_WRITE].count) },
	{ .key = "write_sampled_count",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_WRITE].count) },
	{ NULL, "write_wait_avg", "write_wait_avg_ns", HP_UNIT_TIME, .get = hp_lock_get_wait_mean,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_WRITE]) },
	{ "Wait P", NULL, "write_wait_p", HP_UNIT_TIME, .get = hp_lock_get_wait_percentile,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_WRITE]), .is_percentiles = true,
	  .need = HP_NEED_ROOM },
	{ "Longest", NULL, "write_wait_max_ns", HP_UNIT_TIME, .get = hp_lock_get_longest,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_WRITE]) },
	{ NULL, "write_acquire_avg", "write_acquire_avg_ns", HP_UNIT_TIME,
	  .get = hp_lock_get_hold_mean, .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_WRITE]) },
	{ "\302\26195%", NULL, NULL, HP_UNIT_ERROR, .get = hp_lock_get_hold_error,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_WRITE]), .need = HP_NEED_ESTIMATE },
	{ "Held P", NULL, "write_acquire_p", HP_UNIT_TIME, .get = hp_lock_get_hold_percentile,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_WRITE]), .is_percentiles = true },
	{ .raw = "read_contended",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_READ].contended) },
	{ .raw = "read_wait_total_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_TICKS(hp_lock_row, sums[HP_SIDE_READ].wait_ticks) },
	{ .raw = "read_failed_tries",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_READ].failed) },
	{ .raw = "read_timeouts",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_READ].timeouts) },
	{ .raw = "read_acquire_total_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = hp_lock_get_hold,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_READ]) },
	{ .raw = "read_acquire_total_low_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = hp_lock_get_hold_low,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_READ]) },
	{ .raw = "read_acquire_total_high_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = hp_lock_get_hold_high,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_READ]) },
	{ .raw = "read_acquire_avg_low_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = hp_lock_get_hold_mean_low,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_READ]) },
	{ .raw = "read_acquire_avg_high_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = hp_lock_get_hold_mean_high,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_READ]) },
	{ NULL, "read_acquire_max", NULL, HP_UNIT_TEXT, .get = hp_lock_get_hold_most_text,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_READ]) },
	{ .raw = "read_acquire_max_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = hp_lock_get_hold_most,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_READ]) },
	{ .raw = "read_acquire_max_high_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = hp_lock_get_hold_most_high,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_READ]) },
	{ .raw = "write_contended",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_WRITE].contended) },
	{ .raw = "write_wait_total_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_TICKS(hp_lock_row, sums[HP_SIDE_WRITE].wait_ticks) },
	{ .raw = "write_failed_tries",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_WRITE].failed) },
	{ .raw = "write_timeouts",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_WRITE].timeouts) },
	{ .raw = "write_acquire_total_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = hp_lock_get_hold,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_WRITE]) },
	{ .raw = "write_acquire_total_low_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = hp_lock_get_hold_low,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_WRITE]) },
	{ .raw = "write_acquire_total_high_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = hp_lock_get_hold_high,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_WRITE]) },
	{ .raw = "write_acquire_avg_low_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = hp_lock_get_hold_mean_low,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_WRITE]) },
	{ .raw = "write_acquire_avg_high_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = hp_lock_get_hold_mean_high,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_WRITE]) },
	{ NULL, "write_acquire_max", NULL, HP_UNIT_TEXT, .get = hp_lock_get_hold_most_text,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_WRITE]) },
	{ .raw = "write_acquire_max_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = hp_lock_get_hold_most,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_WRITE]) },
	{ .raw = "write_acquire_max_high_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = hp_lock_get_hold_most_high,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_WRITE]) },
	{ .raw = "objects", .unit = HP_UNIT_NUMBER, .member = HP_MEMBER(hp_lock_row, objects) },
	{ 0 },
};

/* How long they are held is unknown: see preload/lock/hook_file.c. */
static const struct hp_column file_lock_columns[] = {
	{ .key = "id", .raw = "id", .unit = HP_UNIT_NUMBER, .get = hp_lock_get_id },
	{ "File", "label", "label", HP_UNIT_NAME, .get = hp_lock_get_name },
	{ NULL, "source", "source", HP_UNIT_TEXT, .get = hp_lock_get_source },
	{ NULL, "type_name", "type_name", HP_UNIT_TEXT, .get = hp_lock_get_type },
	{ "Shared", "read_count", "read_count", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_READ].count) },
	{ NULL, "read_wait_avg", "read_wait_avg_ns", HP_UNIT_TIME, .get = hp_lock_get_wait_mean,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_READ]) },
	{ "Wait P", NULL, "read_wait_p", HP_UNIT_TIME, .get = hp_lock_get_wait_percentile,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_READ]), .is_percentiles = true,
	  .need = HP_NEED_ROOM },
	{ "Longest", NULL, "read_wait_max_ns", HP_UNIT_TIME, .get = hp_lock_get_longest,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_READ]) },
	{ "Exclusive", "write_count", "write_count", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_WRITE].count) },
	{ NULL, "write_wait_avg", "write_wait_avg_ns", HP_UNIT_TIME, .get = hp_lock_get_wait_mean,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_WRITE]) },
	{ "Wait P", NULL, "write_wait_p", HP_UNIT_TIME, .get = hp_lock_get_wait_percentile,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_WRITE]), .is_percentiles = true,
	  .need = HP_NEED_ROOM },
	{ "Longest", NULL, "write_wait_max_ns", HP_UNIT_TIME, .get = hp_lock_get_longest,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_WRITE]) },
	{ .raw = "read_contended",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_READ].contended) },
	{ .raw = "read_wait_total_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_TICKS(hp_lock_row, sums[HP_SIDE_READ].wait_ticks) },
	{ .raw = "read_failed_tries",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_READ].failed) },
	{ .raw = "read_timeouts",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_READ].timeouts) },
	{ .raw = "write_contended",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_WRITE].contended) },
	{ .raw = "write_wait_total_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_TICKS(hp_lock_row, sums[HP_SIDE_WRITE].wait_ticks) },
	{ .raw = "write_failed_tries",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_WRITE].failed) },
	{ .raw = "write_timeouts",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_WRITE].timeouts) },
	{ 0 },
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

/* A thread that waits still is not counted, but has used it. */
static bool is_waited_for(const struct hp_locks *locks, const struct hp_lock_row *lock)
{
	for (size_t i = 0; i < locks->wait_count; i++)
		if (&locks->rows[locks->waits[i].lock] == lock)
			return true;
	return false;
}

bool hp_lock_is_used(const struct hp_locks *locks, const struct hp_lock_row *lock)
{
	return used(lock) || is_waited_for(locks, lock);
}

/* GLib's are in the same table as those of the C library. */
static bool is_of(const struct hp_lock_row *lock, uint32_t kind)
{
	return hp_lock_family(lock->kind) == hp_lock_family(kind);
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

static void fill(const struct hp_section *section, struct hp_report *report, struct hp_list *list,
		 uint32_t kind)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));

	list->rows = hp_xcalloc(locks->count, sizeof(*list->rows));
	list->total = 0;
	for (size_t i = 0; i < locks->count; i++)
		if (is_of(&locks->rows[i], kind) && hp_lock_is_used(locks, &locks->rows[i]))
			list->rows[list->total++] = &locks->rows[i];
	if (list->total)
		qsort_r(list->rows, list->total, sizeof(*list->rows), compare_rows, report);
	hp_section_cut(section, report, list);
}

static bool has(const struct hp_report *report, uint32_t kind)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));

	for (size_t i = 0; i < locks->count; i++)
		if (is_of(&locks->rows[i], kind) && hp_lock_is_used(locks, &locks->rows[i]))
			return true;
	return false;
}

static void conds_fill(struct hp_report *report, struct hp_list *list)
{
	fill(&hp_conds_section, report, list, HP_LOCK_COND);
}

static bool conds_have_data(const struct hp_report *report)
{
	return has(report, HP_LOCK_COND);
}

static void sems_fill(struct hp_report *report, struct hp_list *list)
{
	fill(&hp_sems_section, report, list, HP_LOCK_SEM);
}

static bool sems_have_data(const struct hp_report *report)
{
	return has(report, HP_LOCK_SEM);
}

static void barriers_fill(struct hp_report *report, struct hp_list *list)
{
	fill(&hp_barriers_section, report, list, HP_LOCK_BARRIER);
}

static bool barriers_have_data(const struct hp_report *report)
{
	return has(report, HP_LOCK_BARRIER);
}

static void file_locks_fill(struct hp_report *report, struct hp_list *list)
{
	fill(&hp_file_locks_section, report, list, HP_LOCK_FILE);
}

static bool file_locks_have_data(const struct hp_report *report)
{
	return has(report, HP_LOCK_FILE);
}

static void rw_locks_fill(struct hp_report *report, struct hp_list *list)
{
	fill(&hp_rw_locks_section, report, list, HP_LOCK_RWLOCK);
}

static bool rw_locks_have_data(const struct hp_report *report)
{
	return has(report, HP_LOCK_RWLOCK);
}

/* --- JSON --- */

static void add_one_side(struct hp_report *report, const void *row, cJSON *entry)
{
	const struct hp_lock_row *lock = row;

	hp_lock_add_identity(report, lock, entry);
	hp_lock_add_percentiles(report, &lock->sums[HP_SIDE_ONLY], false, "wait_percentiles",
				entry);
}

static void add_file_lock(struct hp_report *report, const void *row, cJSON *entry)
{
	const struct hp_lock_row *lock = row;

	hp_lock_add_identity(report, row, entry);
	hp_lock_add_percentiles(report, &lock->sums[HP_SIDE_READ], false, "read_wait_percentiles",
				entry);
	hp_lock_add_percentiles(report, &lock->sums[HP_SIDE_WRITE], false, "write_wait_percentiles",
				entry);
}

static void add_rwlock(struct hp_report *report, const void *row, cJSON *entry)
{
	const struct hp_lock_row *lock = row;

	add_file_lock(report, row, entry);
	hp_lock_add_percentiles(report, &lock->sums[HP_SIDE_READ], true, "read_acquire_percentiles",
				entry);
	hp_lock_add_percentiles(report, &lock->sums[HP_SIDE_WRITE], true,
				"write_acquire_percentiles", entry);
}

static void add_parties(struct hp_report *report, const void *row, cJSON *entry)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));
	cJSON *threads = cJSON_AddArrayToObject(entry, "threads");

	for (size_t i = 0; i < locks->party_count; i++) {
		const struct hp_lock_party *party = &locks->parties[i];
		cJSON *thread;

		if (!is_at(locks, i, row))
			continue;
		thread = cJSON_CreateObject();
		cJSON_AddNumberToObject(thread, "os_tid", party->tid);
		cJSON_AddNumberToObject(thread, "count", (double)party->count);
		cJSON_AddNumberToObject(thread, "wait_total_ns",
					rint((double)party->ticks * report->model.ns_per_tick));
		cJSON_AddItemToArray(threads, thread);
	}
}

/* --- the sections --- */

const struct hp_section hp_rw_locks_section = {
	.key = "rw_locks",
	.json = "rw_locks",
	.name = "rw_locks",
	.help = "reader-writer locks",
	.subject = HP_SUBJECT_WAIT,
	.columns = rwlock_columns,
	.needs = HP_RECORDED_LOCKS,
	.fill = rw_locks_fill,
	.limit = HP_MEMBER(hp_settings, rw_locks_limit),
	.usual = HP_LOCKS_LIMIT,
	.is_quiet = true,
	.has_data = rw_locks_have_data,
	.about = "RwLock wait & hold time statistics.",
	.none = HP_NO_LOCKS,
	.estimate = HP_ESTIMATE_HOLDS,
	.extra = { .head = hp_lock_add_head,
		   .data = add_rwlock,
		   .list_keys = HP_LOCK_KEYS,
		   .data_keys =
			   "has_custom_label:b location:@location iter:i read_wait_percentiles:o "
			   "write_wait_percentiles:o read_acquire_percentiles:o write_acquire_percentiles:o" },
	.tool = { .help = "Reader-writer locks: how often taken, how long waited for and held.",
		  .meaning = "Like mutexes, for reader-writer locks.",
		  .next = "who_waits_for_whom." },
};

const struct hp_section hp_conds_section = {
	.key = "conds",
	.json = "conds",
	.name = "conds",
	.help = "condition variables",
	.subject = HP_SUBJECT_WAIT,
	.columns = cond_columns,
	.needs = HP_RECORDED_LOCKS,
	.fill = conds_fill,
	.usual = HP_LOCKS_LIMIT,
	.is_quiet = true,
	.has_data = conds_have_data,
	.about = "Condition variables: waits, signals, and from signal to wake-up.",
	.none = HP_NO_LOCKS,
	.extra = { .head = hp_lock_add_head,
		   .data = add_one_side,
		   .list_keys = HP_LOCK_KEYS,
		   .data_keys = HP_LOCK_ROW_KEYS },
	.tool = { .help = "Condition variables: waits and wake-ups." },
};

const struct hp_section hp_sems_section = {
	.key = "sems",
	.json = "sems",
	.name = "sems",
	.help = "semaphores",
	.subject = HP_SUBJECT_WAIT,
	.columns = sem_columns,
	.needs = HP_RECORDED_LOCKS,
	.fill = sems_fill,
	.usual = HP_LOCKS_LIMIT,
	.is_quiet = true,
	.has_data = sems_have_data,
	.about = "Semaphores.",
	.none = HP_NO_LOCKS,
	.extra = { .head = hp_lock_add_head,
		   .data = add_one_side,
		   .list_keys = HP_LOCK_KEYS,
		   .data_keys = HP_LOCK_ROW_KEYS },
	.tool = { .help = "Semaphores: waits and posts." },
};

const struct hp_section hp_barriers_section = {
	.key = "barriers",
	.json = "barriers",
	.name = "barriers",
	.help = "barriers",
	.subject = HP_SUBJECT_WAIT,
	.columns = barrier_columns,
	.needs = HP_RECORDED_LOCKS,
	.fill = barriers_fill,
	.usual = HP_LOCKS_LIMIT,
	.is_quiet = true,
	.has_data = barriers_have_data,
	.about = "Barriers: how long threads waited for the last one.",
	.none = HP_NO_LOCKS,
	.extra = { .head = hp_lock_add_head,
		   .data = add_one_side,
		   .raw = add_parties,
		   .list_keys = HP_LOCK_KEYS,
		   .data_keys = HP_LOCK_ROW_KEYS,
		   .raw_keys = "threads:[@party]" },
	.tool = { .help = "Barriers: how long threads wait for the last one." },
};

const struct hp_section hp_file_locks_section = {
	.key = "file_locks",
	.json = "file_locks",
	.name = "file_locks",
	.help = "locks on files",
	.subject = HP_SUBJECT_WAIT,
	.columns = file_lock_columns,
	.needs = HP_RECORDED_LOCKS,
	.fill = file_locks_fill,
	.usual = HP_LOCKS_LIMIT,
	.is_quiet = true,
	.has_data = file_locks_have_data,
	.about = "Locks on files: flock, lockf, fcntl.",
	.none = HP_NO_LOCKS,
	.extra = { .head = hp_lock_add_head,
		   .data = add_file_lock,
		   .list_keys = HP_LOCK_KEYS,
		   .data_keys =
			   "has_custom_label:b location:@location iter:i read_wait_percentiles:o "
			   "write_wait_percentiles:o" },
	.tool = { .help = "Locks on files (flock, lockf, fcntl): how often taken, how long waited for.",
		  .meaning =
			  "Like rw_locks, for locks on files; how long they are held is unknown.",
		  .next = "who_waits_for_whom for the places." },
};
