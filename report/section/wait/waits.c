/* SPDX-License-Identifier: MIT */
/*
 * waits.c - the section of waits: where threads waited, for which object and
 * holder, summed up over threads.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>

#include "report/section/wait/lock_cells.h"
#include "report/section/wait/lock_view.h"
#include "report/section/core/list.h"
#include "report/base/memory.h"
#include "segment/layout/header.h"

#define LINE HP_LOCK_CELL

static const struct hp_lock_contest *wait_of(const void *row)
{
	return &((const struct hp_lock_waiting *)row)->sum;
}

static void wait_name(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_lock_view *view = hp_lock_view(cell->report);

	value->text = hp_lock_name(cell->report, &view->locks.rows[wait_of(cell->row)->lock]);
	value->is_label = view->locks.rows[wait_of(cell->row)->lock].number != HP_LOCK_STATIC;
}

static void wait_kind(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_lock_view *view = hp_lock_view(cell->report);

	value->text = hp_lock_row_kind(&view->locks.rows[wait_of(cell->row)->lock],
				       wait_of(cell->row)->side);
}

static void wait_at(const struct hp_cell *cell, struct hp_value *value)
{
	hp_lock_set_place(cell, &wait_of(cell->row)->at, value);
}

static void wait_function(const struct hp_cell *cell, struct hp_value *value)
{
	uint32_t function = wait_of(cell->row)->function;

	value->is_unknown = function == HP_NONE;
	if (function != HP_NONE)
		value->text =
			hp_report_name(cell->report, &cell->report->model.functions[function]);
}

static void wait_holder(const struct hp_cell *cell, struct hp_value *value)
{
	value->is_unknown = !wait_of(cell->row)->holder.address;
	if (value->is_unknown)
		return;
	hp_cell_set_text(cell,
			 hp_lock_holder_text(cell->report, &wait_of(cell->row)->holder,
					     wait_of(cell->row)->from),
			 value);
}

static void wait_path(const struct hp_cell *cell, struct hp_value *value)
{
	hp_cell_set_text(cell,
			 hp_lock_path_text(cell->report, &wait_of(cell->row)->at,
					   wait_of(cell->row)->path),
			 value);
}

static void wait_tid(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = wait_of(cell->row)->holder_tid;
	value->is_unknown = !value->number;
}

static void wait_count(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = (double)wait_of(cell->row)->count;
}

static void wait_total(const struct hp_cell *cell, struct hp_value *value)
{
	hp_lock_set_ticks(cell, (double)wait_of(cell->row)->ticks, value);
}

static void wait_most(const struct hp_cell *cell, struct hp_value *value)
{
	hp_lock_set_ticks(cell, (double)wait_of(cell->row)->most, value);
}

static const struct hp_column columns[] = {
	{ "Object", "object", "object", HP_UNIT_NAME, .get = wait_name },
	{ "Kind", "kind", "kind", HP_UNIT_TEXT, .get = wait_kind },
	{ "Waits at", NULL, NULL, HP_UNIT_CHAIN, .get = wait_path },
	{ NULL, "at", "at", HP_UNIT_TEXT, .get = wait_at },
	{ NULL, "function", "function", HP_UNIT_TEXT, .get = wait_function },
	{ "Held by", "holder", "holder", HP_UNIT_CHAIN, .get = wait_holder },
	{ .raw = "holder_tid", .unit = HP_UNIT_NUMBER, .get = wait_tid },
	{ "Waits", "count", "count", HP_UNIT_COUNT, .get = wait_count },
	{ "Total", "total", "total_ns", HP_UNIT_TIME, .get = wait_total },
	{ "Longest", "longest", "longest_ns", HP_UNIT_TIME, .get = wait_most },
	{ "% Waits", "percent_total", "percent_total", HP_UNIT_SHARE,
	  .member = HP_MEMBER(hp_lock_waiting, share) },
	{ 0 },
};

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

static void fill(struct hp_report *report, struct hp_list *list)
{
	struct hp_lock_view *view = hp_lock_view(report);

	list->total = view->wait_count;
	list->rows = hp_xcalloc(list->total, sizeof(*list->rows));
	for (size_t i = 0; i < list->total; i++)
		list->rows[i] = &view->waits[i];
	if (list->total)
		qsort(list->rows, list->total, sizeof(*list->rows), compare_waits);
	hp_section_cut(&hp_waits_section, report, list);
}

/* Waits for inherited objects (a terminal's pipe) are shown only together with others. */
static bool has_data(const struct hp_report *report)
{
	const struct hp_lock_view *view = hp_lock_view(report);

	for (size_t i = 0; i < view->wait_count; i++)
		if (!view->locks.rows[view->waits[i].sum.lock].is_found)
			return true;
	return false;
}

static void add_frames(struct hp_report *report, const void *row, cJSON *entry)
{
	const struct hp_lock_contest *wait = wait_of(row);

	hp_lock_path_add(report, wait->path, "frames", entry);
	hp_lock_path_add(report, wait->from, "released_by", entry);
}

const struct hp_section hp_waits_section = {
	.key = "waits",
	.json = "waits",
	.name = "waits",
	.help = "waits for locks: who, for whom, where",
	.subject = HP_SUBJECT_WAIT,
	.columns = columns,
	.needs = HP_RECORDED_LOCKS | HP_RECORDED_CHANNELS,
	.fill = fill,
	.usual = HP_LOCKS_LIMIT,
	.is_quiet = true,
	.has_data = has_data,
	.about = "Where threads waited, and for whom.",
	.none = "no wait has finished; ongoing ones are in waiting",
	.is_on_top = true,
	.extra = { .head = hp_lock_add_head,
		   .raw = add_frames,
		   .list_keys = HP_LOCK_KEYS,
		   .raw_keys = "frames:[@frame] released_by:[@frame]" },
	.tool = { .name = "who_waits_for_whom",
		  .help = "Waits for locks: which place waited for which other place that held it.",
		  .meaning =
			  "Waits for locks: the place that waited, and the place that held the lock meanwhile.",
		  .next = "Shorten the holder's work under the lock; mutexes for how long it is held." },
};
