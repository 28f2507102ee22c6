/* SPDX-License-Identifier: MIT */
/*
 * states.c - the section of what threads did with their time.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/section/wait/lock_section.h"
#include "report/base/memory.h"
#include "report/section/thread/thread.h"

#define LIMIT 15 /* rows, where no variable says otherwise */
#define UNUSED(x) (void)(x)
#define CELL(name) \
	static void name(struct hp_report *report, const void *row, double percentile, \
			 struct hp_value *value)

static const struct hp_thread_row *row_of(const void *row)
{
	return row;
}

CELL(state_name)
{
	const struct hp_model_thread *thread = row_of(row)->thread;

	UNUSED(percentile);
	free(report->text);
	report->text = thread->name[0] ? hp_text_clean(thread->name)
				       : hp_xprintf("thread_%u", thread->tid);
	value->text = report->text;
}

CELL(state_tid)
{
	UNUSED(report), UNUSED(percentile);
	value->number = row_of(row)->thread->tid;
}

CELL(state_pid)
{
	UNUSED(report), UNUSED(percentile);
	value->number = row_of(row)->thread->pid;
}

CELL(state_life)
{
	UNUSED(report), UNUSED(percentile);
	value->number = row_of(row)->life_ns;
	value->is_unknown = value->number <= 0;
}

static void share(const struct hp_thread_row *row, double ns, struct hp_value *value)
{
	value->is_unknown = row->life_ns <= 0;
	value->number = value->is_unknown ? 0 : 100 * ns / row->life_ns;
}

CELL(state_ran)
{
	UNUSED(report), UNUSED(percentile);
	share(row, row_of(row)->ran_ns, value);
}

CELL(state_ready)
{
	UNUSED(report), UNUSED(percentile);
	share(row, row_of(row)->ready_ns, value);
	value->is_unknown |= !row_of(row)->is_seen;
}

CELL(state_blocked)
{
	UNUSED(report), UNUSED(percentile);
	share(row, row_of(row)->blocked_ns, value);
	value->is_unknown |= !row_of(row)->is_seen;
}

#define NS(name, field) \
	CELL(name) \
	{ \
		UNUSED(report), UNUSED(percentile); \
		value->number = row_of(row)->field; \
	}

NS(state_ran_ns, ran_ns)
NS(state_lock_ns, waits_ns[HP_WAIT_LOCK])
NS(state_signal_ns, waits_ns[HP_WAIT_SIGNAL])
NS(state_join_ns, waits_ns[HP_WAIT_THREAD])
NS(state_file_ns, waits_ns[HP_WAIT_FILE])

/* What the sampler alone knows. */
#define SEEN_NS(name, field) \
	CELL(name) \
	{ \
		UNUSED(report), UNUSED(percentile); \
		value->number = row_of(row)->field; \
		value->is_unknown = !row_of(row)->is_seen; \
	}

SEEN_NS(state_ready_ns, ready_ns)
SEEN_NS(state_blocked_ns, blocked_ns)

/* Of what the kernel alone knows. */
#define SWITCH_NS(name, wait) \
	CELL(name) \
	{ \
		UNUSED(report), UNUSED(percentile); \
		value->number = row_of(row)->waits_ns[wait]; \
		value->is_unknown = !row_of(row)->has_switches; \
	}

SWITCH_NS(state_channel_ns, HP_THREAD_CHANNEL)
SWITCH_NS(state_disk_ns, HP_THREAD_DISK)
SWITCH_NS(state_poll_ns, HP_THREAD_POLL)
SWITCH_NS(state_sleep_ns, HP_THREAD_SLEEP)
SWITCH_NS(state_other_ns, HP_THREAD_OTHER)

/* --- what it mostly did --- */

static const char *const wait_texts[HP_THREAD_WAITS] = {
	[HP_WAIT_LOCK] = "waited for a lock", [HP_WAIT_SIGNAL] = "waited for a signal",
	[HP_WAIT_THREAD] = "joined",	      [HP_WAIT_FILE] = "waited for a file lock",
	[HP_THREAD_CHANNEL] = "pipe, socket", [HP_THREAD_DISK] = "disk",
	[HP_THREAD_POLL] = "polled",	      [HP_THREAD_SLEEP] = "slept",
	[HP_THREAD_OTHER] = "waited",
};

static bool is_of(uint32_t kind, int wait)
{
	bool is_signal = kind == HP_LOCK_COND || kind == HP_LOCK_GCOND || kind == HP_LOCK_SEM ||
			 kind == HP_LOCK_BARRIER;
	bool is_lock = !is_signal && kind != HP_LOCK_THREAD && kind != HP_LOCK_FILE &&
		       kind != HP_LOCK_CHANNEL;

	if (wait == HP_THREAD_CHANNEL)
		return kind == HP_LOCK_CHANNEL;
	return wait == HP_WAIT_SIGNAL ? is_signal : wait == HP_WAIT_LOCK && is_lock;
}

/* How long it has been waiting for that at the end; `*lock`: for what; 0 = it is not. */
static uint64_t waiting_for(const struct hp_locks *locks, const struct hp_thread_row *row, int wait,
			    const struct hp_lock_row **lock)
{
	for (size_t i = 0; i < locks->wait_count; i++) {
		const struct hp_lock_wait *open = &locks->waits[i];

		*lock = &locks->rows[open->lock];
		if (open->tid == row->thread->tid && open->pid == row->thread->pid &&
		    is_of((*lock)->kind, wait) && locks->end_ticks > open->since)
			return locks->end_ticks - open->since;
	}
	return 0;
}

/* The lock that it waited for longest, be it in several waits; NULL = not known. */
static const char *object_of(struct hp_report *report, const struct hp_thread_row *row, int wait)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));
	const struct hp_lock_contest *best = NULL;
	const struct hp_lock_row *lock;
	uint64_t open = waiting_for(locks, row, wait, &lock);

	for (size_t i = row->waiter ? row->waiter->contest_first : 0;
	     row->waiter && i < row->waiter->contest_end; i++) {
		const struct hp_lock_contest *contest = &locks->contests[i];

		if (is_of(locks->rows[contest->lock].kind, wait) &&
		    (!best || contest->ticks > best->ticks))
			best = contest;
	}
	if (open && (!best || open > best->ticks))
		return hp_lock_name(report, lock);
	return best ? hp_lock_name(report, &locks->rows[best->lock]) : NULL;
}

/* Waits of which nobody knows what for are one more that it may have done mostly. */
CELL(state_mostly)
{
	const struct hp_thread_row *thread = row_of(row);
	const char *what = "ran", *object = NULL;
	double most = thread->ran_ns, unknown = thread->blocked_ns;

	UNUSED(percentile);
	if (thread->ready_ns > most) {
		most = thread->ready_ns;
		what = "ready to run";
	}
	for (int i = 0; i < HP_THREAD_WAITS; i++) {
		unknown -= thread->waits_ns[i];
		if (thread->waits_ns[i] <= most)
			continue;
		most = thread->waits_ns[i];
		what = wait_texts[i];
		object = object_of(report, thread, i);
	}
	if (unknown > most) {
		most = unknown;
		what = thread->is_seen ? "waited" : "waited, or was ready";
		object = NULL;
	}
	value->is_unknown = thread->life_ns <= 0 || most <= 0;
	if (value->is_unknown)
		return;
	most = most < thread->life_ns ? most : thread->life_ns;
	free(report->text);
	report->text =
		object ? hp_xprintf("%.0f%% %s, %s", 100 * most / thread->life_ns, what, object)
		       : hp_xprintf("%.0f%% %s", 100 * most / thread->life_ns, what);
	value->text = report->text;
}

CELL(state_maker)
{
	const struct hp_lock_birth *birth = row_of(row)->birth;

	UNUSED(percentile);
	/* Without paths and modules, which locks and memory are recorded with, it is a bare address. */
	value->is_unknown = !birth || (birth->path == HP_NONE && birth->at.object == HP_NONE);
	if (value->is_unknown)
		return;
	free(report->text);
	report->text = hp_lock_path_text(report, &birth->at, birth->path);
	value->text = report->text;
}

CELL(state_routine)
{
	const struct hp_lock_birth *birth = row_of(row)->birth;
	const struct hp_symbol_spot *spot = birth ? hp_lock_routine(report, birth) : NULL;

	UNUSED(percentile);
	value->is_unknown = !spot;
	if (spot)
		value->text = spot->name;
}

#define NUMBER(key, getter) \
	{ \
		.raw = key, .unit = HP_UNIT_NUMBER, .get = getter \
	}

const struct hp_column hp_thread_state_columns[HP_THREAD_STATE_COLUMNS] = {
	{ "Thread", "name", "name", HP_UNIT_NAME, state_name, false, false },
	NUMBER("os_tid", state_tid),
	NUMBER("pid", state_pid),
	{ "Life", "life", "life_ns", HP_UNIT_TIME, state_life, false, false },
	{ "Ran", "ran_percent", "ran_percent", HP_UNIT_LOAD, state_ran, false, false },
	{ "Ready", "ready_percent", "ready_percent", HP_UNIT_LOAD, state_ready, false, false },
	{ "Waited", "waited_percent", "waited_percent", HP_UNIT_LOAD, state_blocked, false, false },
	{ "Mostly", "mostly", "mostly", HP_UNIT_CHAIN, state_mostly, false, false },
	{ "Made by", "made_by", "made_by", HP_UNIT_CHAIN, state_maker, false, HP_NEED_KNOWN },
	{ NULL, "routine", "routine", HP_UNIT_TEXT, state_routine, false, false },
	NUMBER("ran_ns", state_ran_ns),
	NUMBER("ready_ns", state_ready_ns),
	NUMBER("waited_ns", state_blocked_ns),
	NUMBER("lock_ns", state_lock_ns),
	NUMBER("signal_ns", state_signal_ns),
	NUMBER("join_ns", state_join_ns),
	NUMBER("file_lock_ns", state_file_ns),
	NUMBER("channel_ns", state_channel_ns),
	NUMBER("disk_ns", state_disk_ns),
	NUMBER("poll_ns", state_poll_ns),
	NUMBER("sleep_ns", state_sleep_ns),
	NUMBER("other_ns", state_other_ns),
};

/* --- the section --- */

const char *hp_thread_states_describe(const struct hp_report *report)
{
	UNUSED(report);
	return "What threads did with their time.";
}

/* As in the list of threads: who ran most. */
static int compare_rows(const void *left, const void *right)
{
	const struct hp_thread_row *a = *(const struct hp_thread_row *const *)left;
	const struct hp_thread_row *b = *(const struct hp_thread_row *const *)right;

	if (a->ran_ns > b->ran_ns || a->ran_ns < b->ran_ns)
		return a->ran_ns > b->ran_ns ? -1 : 1;
	return a->thread->tid < b->thread->tid ? -1 : a->thread->tid > b->thread->tid;
}

void hp_thread_states_fill(struct hp_report *report, struct hp_list *list)
{
	struct hp_threads *threads = hp_threads_of(report);

	list->total = threads->count;
	list->rows = hp_xcalloc(list->total, sizeof(*list->rows));
	for (size_t i = 0; i < list->total; i++)
		list->rows[i] = &threads->rows[i];
	if (list->total)
		qsort(list->rows, list->total, sizeof(*list->rows), compare_rows);
	hp_list_cut(list, report, report->settings->threads_limit, LIMIT);
}

bool hp_thread_states_has_data(const struct hp_report *report)
{
	return hp_lock_view_locks(hp_lock_view(report))->birth_count != 0;
}

const char *hp_thread_states_empty(struct hp_report *report)
{
	UNUSED(report);
	return "no thread was looked at: HOTPATH_REPORT asked for no threads when it ran, or it was "
	       "over too soon";
}

void hp_thread_state_entry_add(struct hp_report *report, const void *row, cJSON *entry)
{
	const struct hp_lock_birth *birth = row_of(row)->birth;

	hp_lock_path_add(report, birth ? birth->path : HP_NONE, "frames", entry);
}
