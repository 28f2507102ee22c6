/* SPDX-License-Identifier: MIT */
/*
 * states.c - the section about threads' use of their time.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/section/wait/lock_section.h"
#include "report/base/memory.h"
#include "report/section/thread/thread.h"
#include "report/section/core/list.h"
#include "segment/layout/header.h"

#define LIMIT 15	/* rows, unless a variable says otherwise */
#define SHOWN 0.05	/* percent: less is shown as 0.0% */

static const struct hp_thread_row *row_of(const void *row)
{
	return row;
}

static void state_name(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_model_thread *thread = row_of(cell->row)->thread;

	hp_cell_set_text(cell,
			 thread->name[0] ? hp_text_clean(thread->name)
					 : hp_xprintf("thread_%u", thread->tid),
			 value);
}

static void state_life(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = row_of(cell->row)->life_ns;
	value->is_bound = row_of(cell->row)->is_life_least;
	value->is_unknown = value->number <= 0;
}

static void share(const struct hp_thread_row *row, double ns, struct hp_value *value)
{
	value->is_unknown = row->life_ns <= 0;
	value->number = value->is_unknown ? 0 : 100 * ns / row->life_ns;
}

/* At least 0 % is nothing known. */
static void least(double shown, struct hp_value *value)
{
	value->is_bound = true;
	value->is_unknown |= value->number < shown;
}

static void state_ran(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_thread_row *row = row_of(cell->row);

	share(row, row->ran_ns, value);
	if (row->is_ran_least && hp_thread_is_least(row))
		least(SHOWN, value);
}

/* After its last scan it may have been ready, or have waited. */
static void state_known(const struct hp_cell *cell, double ns, struct hp_value *value)
{
	const struct hp_thread_row *row = row_of(cell->row);

	share(row, ns, value);
	value->is_unknown |= !row->is_seen;
	if (hp_thread_is_least(row))
		least(SHOWN, value);
}

static void state_ready(const struct hp_cell *cell, struct hp_value *value)
{
	state_known(cell, row_of(cell->row)->ready_ns, value);
}

static void state_blocked(const struct hp_cell *cell, struct hp_value *value)
{
	state_known(cell, row_of(cell->row)->blocked_ns, value);
}

/* Facts known only from the sampler. */
static void state_seen(const struct hp_cell *cell, struct hp_value *value)
{
	hp_cell_get_member(cell, value);
	value->is_unknown = !row_of(cell->row)->is_seen;
}

/* Facts known only from the kernel. */
static void state_switched(const struct hp_cell *cell, struct hp_value *value)
{
	hp_cell_get_member(cell, value);
	value->is_unknown = !row_of(cell->row)->has_switches;
}

/* --- its main activity --- */

static const char *const wait_texts[HP_THREAD_WAITS] = {
	[HP_WAIT_LOCK] = "waited for a lock",
	[HP_WAIT_SIGNAL] = "waited for a condition",
	[HP_WAIT_THREAD] = "joined",
	[HP_WAIT_FILE] = "waited for a file lock",
	[HP_THREAD_CHANNEL] = "pipe or socket",
	[HP_THREAD_DISK] = "disk",
	[HP_THREAD_POLL] = "polled",
	[HP_THREAD_SLEEP] = "slept",
	[HP_THREAD_OTHER] = "waited",
};

static bool is_of(uint32_t kind, int wait)
{
	return wait != HP_WAIT_THREAD && wait != HP_WAIT_FILE && wait == hp_thread_wait_of(kind);
}

/* How long it has been waiting for that at the end; `*lock`: by cause; 0 = not waiting. */
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

/* The lock that it waited for longest, over all waits; NULL = not known. */
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

/* Waits with an unknown cause are one more candidate for its main activity. */
static void state_mostly(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_thread_row *thread = row_of(cell->row);
	const char *what = "ran", *object = NULL;
	double most = thread->ran_ns, unknown = thread->blocked_ns,
	       scale = hp_thread_wait_scale(thread);

	if (thread->ready_ns > most) {
		most = thread->ready_ns;
		what = "ready to run";
	}
	if (thread->stopped_ns > most) {
		most = thread->stopped_ns;
		what = "stopped by a signal";
	}
	for (int i = 0; i < HP_THREAD_WAITS; i++) {
		unknown -= scale * thread->waits_ns[i];
		if (scale * thread->waits_ns[i] <= most)
			continue;
		most = scale * thread->waits_ns[i];
		what = wait_texts[i];
		object = object_of(cell->report, thread, i);
	}
	if (unknown > most) {
		most = unknown;
		what = "waited";
		object = NULL;
	}
	if (thread->unwatched_ns > most) {
		most = thread->unwatched_ns;
		what = thread->is_ran_least ? "not watched" : "waited, or was ready";
		object = NULL;
	}
	value->is_unknown = thread->life_ns <= 0 || most <= 0;
	if (value->is_unknown)
		return;
	most = most < thread->life_ns ? most : thread->life_ns;
	hp_cell_set_text(cell,
			 object ? hp_xprintf("%.0f%% %s, %s", 100 * most / thread->life_ns, what,
					     object)
				: hp_xprintf("%.0f%% %s", 100 * most / thread->life_ns, what),
			 value);
}

static void state_maker(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_lock_birth *birth = row_of(cell->row)->birth;

	/* Without paths and modules, which are recorded with locks and memory, it is a bare
	 * address. */
	value->is_unknown = !birth || (birth->path == HP_NONE && birth->at.object == HP_NONE);
	if (value->is_unknown)
		return;
	hp_cell_set_text(cell, hp_lock_path_text(cell->report, &birth->at, birth->path), value);
}

static void state_routine(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_lock_birth *birth = row_of(cell->row)->birth;
	const struct hp_symbol_spot *spot = birth ? hp_lock_routine(cell->report, birth) : NULL;

	value->is_unknown = !spot;
	if (spot)
		value->text = spot->name;
}

static const struct hp_column columns[] = {
	{ "Thread", "name", "name", HP_UNIT_NAME, .get = state_name },
	{ .raw = "os_tid",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER_AT(hp_thread_row, thread, tid) },
	{ .raw = "pid", .unit = HP_UNIT_NUMBER, .member = HP_MEMBER_AT(hp_thread_row, thread, pid) },
	{ "Life", "life", "life_ns", HP_UNIT_TIME, .get = state_life },
	{ "Ran", "ran_percent", "ran_percent", HP_UNIT_LOAD, .get = state_ran },
	{ "Ready", "ready_percent", "ready_percent", HP_UNIT_LOAD, .get = state_ready },
	{ "Waited", "waited_percent", "waited_percent", HP_UNIT_LOAD, .get = state_blocked },
	{ "Mostly", "mostly", "mostly", HP_UNIT_CHAIN, .get = state_mostly },
	{ "Made by", "made_by", "made_by", HP_UNIT_CHAIN, .get = state_maker,
	  .need = HP_NEED_KNOWN },
	{ NULL, "routine", "routine", HP_UNIT_TEXT, .get = state_routine },
	{ .raw = "ran_ns", .unit = HP_UNIT_NUMBER, .member = HP_MEMBER(hp_thread_row, ran_ns) },
	{ .raw = "ready_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = state_seen,
	  .member = HP_MEMBER(hp_thread_row, ready_ns) },
	{ .raw = "waited_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = state_seen,
	  .member = HP_MEMBER(hp_thread_row, blocked_ns) },
	{ .raw = "stopped_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = state_switched,
	  .member = HP_MEMBER(hp_thread_row, stopped_ns) },
	{ .raw = "unwatched_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_thread_row, unwatched_ns) },
	{ .raw = "lock_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_thread_row, waits_ns[HP_WAIT_LOCK]) },
	{ .raw = "signal_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_thread_row, waits_ns[HP_WAIT_SIGNAL]) },
	{ .raw = "join_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_thread_row, waits_ns[HP_WAIT_THREAD]) },
	{ .raw = "file_lock_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER(hp_thread_row, waits_ns[HP_WAIT_FILE]) },
	{ .raw = "channel_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = state_switched,
	  .member = HP_MEMBER(hp_thread_row, waits_ns[HP_THREAD_CHANNEL]) },
	{ .raw = "disk_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = state_switched,
	  .member = HP_MEMBER(hp_thread_row, waits_ns[HP_THREAD_DISK]) },
	{ .raw = "poll_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = state_switched,
	  .member = HP_MEMBER(hp_thread_row, waits_ns[HP_THREAD_POLL]) },
	{ .raw = "sleep_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = state_switched,
	  .member = HP_MEMBER(hp_thread_row, waits_ns[HP_THREAD_SLEEP]) },
	{ .raw = "other_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = state_switched,
	  .member = HP_MEMBER(hp_thread_row, waits_ns[HP_THREAD_OTHER]) },
	{ 0 },
};

/* --- the section --- */

/* As in the list of threads: the thread that ran most. */
static int compare_rows(const void *left, const void *right)
{
	const struct hp_thread_row *a = *(const struct hp_thread_row *const *)left;
	const struct hp_thread_row *b = *(const struct hp_thread_row *const *)right;

	if (a->ran_ns > b->ran_ns || a->ran_ns < b->ran_ns)
		return a->ran_ns > b->ran_ns ? -1 : 1;
	return a->thread->tid < b->thread->tid ? -1 : a->thread->tid > b->thread->tid;
}

static void fill(struct hp_report *report, struct hp_list *list)
{
	struct hp_threads *threads = hp_threads_of(report);

	list->total = threads->count;
	list->rows = hp_xcalloc(list->total, sizeof(*list->rows));
	for (size_t i = 0; i < list->total; i++)
		list->rows[i] = &threads->rows[i];
	if (list->total)
		qsort(list->rows, list->total, sizeof(*list->rows), compare_rows);
	hp_section_cut(&hp_thread_states_section, report, list);
}

static bool has_data(const struct hp_report *report)
{
	return hp_lock_view_locks(hp_lock_view(report))->birth_count != 0;
}

static void add_frames(struct hp_report *report, const void *row, cJSON *entry)
{
	const struct hp_lock_birth *birth = row_of(row)->birth;

	hp_lock_path_add(report, birth ? birth->path : HP_NONE, "frames", entry);
}

const struct hp_section hp_thread_states_section = {
	.key = "thread-states",
	.json = "thread_states",
	.name = "thread-states",
	.help = "what threads did with their time",
	.subject = HP_SUBJECT_THREAD,
	.columns = columns,
	.needs = HP_RECORDED_THREADS,
	.fill = fill,
	.limit = HP_MEMBER(hp_settings, threads_limit),
	.usual = LIMIT,
	.is_quiet = true,
	.has_data = has_data,
	.about = "What threads did with their time.",
	.none = "no thread was scanned: HOTPATH_REPORT did not request threads for the run, or it was too short",
	.extra = { .head = hp_lock_add_head,
		   .raw = add_frames,
		   .list_keys = HP_LOCK_KEYS,
		   .raw_keys = "frames:[@frame]" },
	.tool = { .help = "What threads did with their time: running, ready, waiting, and mostly for what.",
		  .meaning = "Each thread's lifetime: running, ready without a CPU, and waiting by "
			     "cause; and its creator.",
		  .next = "who_waits_for_whom for those that waited for locks; functions_cpu for those that ran." },
};
