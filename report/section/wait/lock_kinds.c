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
#include "report/base/memory.h"

/* --- who is late at a barrier --- */

static bool is_at(const struct hp_locks *locks, size_t i, const void *row)
{
	return &locks->rows[locks->parties[i].lock] == row && locks->parties[i].count;
}

/* Of the threads that came there who waited least, and most: the least one is waited for; NULL = fewer than two. */
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

const struct hp_column hp_cond_columns[] = {
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
	{ "Longest", "wait_max", "wait_max_ns", HP_UNIT_TIME,
	  .member = HP_TICKS(hp_lock_row, sums[HP_SIDE_ONLY].wait_most) },
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

const struct hp_column hp_sem_columns[] = {
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
	{ "Longest", "wait_max", "wait_max_ns", HP_UNIT_TIME,
	  .member = HP_TICKS(hp_lock_row, sums[HP_SIDE_ONLY].wait_most) },
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

const struct hp_column hp_barrier_columns[] = {
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
	{ "Longest", "wait_max", "wait_max_ns", HP_UNIT_TIME,
	  .member = HP_TICKS(hp_lock_row, sums[HP_SIDE_ONLY].wait_most) },
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

const struct hp_column hp_rwlock_columns[] = {
	{ .key = "id", .raw = "id", .unit = HP_UNIT_NUMBER, .get = hp_lock_get_id },
	{ "RwLock", "label", "label", HP_UNIT_NAME, .get = hp_lock_get_name },
	{ NULL, "source", "source", HP_UNIT_TEXT, .get = hp_lock_get_source },
	{ NULL, "type_name", "type_name", HP_UNIT_TEXT, .get = hp_lock_get_type },
	{ "Reads", "read_count", "read_count", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_READ].count) },
	{ NULL, "read_wait_avg", "read_wait_avg_ns", HP_UNIT_TIME, .get = hp_lock_get_wait_mean,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_READ]) },
	{ "Wait P", NULL, "read_wait_p", HP_UNIT_TIME, .get = hp_lock_get_wait_percentile,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_READ]), .is_percentiles = true,
	  .need = HP_NEED_ROOM },
	{ "Longest", NULL, "read_wait_max_ns", HP_UNIT_TIME,
	  .member = HP_TICKS(hp_lock_row, sums[HP_SIDE_READ].wait_most) },
	{ NULL, "read_acquire_avg", "read_acquire_avg_ns", HP_UNIT_TIME,
	  .get = hp_lock_get_hold_mean, .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_READ]) },
	{ "Acq P", NULL, "read_acquire_p", HP_UNIT_TIME, .get = hp_lock_get_hold_percentile,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_READ]), .is_percentiles = true },
	{ "Writes", "write_count", "write_count", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_WRITE].count) },
	{ NULL, "write_wait_avg", "write_wait_avg_ns", HP_UNIT_TIME, .get = hp_lock_get_wait_mean,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_WRITE]) },
	{ "Wait P", NULL, "write_wait_p", HP_UNIT_TIME, .get = hp_lock_get_wait_percentile,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_WRITE]), .is_percentiles = true,
	  .need = HP_NEED_ROOM },
	{ "Longest", NULL, "write_wait_max_ns", HP_UNIT_TIME,
	  .member = HP_TICKS(hp_lock_row, sums[HP_SIDE_WRITE].wait_most) },
	{ NULL, "write_acquire_avg", "write_acquire_avg_ns", HP_UNIT_TIME,
	  .get = hp_lock_get_hold_mean, .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_WRITE]) },
	{ "Acq P", NULL, "write_acquire_p", HP_UNIT_TIME, .get = hp_lock_get_hold_percentile,
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
	{ .raw = "objects", .unit = HP_UNIT_NUMBER, .member = HP_MEMBER(hp_lock_row, objects) },
	{ 0 },
};

/* How long they are held nobody knows: see preload/lock/hook_file.c. */
const struct hp_column hp_file_lock_columns[] = {
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
	{ "Longest", NULL, "read_wait_max_ns", HP_UNIT_TIME,
	  .member = HP_TICKS(hp_lock_row, sums[HP_SIDE_READ].wait_most) },
	{ "Exclusive", "write_count", "write_count", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_lock_row, sums[HP_SIDE_WRITE].count) },
	{ NULL, "write_wait_avg", "write_wait_avg_ns", HP_UNIT_TIME, .get = hp_lock_get_wait_mean,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_WRITE]) },
	{ "Wait P", NULL, "write_wait_p", HP_UNIT_TIME, .get = hp_lock_get_wait_percentile,
	  .member = HP_PLACE(hp_lock_row, sums[HP_SIDE_WRITE]), .is_percentiles = true,
	  .need = HP_NEED_ROOM },
	{ "Longest", NULL, "write_wait_max_ns", HP_UNIT_TIME,
	  .member = HP_TICKS(hp_lock_row, sums[HP_SIDE_WRITE].wait_most) },
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

/* GLib's are in one table with those of the C library. */
static bool is_of(const struct hp_lock_row *lock, uint32_t kind)
{
	return lock->kind == kind || (lock->kind == HP_LOCK_GRWLOCK && kind == HP_LOCK_RWLOCK) ||
	       (lock->kind == HP_LOCK_GCOND && kind == HP_LOCK_COND);
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
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));

	list->rows = hp_xcalloc(locks->count, sizeof(*list->rows));
	list->total = 0;
	for (size_t i = 0; i < locks->count; i++)
		if (is_of(&locks->rows[i], kind) && used(&locks->rows[i]))
			list->rows[list->total++] = &locks->rows[i];
	if (list->total)
		qsort_r(list->rows, list->total, sizeof(*list->rows), compare_rows, report);
	hp_lock_list_cut(report, list);
}

static bool has(const struct hp_report *report, uint32_t kind)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));

	for (size_t i = 0; i < locks->count; i++)
		if (is_of(&locks->rows[i], kind) && used(&locks->rows[i]))
			return true;
	return false;
}

#define SECTION(name, kind, text) \
	const char *hp_##name##_describe(const struct hp_report *report) \
	{ \
		(void)report; \
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
SECTION(file_locks, HP_LOCK_FILE, "Locks on files: flock, lockf, fcntl.")
SECTION(rw_locks, HP_LOCK_RWLOCK, "RwLock wait & acquire time statistics.")

/* --- JSON --- */

void hp_kind_entry_add(struct hp_report *report, const void *row, cJSON *entry)
{
	const struct hp_lock_row *lock = row;

	hp_lock_identity_add(report, lock, entry);
	hp_lock_percentiles_add(report, &lock->sums[HP_SIDE_ONLY], false, "wait_percentiles",
				entry);
}

void hp_file_lock_entry_add(struct hp_report *report, const void *row, cJSON *entry)
{
	const struct hp_lock_row *lock = row;

	hp_lock_identity_add(report, row, entry);
	hp_lock_percentiles_add(report, &lock->sums[HP_SIDE_READ], false, "read_wait_percentiles",
				entry);
	hp_lock_percentiles_add(report, &lock->sums[HP_SIDE_WRITE], false, "write_wait_percentiles",
				entry);
}

void hp_rwlock_entry_add(struct hp_report *report, const void *row, cJSON *entry)
{
	const struct hp_lock_row *lock = row;

	hp_file_lock_entry_add(report, row, entry);
	hp_lock_percentiles_add(report, &lock->sums[HP_SIDE_READ], true, "read_acquire_percentiles",
				entry);
	hp_lock_percentiles_add(report, &lock->sums[HP_SIDE_WRITE], true,
				"write_acquire_percentiles", entry);
}

void hp_barrier_entry_add(struct hp_report *report, const void *row, cJSON *entry)
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
