/* SPDX-License-Identifier: MIT */
/*
 * pool.c - see pool.h.
 *
 * The waits are those that the threads recorded for conditions, so nothing more is recorded for
 * pools.  A thread is a worker if nearly all its waits on the condition are by one path: a wait
 * that interrupts work, such as that for Python's interpreter lock, comes from many.
 */
#include "report/section/loop/pool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/map.h"
#include "report/base/memory.h"
#include "report/name/name.h"
#include "report/name/namesake.h"
#include "report/name/symbol.h"
#include "report/name/wrapper.h"
#include "report/section/wait/lock_section.h"
#include "segment/layout/process.h"
#include "util/hash.h"

#define WORKERS_MIN 2	/* of one process */
#define WAITS_PER_WORKER 2	/* on average: once is a start, not a pool */
#define OTHER_PATHS_MAX 0.1	/* of a worker's waits on the condition */

/* The waits of one thread on a condition by one path. */
struct member {
	uint32_t pid;
	uint32_t tid;
	uint32_t lock;
	uint32_t path;
	struct hp_lock_place at;
	uint64_t waits;
	uint64_t ticks;
	uint64_t most;
	bool is_waiting;
	bool is_shared;	/* earlier threads' waits are in it */
	bool is_other;	/* the thread mostly waits there by other paths */
};

struct end {
	uint32_t pid;
	uint64_t ticks;
};

struct view {
	struct hp_pools pools;
	struct member *members;
	size_t member_count;
	size_t member_room;
	struct hp_map same;	/* hash of a member -> place + 1 */
	struct end *ends;	/* of processes */
	size_t end_count;
	size_t end_room;
	size_t room;
};

static const struct hp_locks *locks_of(struct hp_report *report)
{
	return hp_lock_view_locks(hp_lock_view(report));
}

/* --- ends of processes --- */

static void ends_read(struct view *view, struct hp_reader *reader)
{
	struct hp_process process;
	uint64_t at = hp_reader_processes(reader);

	hp_reader_restart(reader, 2);
	for (; hp_reader_step(reader, at, &process, sizeof(process));
	     at = hp_reader_after(reader, at, process.next)) {
		view->ends =
			hp_xgrow(view->ends, view->end_count, &view->end_room, sizeof(*view->ends));
		view->ends[view->end_count++] =
			(struct end){ .pid = process.pid, .ticks = process.end_ticks };
	}
}

static uint64_t end_of(const struct view *view, const struct hp_locks *locks, uint32_t pid)
{
	for (size_t i = 0; i < view->end_count; i++)
		if (view->ends[i].pid == pid && view->ends[i].ticks)
			return view->ends[i].ticks;
	return locks->end_ticks;
}

/* --- members --- */

static bool is_condition(const struct hp_lock_row *row)
{
	return row->kind == HP_LOCK_COND || row->kind == HP_LOCK_GCOND;
}

static bool is_at(const struct hp_lock_place *a, const struct hp_lock_place *b)
{
	return a->object == b->object && a->address == b->address;
}

static bool is_one_pool(const struct member *a, const struct member *b)
{
	return a->lock == b->lock && a->path == b->path && is_at(&a->at, &b->at);
}

static bool is_member(const struct member *a, const struct member *b)
{
	return a->pid == b->pid && a->tid == b->tid && is_one_pool(a, b);
}

static struct member *member_of(struct view *view, const struct member *wanted)
{
	uint64_t hash = ((uint64_t)wanted->pid << 32 | wanted->tid) * HP_HASH_GOLDEN ^
			((uint64_t)wanted->lock << 32 | wanted->path);
	uint32_t *place;
	bool is_new;

	hash = (hash ^ wanted->at.address) * HP_HASH_GOLDEN | 1;
	place = hp_map_at(&view->same, hash, &is_new);
	while (!is_new && !is_member(&view->members[*place], wanted)) {
		hash += 2;
		place = hp_map_at(&view->same, hash, &is_new);
	}
	if (is_new) {
		*place = (uint32_t)view->member_count;
		view->members = hp_xgrow(view->members, view->member_count, &view->member_room,
					 sizeof(*view->members));
		view->members[view->member_count++] = *wanted;
	}
	return &view->members[*place];
}

static void contests_add(struct view *view, const struct hp_locks *locks)
{
	for (size_t i = 0; i < locks->contest_count; i++) {
		const struct hp_lock_contest *contest = &locks->contests[i];
		const struct member wanted = { .pid = contest->pid,
					       .tid = contest->tid,
					       .lock = contest->lock,
					       .path = contest->path,
					       .at = contest->at };
		struct member *member;

		if (!is_condition(&locks->rows[contest->lock]) || contest->side != HP_SIDE_ONLY)
			continue;
		member = member_of(view, &wanted);
		member->waits += contest->count;
		member->ticks += contest->ticks;
		member->most = contest->most > member->most ? contest->most : member->most;
		member->is_shared |= contest->is_shared;
	}
}

static void waits_add(struct view *view, const struct hp_locks *locks)
{
	for (size_t i = 0; i < locks->wait_count; i++) {
		const struct hp_lock_wait *wait = &locks->waits[i];
		const struct member wanted = { .pid = wait->pid,
					       .tid = wait->tid,
					       .lock = wait->lock,
					       .path = wait->path,
					       .at = wait->at };
		uint64_t end = end_of(view, locks, wait->pid), ticks;
		struct member *member;

		if (!is_condition(&locks->rows[wait->lock]) || wait->side != HP_SIDE_ONLY)
			continue;
		member = member_of(view, &wanted);
		ticks = end > wait->since ? end - wait->since : 0;
		member->is_waiting = true;
		member->ticks += ticks;
		member->most = ticks > member->most ? ticks : member->most;
	}
}

static uint64_t waits_of(const struct member *member)
{
	return member->waits + member->is_waiting;
}

/* A thread's members of one condition follow each other. */
static int compare_threads(const void *left, const void *right)
{
	const struct member *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->lock < b->lock ? -1 : a->lock > b->lock;
}

static bool is_one_thread(const struct member *a, const struct member *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->lock == b->lock;
}

static void others_mark(struct view *view)
{
	struct member *members = view->members;

	if (view->member_count)
		qsort(members, view->member_count, sizeof(*members), compare_threads);
	for (size_t i = 0, end; i < view->member_count; i = end) {
		uint64_t all = 0;

		for (end = i; end < view->member_count && is_one_thread(&members[i], &members[end]);
		     end++)
			all += waits_of(&members[end]);
		for (size_t j = i; j < end; j++)
			members[j].is_other = (double)(all - waits_of(&members[j])) >
					      OTHER_PATHS_MAX * (double)all;
	}
}

/* Those of a pool follow each other, and in it those of a process. */
static int compare_pools(const void *left, const void *right)
{
	const struct member *a = left, *b = right;

	if (a->is_other != b->is_other)
		return a->is_other ? 1 : -1;
	if (a->lock != b->lock)
		return a->lock < b->lock ? -1 : 1;
	if (a->path != b->path)
		return a->path < b->path ? -1 : 1;
	if (a->at.object != b->at.object)
		return a->at.object < b->at.object ? -1 : 1;
	if (a->at.address != b->at.address)
		return a->at.address < b->at.address ? -1 : 1;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

/* --- rows --- */

/* The last thread with that number: earlier ones have another record. */
static const struct hp_lock_birth *birth_of(const struct hp_locks *locks,
					    const struct member *member)
{
	const struct hp_lock_birth *found = NULL;

	for (size_t i = 0; i < locks->birth_count; i++) {
		const struct hp_lock_birth *birth = &locks->births[i];

		if (birth->tid == member->tid && birth->pid == member->pid &&
		    (!found || birth->start > found->start))
			found = birth;
	}
	return found;
}

static void life_add(const struct view *view, const struct hp_locks *locks,
		     const struct member *member, struct hp_pool_row *row)
{
	const struct hp_lock_birth *birth = member->is_shared ? NULL : birth_of(locks, member);
	uint64_t end, life;

	if (!birth) {
		row->is_life_known = false;
		return;
	}
	end = birth->end ? birth->end : end_of(view, locks, member->pid);
	life = end > birth->start ? end - birth->start : 0;
	row->life_ticks += life > member->ticks ? life : member->ticks;
}

static const struct hp_symbol_spot *spot_of(struct hp_report *report, const struct hp_locks *locks,
					    const struct hp_pool_row *row)
{
	const struct hp_lock_path *path =
		row->path < locks->paths.count ? &locks->paths.all[row->path] : NULL;

	for (size_t i = 0; path && i < path->count; i++) {
		const struct hp_symbol_spot *spot = hp_lock_code(report, &path->places[i]);

		if (spot && !hp_wrapper_waits(spot->name))
			return spot;
	}
	return hp_lock_code(report, &row->at);
}

static const char *kind_of(const struct hp_report *report, const struct hp_pool_row *row)
{
	const char *file = row->at.object == HP_NONE
				   ? ""
				   : hp_name_file(report->model.objects[row->at.object].path);

	return strncmp(file, "libuv.", strlen("libuv.")) == 0	      ? "libuv"
	       : strncmp(file, "libglib-2", strlen("libglib-2")) == 0 ? "GLib"
								      : "condition";
}

/* Threads that wait for the interpreter's lock are not idle. */
static bool is_interpreter(struct hp_report *report, const struct hp_locks *locks,
			   const struct member *member)
{
	return strstr(hp_lock_name(report, &locks->rows[member->lock]), "_PyRuntime") != NULL;
}

static void row_add(struct hp_report *report, struct view *view, const struct member *from,
		    const struct member *to)
{
	const struct hp_locks *locks = locks_of(report);
	struct hp_pool_row row = {
		.lock = from->lock, .path = from->path, .at = from->at, .is_life_known = true
	};
	const struct hp_symbol_spot *spot;

	for (const struct member *member = from; member < to; member++) {
		row.workers++;
		row.waiting += member->is_waiting;
		row.waits += member->waits;
		row.idle_ticks += member->ticks;
		row.idle_most = member->most > row.idle_most ? member->most : row.idle_most;
		life_add(view, locks, member, &row);
	}
	spot = spot_of(report, locks, &row);
	row.name = hp_xstrdup(spot ? spot->name : "?");
	row.kind = kind_of(report, &row);
	view->pools.rows = hp_xgrow(view->pools.rows, view->pools.count, &view->room, sizeof(row));
	view->pools.rows[view->pools.count++] = row;
}

/* In each process that has one, there are several workers. */
static bool is_pool(const struct member *from, const struct member *to)
{
	uint64_t waits = 0, most = 0, count = 0;

	for (const struct member *member = from; member < to; member++) {
		count = member > from && member[-1].pid == member->pid ? count + 1 : 1;
		most = count > most ? count : most;
		waits += waits_of(member);
	}
	return most >= WORKERS_MIN && waits >= WAITS_PER_WORKER * (uint64_t)(to - from);
}

static void rows_add(struct hp_report *report, struct view *view)
{
	struct member *members = view->members;

	if (view->member_count)
		qsort(members, view->member_count, sizeof(*members), compare_pools);
	for (size_t i = 0, end; i < view->member_count && !members[i].is_other; i = end) {
		for (end = i; end < view->member_count && !members[end].is_other &&
			      is_one_pool(&members[i], &members[end]);)
			end++;
		if (is_pool(&members[i], &members[end]) &&
		    !is_interpreter(report, locks_of(report), &members[i]))
			row_add(report, view, &members[i], &members[end]);
	}
}

static int compare_rows(const void *left, const void *right)
{
	const struct hp_pool_row *a = left, *b = right;

	return a->waits > b->waits ? -1 : a->waits < b->waits;
}

struct namer {
	struct hp_report *report;
	const struct hp_pools *pools;
};

static char *detail_new(void *context, size_t i, unsigned detail)
{
	const struct namer *namer = context;
	const struct hp_pool_row *row = &namer->pools->rows[i];

	switch (detail) {
	case 0:
		return hp_xstrdup(
			hp_lock_name(namer->report, &locks_of(namer->report)->rows[row->lock]));
	case 1:
		return hp_spot_text(hp_lock_code(namer->report, &row->at));
	case 2:
		return hp_xprintf("0x%" PRIx64, row->at.address);
	default:
		return hp_xprintf("#%zu", i + 1);
	}
}

static void names_part(struct hp_report *report, struct hp_pools *pools)
{
	struct namer namer = { report, pools };
	char **names = hp_xcalloc(pools->count + 1, sizeof(*names));

	for (size_t i = 0; i < pools->count; i++)
		names[i] = pools->rows[i].name;
	hp_names_part(names, NULL, pools->count, detail_new, &namer);
	for (size_t i = 0; i < pools->count; i++)
		pools->rows[i].name = names[i];
	free(names);
}

static void view_free(void *held)
{
	struct view *view = held;

	for (size_t i = 0; i < view->pools.count; i++)
		free(view->pools.rows[i].name);
	free(view->pools.rows);
	free(view->members);
	free(view->ends);
	hp_map_release(&view->same);
	free(view);
}

const struct hp_pools *hp_pools_of(const struct hp_report *asked)
{
	static const struct hp_view_kind kind = { .free = view_free };
	struct hp_report *report = (struct hp_report *)(uintptr_t)asked;
	struct view *view = hp_views_get(&report->views, &kind);
	const struct hp_locks *locks;

	if (view)
		return &view->pools;
	locks = locks_of(report);
	view = hp_views_add(&report->views, &kind, hp_xcalloc(1, sizeof(*view)));
	ends_read(view, &report->model.reader);
	contests_add(view, locks);
	waits_add(view, locks);
	others_mark(view);
	rows_add(report, view);
	if (view->pools.count)
		qsort(view->pools.rows, view->pools.count, sizeof(*view->pools.rows), compare_rows);
	names_part(report, &view->pools);
	return &view->pools;
}
