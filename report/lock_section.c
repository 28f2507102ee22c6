/* SPDX-License-Identifier: MIT */
/*
 * lock_section.c - see lock_section.h.
 */
#include "report/lock_section.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/channel_section.h"
#include "report/format.h"
#include "report/lock_cells.h"
#include "report/map.h"
#include "report/memory.h"

#define LIMIT 15 /* rows, where no variable says otherwise */

struct hp_lock_view {
	struct hp_locks locks;
	char **names; /* beside locks.rows; NULL = not asked for yet */
	struct hp_lock_line *lines; /* of all sides that were used */
	size_t line_count;
	struct hp_lock_waiting *waits;
	size_t wait_count;
	struct hp_lock_cycle *cycles;
	size_t cycle_count;
};

/* --- waits, summed up over threads --- */

static bool is_place(const struct hp_lock_place *a, const struct hp_lock_place *b)
{
	return a->object == b->object && a->address == b->address;
}

static bool is_same(const struct hp_lock_contest *a, const struct hp_lock_contest *b)
{
	return a->lock == b->lock && a->side == b->side && a->function == b->function &&
	       a->path == b->path && is_place(&a->at, &b->at) && is_place(&a->holder, &b->holder);
}

static uint64_t hash_of(const struct hp_lock_contest *c)
{
	uint64_t hash = (uint64_t)c->lock << 34 ^ (uint64_t)c->side << 32 ^ c->function;

	hash = (hash ^ c->at.address) * UINT64_C(0xff51afd7ed558ccd);
	hash = (hash ^ hash >> 32 ^ c->holder.address ^ (uint64_t)c->path << 44) *
	       UINT64_C(0xff51afd7ed558ccd);
	return (hash ^ hash >> 32) | 1;
}

static void wait_add(struct hp_lock_waiting *to, const struct hp_lock_contest *contest)
{
	to->sum.count += contest->count;
	to->sum.ticks += contest->ticks;
	if (contest->from != HP_NONE && contest->from_ticks > to->sum.from_ticks) {
		to->sum.from = contest->from;
		to->sum.from_tid = contest->from_tid;
		to->sum.from_ticks = contest->from_ticks;
	}
	if (contest->most > to->sum.most) {
		to->sum.most = contest->most;
		to->sum.holder_tid = contest->holder_tid;
	}
}

static void waits_make(struct hp_lock_view *view)
{
	struct hp_map map = HP_MAP_NONE;
	double all = 0;
	bool is_new;

	view->waits = hp_xcalloc(view->locks.contest_count, sizeof(*view->waits));
	for (size_t i = 0; i < view->locks.contest_count; i++) {
		const struct hp_lock_contest *contest = &view->locks.contests[i];
		uint64_t hash = hash_of(contest);
		uint32_t *place = hp_map_at(&map, hash, &is_new);

		while (!is_new && !is_same(&view->waits[*place].sum, contest))
			place = hp_map_at(&map, hash += 2, &is_new);
		if (is_new) {
			*place = (uint32_t)view->wait_count;
			view->waits[view->wait_count++].sum = *contest;
		} else {
			wait_add(&view->waits[*place], contest);
		}
		all += (double)contest->ticks;
	}
	for (size_t i = 0; i < view->wait_count && all > 0; i++)
		view->waits[i].share = 100 * (double)view->waits[i].sum.ticks / all;
	hp_map_release(&map);
}

/* --- the view --- */

struct hp_lock_view *hp_lock_view(const struct hp_report *asked)
{
	struct hp_report *report = (struct hp_report *)(uintptr_t)asked;
	struct hp_lock_view *view = report->locks;

	if (view)
		return view;
	report->locks = view = hp_xcalloc(1, sizeof(*view));
	hp_locks_init(&view->locks, &report->model);
	view->names = hp_xcalloc(view->locks.count, sizeof(*view->names));
	view->lines = hp_xcalloc(view->locks.count * HP_SIDES, sizeof(*view->lines));
	for (uint32_t i = 0; i < view->locks.count; i++)
		for (uint32_t side = 0; side < HP_SIDES; side++) {
			const struct hp_lock_row *lock = &view->locks.rows[i];
			const struct hp_lock_sum *sum = &lock->sums[side];

			if (sum->count || sum->failed || sum->timeouts)
				view->lines[view->line_count++] =
					(struct hp_lock_line){ lock, sum, side, i + 1 };
		}
	waits_make(view);
	view->cycles = hp_lock_cycles(&view->locks, &view->cycle_count);
	return view;
}

void hp_lock_view_free(struct hp_lock_view *view)
{
	if (!view)
		return;
	for (size_t i = 0; i < view->locks.count; i++)
		free(view->names[i]);
	free(view->names);
	free(view->lines);
	free(view->cycles);
	free(view->waits);
	hp_locks_release(&view->locks);
	free(view);
}

const struct hp_locks *hp_lock_view_locks(const struct hp_lock_view *view)
{
	return &view->locks;
}

const struct hp_lock_cycle *hp_lock_view_cycles(const struct hp_lock_view *view, size_t *count)
{
	*count = view->cycle_count;
	return view->cycles;
}

/* --- names --- */

/* A return address is behind the call: one byte before it is of the call's line. */
const struct hp_symbol_spot *hp_lock_code(struct hp_report *report,
					  const struct hp_lock_place *place)
{
	if (!place->address)
		return NULL;
	return hp_symbols_spot(report->symbols, place->object, place->address - 1, false);
}

const struct hp_symbol_spot *hp_lock_site(struct hp_report *report, const struct hp_lock_row *lock)
{
	return hp_lock_code(report, &lock->site);
}

const struct hp_symbol_spot *hp_lock_routine(struct hp_report *report,
					     const struct hp_lock_birth *birth)
{
	return hp_symbols_spot(report->symbols, birth->routine.object, birth->routine.address,
			       false);
}

/* The last two parts of a path. */
static const char *short_path(const char *path)
{
	const char *slash = strrchr(path, '/');

	while (slash && slash > path && slash[-1] != '/')
		slash--;
	return slash && slash > path ? slash : path;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static char *site_text(const struct hp_symbol_spot *spot)
{
	if (!spot)
		return hp_xstrdup("<other>");
	if (spot->file)
		return hp_xprintf("%s:%d", short_path(spot->file), spot->line);
	return hp_xstrdup(spot->name);
}

static char *name_of(struct hp_report *report, const struct hp_lock_row *lock)
{
	struct hp_text_cell cell;
	char *site, *name;

	if (lock->kind == HP_LOCK_CHANNEL)
		return hp_xstrdup(hp_channel_name_at(report, lock->channel));
	if (lock->number == HP_LOCK_STATIC && !lock->label)
		return hp_xstrdup(
			hp_symbols_spot(report->symbols, lock->at.object, lock->at.address, true)
				->name);
	site = lock->label ? hp_xstrdup(lock->label) : site_text(hp_lock_site(report, lock));
	if (lock->number == 0 || lock->label || (lock->number == HP_LOCK_MORE && lock->objects < 2))
		return site;
	if (lock->number == HP_LOCK_MORE)
		name = hp_xprintf("%s\303\227%s", site, hp_format_count(&cell, lock->objects));
	else
		name = hp_xprintf("%s-%u", site, lock->number + 1);
	free(site);
	return name;
}

const char *hp_lock_name(struct hp_report *report, const struct hp_lock_row *lock)
{
	struct hp_lock_view *view = hp_lock_view(report);
	char **name = &view->names[lock - view->locks.rows];

	if (!*name)
		*name = name_of(report, lock);
	return *name;
}

char *hp_lock_place_text(struct hp_report *report, const struct hp_lock_place *place)
{
	const struct hp_symbol_spot *spot = hp_lock_code(report, place);

	if (!spot)
		return hp_xstrdup("?");
	if (!spot->file)
		return hp_xstrdup(spot->name);
	return hp_xprintf("%s (%s:%d)", spot->name, base_name(spot->file), spot->line);
}

void hp_lock_view_name_all(struct hp_report *report)
{
	const struct hp_locks *locks = &hp_lock_view(report)->locks;

	for (size_t i = 0; i < locks->count; i++)
		hp_lock_name(report, &locks->rows[i]);
	for (size_t i = 0; i < locks->contest_count; i++) {
		hp_lock_code(report, &locks->contests[i].at);
		hp_lock_code(report, &locks->contests[i].holder);
		hp_lock_path_name(report, locks->contests[i].path);
		hp_lock_path_name(report, locks->contests[i].from);
	}
	for (size_t i = 0; i < hp_lock_view(report)->cycle_count; i++)
		for (size_t j = 0; j < hp_lock_view(report)->cycles[i].count; j++) {
			hp_lock_code(report, &hp_lock_view(report)->cycles[i].edges[j]->held_at);
			hp_lock_code(report, &hp_lock_view(report)->cycles[i].edges[j]->taken_at);
		}
	for (size_t i = 0; i < locks->birth_count; i++) {
		hp_lock_code(report, &locks->births[i].at);
		hp_lock_routine(report, &locks->births[i]);
		hp_lock_path_name(report, locks->births[i].path);
	}
	for (size_t i = 0; i < locks->hold_count; i++)
		hp_lock_code(report, &locks->holds[i].at);
	for (size_t i = 0; i < locks->wait_count; i++) {
		hp_lock_code(report, &locks->waits[i].at);
		hp_lock_path_name(report, locks->waits[i].path);
	}
}

struct kind {
	const char *text;
	const char *type;
};

static const struct kind kinds[HP_LOCK_KINDS] = {
	[0] = { "?", "?" },
	[HP_LOCK_MUTEX] = { "mutex", "pthread_mutex_t" },
	[HP_LOCK_RWLOCK] = { "rwlock", "pthread_rwlock_t" },
	[HP_LOCK_SPIN] = { "spin", "pthread_spinlock_t" },
	[HP_LOCK_COND] = { "cond", "pthread_cond_t" },
	[HP_LOCK_SEM] = { "sem", "sem_t" },
	[HP_LOCK_BARRIER] = { "barrier", "pthread_barrier_t" },
	[HP_LOCK_ONCE] = { "once", "pthread_once_t" },
	[HP_LOCK_THREAD] = { "join", "pthread_t" },
	[HP_LOCK_FILE] = { "file", "file" },
	[HP_LOCK_STREAM] = { "stream", "FILE" },
	[HP_LOCK_GMUTEX] = { "GMutex", "GMutex" },
	[HP_LOCK_GRECMUTEX] = { "GRecMutex", "GRecMutex" },
	[HP_LOCK_GRWLOCK] = { "GRWLock", "GRWLock" },
	[HP_LOCK_GCOND] = { "GCond", "GCond" },
	[HP_LOCK_CHANNEL] = { "channel", "channel" },
};

const char *hp_lock_kind_text(uint32_t kind, uint32_t side)
{
	if (kind == HP_LOCK_RWLOCK && side == HP_SIDE_READ)
		return "rwlock read";
	if (kind == HP_LOCK_RWLOCK && side == HP_SIDE_WRITE)
		return "rwlock write";
	if (kind == HP_LOCK_GRWLOCK)
		return side == HP_SIDE_READ ? "GRWLock read" : "GRWLock write";
	if (kind == HP_LOCK_FILE)
		return side == HP_SIDE_READ ? "file shared" : "file exclusive";
	return kinds[kind < HP_LOCK_KINDS ? kind : 0].text;
}

const char *hp_lock_row_kind(const struct hp_lock_row *lock, uint32_t side)
{
	return lock->kind == HP_LOCK_CHANNEL ? hp_channel_kind_text(lock->channel_kind, side)
					     : hp_lock_kind_text(lock->kind, side);
}

const char *hp_lock_type(uint32_t kind)
{
	return kinds[kind < HP_LOCK_KINDS ? kind : 0].type;
}

/* --- lists --- */

void hp_lock_list_cut(const struct hp_report *report, struct hp_list *list)
{
	uint64_t limit =
		report->settings->limit == HP_LIMIT_UNSET ? LIMIT : report->settings->limit;

	list->shown = limit && limit < list->total ? (size_t)limit : list->total;
}

static bool is_exclusive(const struct hp_lock_row *lock)
{
	switch (lock->kind) {
	case HP_LOCK_MUTEX:
	case HP_LOCK_SPIN:
	case HP_LOCK_STREAM:
	case HP_LOCK_GMUTEX:
	case HP_LOCK_GRECMUTEX:
		return true;
	}
	return false;
}

/* Most time waited first, then the most used, then by name. */
static int compare_lines(const void *left, const void *right, void *context)
{
	const struct hp_lock_line *a = *(const struct hp_lock_line *const *)left;
	const struct hp_lock_line *b = *(const struct hp_lock_line *const *)right;

	if (a->sum->wait_ticks > b->sum->wait_ticks || a->sum->wait_ticks < b->sum->wait_ticks)
		return a->sum->wait_ticks > b->sum->wait_ticks ? -1 : 1;
	if (a->sum->count != b->sum->count)
		return a->sum->count > b->sum->count ? -1 : 1;
	return strcmp(hp_lock_name(context, a->lock), hp_lock_name(context, b->lock));
}

static void lines_fill(struct hp_report *report, struct hp_list *list,
		       bool (*is_wanted)(const struct hp_lock_row *lock))
{
	struct hp_lock_view *view = hp_lock_view(report);

	list->rows = hp_xcalloc(view->line_count, sizeof(*list->rows));
	list->total = 0;
	for (size_t i = 0; i < view->line_count; i++)
		if (is_wanted(view->lines[i].lock))
			list->rows[list->total++] = &view->lines[i];
	if (list->total)
		qsort_r(list->rows, list->total, sizeof(*list->rows), compare_lines, report);
	hp_lock_list_cut(report, list);
}

static bool has_lines(const struct hp_report *report,
		      bool (*is_wanted)(const struct hp_lock_row *lock))
{
	const struct hp_lock_view *view = hp_lock_view(report);

	for (size_t i = 0; i < view->line_count; i++)
		if (is_wanted(view->lines[i].lock))
			return true;
	return false;
}

/* --- columns of locks --- */

#define LINE HP_LOCK_CELL
#define UNUSED HP_LOCK_UNUSED

static const struct hp_lock_line *line_of(const void *row)
{
	return row;
}

static const struct hp_lock_sum *sum_of(const void *row)
{
	return line_of(row)->sum;
}

HP_LOCK_CELLS(line, sum_of)

LINE(line_name)
{
	UNUSED(percentile);
	value->text = hp_lock_name(report, line_of(row)->lock);
}

LINE(line_id)
{
	UNUSED(report), UNUSED(percentile);
	value->number = line_of(row)->id;
}

LINE(line_type)
{
	UNUSED(report), UNUSED(percentile);
	value->text = hp_lock_type(line_of(row)->lock->kind);
}

LINE(line_source)
{
	const struct hp_lock_row *lock = line_of(row)->lock;

	UNUSED(percentile);
	if (lock->number == HP_LOCK_STATIC) {
		value->text = hp_lock_name(report, lock);
		return;
	}
	free(report->text);
	report->text = site_text(hp_lock_site(report, lock));
	value->text = report->text;
}

LINE(line_objects)
{
	UNUSED(report), UNUSED(percentile);
	value->number = (double)line_of(row)->lock->objects;
}

const struct hp_column hp_mutex_columns[HP_MUTEX_COLUMNS] = {
	{ .key = "id", .raw = "id", .unit = HP_UNIT_NUMBER, .get = line_id },
	{ "Mutex", "label", "label", HP_UNIT_NAME, line_name, false, false },
	{ NULL, "source", "source", HP_UNIT_TEXT, line_source, false, false },
	{ NULL, "type_name", "type_name", HP_UNIT_TEXT, line_type, false, false },
	{ "Locks", "count", "count", HP_UNIT_COUNT, line_count, false, false },
	{ NULL, "sampled_count", "sampled_count", HP_UNIT_COUNT, line_timed, false, false },
	{ "Waits", NULL, "contended", HP_UNIT_COUNT, line_contended, false, false },
	{ "Wait avg", "wait_avg", "wait_avg_ns", HP_UNIT_TIME, line_wait_mean, false, false },
	{ "Wait P", NULL, "wait_p", HP_UNIT_TIME, line_wait_percentile, true, false },
	{ "Longest", NULL, "wait_max_ns", HP_UNIT_TIME, line_wait_most, false, false },
	{ "Acq avg", "acquire_avg", "acquire_avg_ns", HP_UNIT_TIME, line_hold_mean, false, false },
	{ "Acq P", NULL, "acquire_p", HP_UNIT_TIME, line_hold_percentile, true, false },
	{ .raw = "wait_total_ns", .unit = HP_UNIT_NUMBER, .get = line_wait },
	{ .raw = "acquire_total_ns", .unit = HP_UNIT_NUMBER, .get = line_hold },
	{ .raw = "acquire_max_ns", .unit = HP_UNIT_NUMBER, .get = line_hold_most },
	{ .raw = "failed_tries", .unit = HP_UNIT_NUMBER, .get = line_failed },
	{ .raw = "timeouts", .unit = HP_UNIT_NUMBER, .get = line_timeouts },
	{ .raw = "objects", .unit = HP_UNIT_NUMBER, .get = line_objects },
};

/* --- mutexes --- */

const char *hp_mutexes_describe(const struct hp_report *report)
{
	UNUSED(report);
	return "Mutex wait & acquire time statistics.";
}

void hp_mutexes_fill(struct hp_report *report, struct hp_list *list)
{
	lines_fill(report, list, is_exclusive);
}

bool hp_mutexes_has_data(const struct hp_report *report)
{
	return has_lines(report, is_exclusive);
}

const char *hp_locks_empty(struct hp_report *report)
{
	UNUSED(report);
	return "none was used";
}

/* --- waits --- */

static const struct hp_lock_contest *wait_of(const void *row)
{
	return &((const struct hp_lock_waiting *)row)->sum;
}

LINE(wait_name)
{
	const struct hp_lock_view *view = hp_lock_view(report);

	UNUSED(percentile);
	value->text = hp_lock_name(report, &view->locks.rows[wait_of(row)->lock]);
}

LINE(wait_kind)
{
	const struct hp_lock_view *view = hp_lock_view(report);

	UNUSED(percentile);
	value->text = hp_lock_row_kind(&view->locks.rows[wait_of(row)->lock], wait_of(row)->side);
}

static void set_place(struct hp_report *report, const struct hp_lock_place *place,
		      struct hp_value *value)
{
	free(report->text);
	report->text = hp_lock_place_text(report, place);
	value->text = report->text;
}

LINE(wait_at)
{
	UNUSED(percentile);
	set_place(report, &wait_of(row)->at, value);
}

LINE(wait_function)
{
	uint32_t function = wait_of(row)->function;

	UNUSED(percentile);
	value->is_unknown = function == HP_NONE;
	if (function != HP_NONE)
		value->text = hp_report_name(report, &report->model.functions[function]);
}

LINE(wait_holder)
{
	UNUSED(percentile);
	value->is_unknown = !wait_of(row)->holder.address;
	if (!value->is_unknown)
		set_place(report, &wait_of(row)->holder, value);
}

LINE(wait_path)
{
	UNUSED(percentile);
	free(report->text);
	report->text = hp_lock_path_text(report, &wait_of(row)->at, wait_of(row)->path);
	value->text = report->text;
}

LINE(wait_tid)
{
	UNUSED(report), UNUSED(percentile);
	value->number = wait_of(row)->holder_tid;
	value->is_unknown = !value->number;
}

LINE(wait_count)
{
	UNUSED(report), UNUSED(percentile);
	value->number = (double)wait_of(row)->count;
}

LINE(wait_total)
{
	UNUSED(percentile);
	hp_lock_set_ticks(report, (double)wait_of(row)->ticks, value);
}

LINE(wait_most)
{
	UNUSED(percentile);
	hp_lock_set_ticks(report, (double)wait_of(row)->most, value);
}

LINE(wait_share)
{
	UNUSED(report), UNUSED(percentile);
	value->number = ((const struct hp_lock_waiting *)row)->share;
}

const struct hp_column hp_wait_columns[HP_WAIT_COLUMNS] = {
	{ "Object", "object", "object", HP_UNIT_NAME, wait_name, false, false },
	{ "Kind", "kind", "kind", HP_UNIT_TEXT, wait_kind, false, false },
	{ "Waits at", NULL, NULL, HP_UNIT_CHAIN, wait_path, false, false },
	{ NULL, "at", "at", HP_UNIT_TEXT, wait_at, false, false },
	{ NULL, "function", "function", HP_UNIT_TEXT, wait_function, false, false },
	{ "Held by", "holder", "holder", HP_UNIT_CHAIN, wait_holder, false, false },
	{ .raw = "holder_tid", .unit = HP_UNIT_NUMBER, .get = wait_tid },
	{ "Waits", "count", "count", HP_UNIT_COUNT, wait_count, false, false },
	{ "Total", "total", "total_ns", HP_UNIT_TIME, wait_total, false, false },
	{ "Longest", "longest", "longest_ns", HP_UNIT_TIME, wait_most, false, false },
	{ "% Waits", "percent_total", "percent_total", HP_UNIT_SHARE, wait_share, false, false },
};

const char *hp_waits_describe(const struct hp_report *report)
{
	UNUSED(report);
	return "Where threads waited, and for whom.";
}

static int compare_waits(const void *left, const void *right)
{
	const struct hp_lock_contest *a = wait_of(*(const struct hp_lock_waiting *const *)left);
	const struct hp_lock_contest *b = wait_of(*(const struct hp_lock_waiting *const *)right);

	if (a->ticks != b->ticks)
		return a->ticks > b->ticks ? -1 : 1;
	if (a->lock != b->lock)
		return a->lock < b->lock ? -1 : 1;
	return a->at.address < b->at.address ? -1 : a->at.address > b->at.address;
}

void hp_waits_fill(struct hp_report *report, struct hp_list *list)
{
	struct hp_lock_view *view = hp_lock_view(report);

	list->total = view->wait_count;
	list->rows = hp_xcalloc(list->total, sizeof(*list->rows));
	for (size_t i = 0; i < list->total; i++)
		list->rows[i] = &view->waits[i];
	if (list->total)
		qsort(list->rows, list->total, sizeof(*list->rows), compare_waits);
	hp_lock_list_cut(report, list);
}

/* Waits for what the program was given (a terminal's pipe) are shown beside others only. */
bool hp_waits_has_data(const struct hp_report *report)
{
	const struct hp_lock_view *view = hp_lock_view(report);

	for (size_t i = 0; i < view->wait_count; i++)
		if (!view->locks.rows[view->waits[i].sum.lock].is_found)
			return true;
	return false;
}

/* --- JSON --- */

static void add_whole(cJSON *object, const char *key, double number)
{
	char text[32];

	snprintf(text, sizeof(text), "%.0f", number > 0 ? rint(number) : 0);
	cJSON_AddItemToObject(object, key, cJSON_CreateRaw(text));
}

void hp_lock_head_add(struct hp_report *report, cJSON *list)
{
	const struct hp_percentiles *percentiles = &report->settings->percentiles;
	cJSON *array;

	add_whole(list, "current_elapsed_ns", (double)report->model.elapsed_ns);
	array = cJSON_AddArrayToObject(list, "percentiles");
	for (uint32_t i = 0; i < percentiles->count; i++) {
		struct hp_text_cell cell;
		char text[64];

		snprintf(text, sizeof(text), "%s%s",
			 hp_format_percentile(&cell, percentiles->at[i]),
			 percentiles->at[i] > floor(percentiles->at[i]) ? "" : ".0");
		cJSON_AddItemToArray(array, cJSON_CreateRaw(text));
	}
}

void hp_lock_percentiles_add(struct hp_report *report, const struct hp_lock_sum *sum, bool is_hold,
			     const char *key, cJSON *entry)
{
	const struct hp_percentiles *percentiles = &report->settings->percentiles;
	cJSON *map = cJSON_AddObjectToObject(entry, key);

	for (uint32_t i = 0; i < percentiles->count; i++) {
		double ticks = is_hold ? hp_lock_hold_percentile(sum, percentiles->at[i])
				       : hp_lock_wait_percentile(sum, percentiles->at[i]);
		struct hp_text_cell cell;
		char name[64];

		snprintf(name, sizeof(name), "p%s",
			 hp_format_percentile(&cell, percentiles->at[i]));
		cJSON_AddStringToObject(
			map, name,
			ticks < 0 ? "-" : hp_format_time(&cell, ticks * report->model.ns_per_tick));
	}
}

/* Without debug information: the module, line 0. */
static void location_add(struct hp_report *report, const struct hp_lock_row *lock, cJSON *entry)
{
	const struct hp_symbol_spot *spot =
		lock->number == HP_LOCK_STATIC ? NULL : hp_lock_site(report, lock);
	uint32_t object = lock->number == HP_LOCK_STATIC ? lock->at.object : lock->site.object;
	const char *path = object == HP_NONE ? "?" : report->model.objects[object].path;
	cJSON *location = cJSON_AddObjectToObject(entry, "location");

	cJSON_AddStringToObject(location, "file", spot && spot->file ? spot->file : path);
	add_whole(location, "line", spot && spot->file ? spot->line : 0);
	add_whole(location, "column", spot && spot->file ? spot->column : 0);
}

void hp_lock_identity_add(struct hp_report *report, const struct hp_lock_row *lock, cJSON *entry)
{
	cJSON_AddBoolToObject(entry, "has_custom_label", lock->label && lock->kind != HP_LOCK_FILE);
	location_add(report, lock, entry);
	add_whole(entry, "iter", lock->number < HP_LOCK_STATIC ? lock->number : 0);
}

void hp_mutex_entry_add(struct hp_report *report, const void *row, cJSON *entry)
{
	const struct hp_lock_line *line = row;

	hp_lock_identity_add(report, line->lock, entry);
	hp_lock_percentiles_add(report, line->sum, false, "wait_percentiles", entry);
	hp_lock_percentiles_add(report, line->sum, true, "acquire_percentiles", entry);
}

void hp_wait_entry_add(struct hp_report *report, const void *row, cJSON *entry)
{
	const struct hp_lock_contest *wait = wait_of(row);

	hp_lock_path_add(report, wait->path, "frames", entry);
	hp_lock_path_add(report, wait->from, "released_by", entry);
}
