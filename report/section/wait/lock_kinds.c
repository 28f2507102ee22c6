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
#include "report/base/memory.h"

#define UNUSED(x) (void)(x)
#define CELL HP_LOCK_CELL

static const struct hp_lock_sum *side(const void *row, enum hp_lock_side which)
{
	return &((const struct hp_lock_row *)row)->sums[which];
}

#define ONLY(row) side(row, HP_SIDE_ONLY)
#define POST(row) side(row, HP_SIDE_POST)
#define READ(row) side(row, HP_SIDE_READ)
#define WRITE(row) side(row, HP_SIDE_WRITE)

CELL(cell_name)
{
	UNUSED(percentile);
	value->text = hp_lock_name(report, row);
}

CELL(cell_id)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));

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

HP_LOCK_CELLS(only, ONLY)
HP_LOCK_CELLS(post, POST)
HP_LOCK_CELLS(read, READ)
HP_LOCK_CELLS(write, WRITE)

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
		{ "Wait P", NULL, "wait_p", HP_UNIT_TIME, only_wait_percentile, true, HP_NEED_ROOM }, \
		{ "Longest", "wait_max", "wait_max_ns", HP_UNIT_TIME, only_wait_most, false, false }, \
		NUMBER("wait_total_ns", only_wait), NUMBER("objects", cell_objects)

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

CELL(barrier_latest)
{
	const struct hp_lock_party *most, *party = latest(report, row, &most);
	const char *name = "";

	UNUSED(percentile);
	value->is_unknown = !party;
	if (!party)
		return;
	for (size_t i = 0; i < report->model.thread_count; i++)
		if (report->model.threads[i].tid == party->tid &&
		    report->model.threads[i].pid == party->pid)
			name = report->model.threads[i].name;
	free(report->text);
	report->text = hp_xprintf("%s%s%u", name, *name ? " " : "", party->tid);
	value->text = report->text;
}

CELL(barrier_imbalance)
{
	const struct hp_lock_party *most, *party = latest(report, row, &most);

	UNUSED(percentile);
	hp_lock_set_ticks(report, party ? (double)(most->ticks - party->ticks) : -1, value);
}

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
	{ "Latest", "latest", "latest", HP_UNIT_TEXT, barrier_latest, false, HP_NEED_KNOWN },
	{ "Imbalance", "imbalance", "imbalance_ns", HP_UNIT_TIME, barrier_imbalance, false,
	  HP_NEED_KNOWN },
};

/* One side of a lock that has two: `key` is "read" or "write", `cell` begins its getters. */
#define SIDE_WAITS(title, key, cell) \
	{ title, key "_count", key "_count", HP_UNIT_COUNT, cell##_count, false, false }, \
		{ NULL, key "_wait_avg", key "_wait_avg_ns", HP_UNIT_TIME, cell##_wait_mean, false, \
		  false }, \
		{ "Wait P", NULL,	 key "_wait_p", HP_UNIT_TIME, cell##_wait_percentile, \
		  true,	    HP_NEED_ROOM }, \
	{ \
		"Longest", NULL, key "_wait_max_ns", HP_UNIT_TIME, cell##_wait_most, false, false \
	}

#define SIDE_HOLDS(key, cell) \
	{ NULL, key "_acquire_avg", key "_acquire_avg_ns", HP_UNIT_TIME, cell##_hold_mean, false, \
	  false }, \
	{ \
		"Acq P", NULL, key "_acquire_p", HP_UNIT_TIME, cell##_hold_percentile, true, false \
	}

#define SIDE_NUMBERS(key, cell) \
	NUMBER(key "_contended", cell##_contended), NUMBER(key "_wait_total_ns", cell##_wait), \
		NUMBER(key "_failed_tries", cell##_failed), \
		NUMBER(key "_timeouts", cell##_timeouts)

const struct hp_column hp_rwlock_columns[HP_RWLOCK_COLUMNS] = {
	HEAD("RwLock"),
	SIDE_WAITS("Reads", "read", read),
	SIDE_HOLDS("read", read),
	SIDE_WAITS("Writes", "write", write),
	SIDE_HOLDS("write", write),
	SIDE_NUMBERS("read", read),
	NUMBER("read_acquire_total_ns", read_hold),
	SIDE_NUMBERS("write", write),
	NUMBER("write_acquire_total_ns", write_hold),
	NUMBER("objects", cell_objects),
};

/* How long they are held nobody knows: see preload/lock/hook_file.c. */
const struct hp_column hp_file_lock_columns[HP_FILE_LOCK_COLUMNS] = {
	HEAD("File"),
	SIDE_WAITS("Shared", "read", read),
	SIDE_WAITS("Exclusive", "write", write),
	SIDE_NUMBERS("read", read),
	SIDE_NUMBERS("write", write),
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
	hp_lock_identity_add(report, row, entry);
	hp_lock_percentiles_add(report, READ(row), false, "read_wait_percentiles", entry);
	hp_lock_percentiles_add(report, WRITE(row), false, "write_wait_percentiles", entry);
}

void hp_rwlock_entry_add(struct hp_report *report, const void *row, cJSON *entry)
{
	hp_file_lock_entry_add(report, row, entry);
	hp_lock_percentiles_add(report, READ(row), true, "read_acquire_percentiles", entry);
	hp_lock_percentiles_add(report, WRITE(row), true, "write_acquire_percentiles", entry);
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
