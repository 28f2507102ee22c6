/* SPDX-License-Identifier: MIT */
/*
 * lock_section.c - see lock_section.h.
 */
#include "report/section/wait/lock_section.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/json.h"
#include "report/section/core/extra.h"
#include "report/section/core/list.h"
#include "report/section/wait/lock_cells.h"
#include "report/section/wait/lock_view.h"
#include "report/base/memory.h"
#include "segment/layout/header.h"

/* --- names --- */

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

/* --- lists --- */

static bool is_exclusive(const struct hp_lock_row *lock)
{
	return hp_lock_family(lock->kind) == HP_LOCK_FAMILY_MUTEX;
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
	hp_section_cut(&hp_mutexes_section, report, list);
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

static const struct hp_lock_line *line_of(const void *row)
{
	return row;
}

static void line_name(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = hp_lock_name(cell->report, line_of(cell->row)->lock);
}

static void line_type(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = hp_lock_type(line_of(cell->row)->lock->kind);
}

static void line_source(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_lock_row *lock = line_of(cell->row)->lock;

	if (lock->number == HP_LOCK_STATIC) {
		value->text = hp_lock_name(cell->report, lock);
		return;
	}
	hp_cell_set_text(cell, hp_spot_text(hp_lock_site(cell->report, lock)), value);
}

static const struct hp_column columns[] = {
	{ .key = "id", .raw = "id", .unit = HP_UNIT_NUMBER, .member = HP_MEMBER(hp_lock_line, id) },
	{ "Mutex", "label", "label", HP_UNIT_NAME, .get = line_name },
	{ NULL, "source", "source", HP_UNIT_TEXT, .get = line_source },
	{ NULL, "type_name", "type_name", HP_UNIT_TEXT, .get = line_type },
	{ "Locks", "count", "count", HP_UNIT_COUNT,
	  .member = HP_MEMBER_AT(hp_lock_line, sum, count) },
	{ NULL, "sampled_count", "sampled_count", HP_UNIT_COUNT, .get = hp_lock_get_timed,
	  .member = HP_PLACE_AT(hp_lock_line, sum) },
	{ "Waits", NULL, "contended", HP_UNIT_COUNT,
	  .member = HP_MEMBER_AT(hp_lock_line, sum, contended) },
	{ "Wait avg", "wait_avg", "wait_avg_ns", HP_UNIT_TIME, .get = hp_lock_get_wait_mean,
	  .member = HP_PLACE_AT(hp_lock_line, sum), .need = HP_NEED_ROOM },
	{ "Wait P", NULL, "wait_p", HP_UNIT_TIME, .get = hp_lock_get_wait_percentile,
	  .member = HP_PLACE_AT(hp_lock_line, sum), .is_percentiles = true, .need = HP_NEED_ROOM },
	{ "Longest", NULL, "wait_max_ns", HP_UNIT_TIME, .get = hp_lock_get_longest,
	  .member = HP_PLACE_AT(hp_lock_line, sum) },
	{ "Held avg", "acquire_avg", "acquire_avg_ns", HP_UNIT_TIME, .get = hp_lock_get_hold_mean,
	  .member = HP_PLACE_AT(hp_lock_line, sum) },
	{ "\302\26195%", NULL, NULL, HP_UNIT_ERROR, .get = hp_lock_get_hold_error,
	  .member = HP_PLACE_AT(hp_lock_line, sum), .need = HP_NEED_ESTIMATE },
	{ "Held P", NULL, "acquire_p", HP_UNIT_TIME, .get = hp_lock_get_hold_percentile,
	  .member = HP_PLACE_AT(hp_lock_line, sum), .is_percentiles = true },
	{ .raw = "wait_total_ns",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_TICKS_AT(hp_lock_line, sum, wait_ticks) },
	{ .raw = "acquire_total_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = hp_lock_get_hold,
	  .member = HP_PLACE_AT(hp_lock_line, sum) },
	{ .raw = "acquire_total_low_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = hp_lock_get_hold_low,
	  .member = HP_PLACE_AT(hp_lock_line, sum) },
	{ .raw = "acquire_total_high_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = hp_lock_get_hold_high,
	  .member = HP_PLACE_AT(hp_lock_line, sum) },
	{ .raw = "acquire_avg_low_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = hp_lock_get_hold_mean_low,
	  .member = HP_PLACE_AT(hp_lock_line, sum) },
	{ .raw = "acquire_avg_high_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = hp_lock_get_hold_mean_high,
	  .member = HP_PLACE_AT(hp_lock_line, sum) },
	{ NULL, "acquire_max", NULL, HP_UNIT_TEXT, .get = hp_lock_get_hold_most_text,
	  .member = HP_PLACE_AT(hp_lock_line, sum) },
	{ .raw = "acquire_max_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = hp_lock_get_hold_most,
	  .member = HP_PLACE_AT(hp_lock_line, sum) },
	{ .raw = "acquire_max_high_ns",
	  .unit = HP_UNIT_NUMBER,
	  .get = hp_lock_get_hold_most_high,
	  .member = HP_PLACE_AT(hp_lock_line, sum) },
	{ .raw = "failed_tries",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER_AT(hp_lock_line, sum, failed) },
	{ .raw = "timeouts",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER_AT(hp_lock_line, sum, timeouts) },
	{ .raw = "objects",
	  .unit = HP_UNIT_NUMBER,
	  .member = HP_MEMBER_AT(hp_lock_line, lock, objects) },
	{ 0 },
};

/* --- mutexes --- */

static void fill(struct hp_report *report, struct hp_list *list)
{
	lines_fill(report, list, is_exclusive);
}

static bool has_data(const struct hp_report *report)
{
	return has_lines(report, is_exclusive);
}

/* --- JSON --- */

void hp_lock_add_head(struct hp_report *report, cJSON *list)
{
	hp_json_rounded(list, "current_elapsed_ns", (double)report->model.elapsed_ns);
	hp_extra_add_percentiles(report, list);
}

void hp_lock_add_percentiles(struct hp_report *report, const struct hp_lock_sum *sum, bool is_hold,
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

	if (spot && spot->file)
		hp_json_location(entry, spot->file, spot->line, spot->column);
	else
		hp_json_location(
			entry, object == HP_NONE ? "?" : report->model.objects[object].path, 0, 0);
}

void hp_lock_add_identity(struct hp_report *report, const struct hp_lock_row *lock, cJSON *entry)
{
	cJSON_AddBoolToObject(entry, "has_custom_label", lock->label && lock->kind != HP_LOCK_FILE);
	location_add(report, lock, entry);
	hp_json_rounded(entry, "iter", lock->number < HP_LOCK_STATIC ? lock->number : 0);
}

static void add_identity(struct hp_report *report, const void *row, cJSON *entry)
{
	const struct hp_lock_line *line = row;

	hp_lock_add_identity(report, line->lock, entry);
	hp_lock_add_percentiles(report, line->sum, false, "wait_percentiles", entry);
	hp_lock_add_percentiles(report, line->sum, true, "acquire_percentiles", entry);
}

/* --- the section --- */

const struct hp_section hp_mutexes_section = {
	.key = "mutexes",
	.json = "mutexes",
	.name = "mutexes",
	.help = "mutexes",
	.subject = HP_SUBJECT_WAIT,
	.columns = columns,
	.needs = HP_RECORDED_LOCKS,
	.fill = fill,
	.limit = HP_MEMBER(hp_settings, mutexes_limit),
	.usual = HP_LOCKS_LIMIT,
	.is_quiet = true,
	.has_data = has_data,
	.about = "Mutex wait & hold time statistics.",
	.none = HP_NO_LOCKS,
	.estimate = HP_ESTIMATE_HOLDS,
	.extra = { .head = hp_lock_add_head,
		   .data = add_identity,
		   .list_keys = HP_LOCK_KEYS,
		   .data_keys = HP_LOCK_ROW_KEYS },
	.name_all = hp_lock_view_name_all,
	.tool = { .help = "Mutexes: how often taken, how long waited for and held.",
		  .meaning =
			  "Mutexes: how often each was taken, how long threads waited for it, and how "
			  "long it was held.",
		  .next = "who_waits_for_whom for the places; lock_order for deadlocks." },
};
