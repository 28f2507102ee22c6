/* SPDX-License-Identifier: MIT */
/*
 * pool_section.c - the section of pools: rows, columns, texts.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>

#include "report/base/json.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/loop/pool.h"
#include "report/section/wait/lock_cells.h"
#include "report/section/wait/lock_section.h"

#define LIMIT 15	/* rows, unless a variable says otherwise */

static const struct hp_pool_row *row_at(const struct hp_cell *cell)
{
	return cell->row;
}

static const struct hp_lock_row *lock_at(const struct hp_cell *cell)
{
	return &hp_lock_view_locks(hp_lock_view(cell->report))->rows[row_at(cell)->lock];
}

static void fill(struct hp_report *report, struct hp_list *list)
{
	const struct hp_pools *pools = hp_pools_of(report);

	list->rows = hp_xcalloc(pools->count + 1, sizeof(*list->rows));
	list->total = pools->count;
	for (size_t i = 0; i < pools->count; i++)
		list->rows[i] = &pools->rows[i];
	hp_section_cut(&hp_pools_section, report, list);
}

static bool has_data(const struct hp_report *report)
{
	return hp_pools_of(report)->count != 0;
}

static void name_all(struct hp_report *report)
{
	hp_pools_of(report);
}

/* --- columns --- */

static void cell_id(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = (double)(row_at(cell) - hp_pools_of(cell->report)->rows) + 1;
}

static void cell_source(const struct hp_cell *cell, struct hp_value *value)
{
	hp_cell_set_text(cell, hp_lock_place_text(cell->report, &row_at(cell)->at), value);
}

static void cell_condition(const struct hp_cell *cell, struct hp_value *value)
{
	value->text = hp_lock_name(cell->report, lock_at(cell));
	value->is_label = lock_at(cell)->number != HP_LOCK_STATIC;
}

static void cell_path(const struct hp_cell *cell, struct hp_value *value)
{
	hp_cell_set_text(cell,
			 hp_lock_path_text(cell->report, &row_at(cell)->at, row_at(cell)->path),
			 value);
}

static double busy_ticks(const struct hp_pool_row *row)
{
	return row->is_life_known ? (double)(row->life_ticks - row->idle_ticks) : -1;
}

static void cell_busy(const struct hp_cell *cell, struct hp_value *value)
{
	hp_lock_set_ticks(cell, busy_ticks(row_at(cell)), value);
}

static void cell_busy_share(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_pool_row *row = row_at(cell);

	value->is_unknown = !row->is_life_known || !row->life_ticks;
	if (!value->is_unknown)
		value->number = 100 * busy_ticks(row) / (double)row->life_ticks;
}

/* Of the condition, whoever waited for it. */
static void cell_signals(const struct hp_cell *cell, struct hp_value *value)
{
	value->number = (double)lock_at(cell)->sums[HP_SIDE_POST].count;
}

static void cell_woken(const struct hp_cell *cell, struct hp_value *value)
{
	const struct hp_lock_sum *sum = &lock_at(cell)->sums[HP_SIDE_ONLY];

	hp_lock_set_ticks(cell, sum->timed ? sum->hold_ticks / (double)sum->timed : -1, value);
}

static const struct hp_column columns[] = {
	{ .key = "id", .raw = "id", .unit = HP_UNIT_NUMBER, .get = cell_id },
	{ "Pool", "label", "label", HP_UNIT_NAME, .member = HP_MEMBER(hp_pool_row, name) },
	{ NULL, "kind", "kind", HP_UNIT_TEXT, .member = HP_MEMBER(hp_pool_row, kind) },
	{ NULL, "source", "source", HP_UNIT_TEXT, .get = cell_source },
	{ NULL, "condition", "condition", HP_UNIT_TEXT, .get = cell_condition },
	{ "Workers", "workers", "workers", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_pool_row, workers) },
	{ "Waiting", "waiting_workers", "waiting_workers", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_pool_row, waiting), .need = HP_NEED_ROOM },
	{ "Waits", "wait_count", "wait_count", HP_UNIT_COUNT,
	  .member = HP_MEMBER(hp_pool_row, waits) },
	{ "Signals", "signals", "signals", HP_UNIT_COUNT, .get = cell_signals, .spare = 1 },
	{ "Idle", "idle", "idle_ns", HP_UNIT_TIME, .member = HP_TICKS(hp_pool_row, idle_ticks) },
	{ NULL, "idle_max", "idle_max_ns", HP_UNIT_TIME,
	  .member = HP_TICKS(hp_pool_row, idle_most) },
	{ "Busy", "busy", "busy_ns", HP_UNIT_TIME, .get = cell_busy },
	{ "Busy %", "busy_percent", "busy_percent", HP_UNIT_LOAD, .get = cell_busy_share },
	{ "Woken in", "woken_avg", "woken_avg_ns", HP_UNIT_TIME, .get = cell_woken },
	{ .key = "path", .unit = HP_UNIT_TEXT, .get = cell_path },
	{ 0 },
};

static const struct hp_metric metrics[] = {
	{ "workers", false, "hotpath_pool_workers", .help = "Threads of each pool." },
	{ "waiting_workers", false, "hotpath_pool_waiting_workers",
	  .help = "Threads of each pool that wait for work." },
	{ "wait_count", true, "hotpath_pool_waits", .help = "Ended waits of each pool for work." },
	{ "signals", true, "hotpath_pool_signals",
	  .help = "Signals to the condition that each pool waits on." },
	{ "idle_ns", true, "hotpath_pool_idle_seconds", .help = "Time in waits for work.",
	  .scale = 1e-9 },
	{ "busy_ns", true, "hotpath_pool_busy_seconds",
	  .help = "The workers' time outside waits for work.", .scale = 1e-9 },
	{ "woken_avg_ns", false, "hotpath_pool_woken_seconds",
	  .help = "Mean time from a signal to the end of a wait.", .scale = 1e-9 },
	{ 0 },
};

static const struct hp_label_key labels[] = {
	{ "pool", "label" }, { "condition", "condition" }, { "source", "source" }, { 0 }
};

static void add_head(struct hp_report *report, cJSON *list)
{
	hp_json_whole(list, "current_elapsed_ns", report->model.elapsed_ns);
}

const struct hp_section hp_pools_section = {
	.key = HP_KEY_POOLS,
	.json = "pools",
	.name = "pools",
	.help = "pools of threads that wait for work: workers, idle, busy",
	.subject = HP_SUBJECT_LOOP,
	.columns = columns,
	.needs = HP_RECORDED_LOCKS,
	.fill = fill,
	.usual = LIMIT,
	.is_quiet = true,
	.has_data = has_data,
	.about = "Pools: threads that wait on one condition in one place, and their work.",
	.none = "no threads wait together on one condition again and again",
	.extra = { .head = add_head, .list_keys = "current_elapsed_ns:i" },
	.name_all = name_all,
	.tool = { .help = "Thread pools: workers, idle and busy time, signals.",
		  .meaning = "Workers wait on one condition for work (idle) and are busy between "
			     "two waits, whether they compute or block. Busy near 100% means that "
			     "work queues up; near 0% that the pool is larger than needed.",
		  .next = "conds for the condition; thread_states for what the workers do while "
			  "they are busy." },
	.metrics = metrics,
	.labels = labels,
};
