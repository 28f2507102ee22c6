/* SPDX-License-Identifier: MIT */
/*
 * runtime.c - see runtime.h.
 */
#include "report/section/loop/runtime.h"

#include <cjson/cJSON.h>
#include <math.h>

#include "report/base/json.h"
#include "report/section/loop/loop.h"

static void worker_add(const struct hp_report *report, const struct hp_loop_row *row,
		       uint64_t index, cJSON *workers)
{
	double busy_ns = (double)row->busy_ticks * report->model.ns_per_tick;
	double life = (double)row->busy_ticks + (double)row->wait_ticks;
	cJSON *worker = cJSON_CreateObject();

	hp_json_whole(worker, "index", index);
	hp_json_whole(worker, "park_count", row->record.parks);
	hp_json_rounded(worker, "busy_duration_ms", busy_ns / 1e6);
	hp_json_whole(worker, "poll_count", row->record.events);
	if (row->record.events)
		hp_json_rounded(worker, "mean_poll_time_us",
				busy_ns / 1e3 / (double)row->record.events);
	hp_json_whole(worker, "local_queue_depth", row->record.last_events);
	hp_json_whole(worker, "overflow_count", row->record.full);
	hp_json_text(worker, "label", row->name);
	cJSON_AddNumberToObject(worker, "busy_percent",
				life > 0 ? round(1e4 * (double)row->busy_ticks / life) / 1e2 : 0);
	hp_json_rounded(worker, "busy_max_ns",
			(double)row->record.span_most * report->model.ns_per_tick);
	cJSON_AddItemToArray(workers, worker);
}

void hp_runtime_add(struct hp_report *report, struct cJSON *to)
{
	const struct hp_loops *loops = hp_loops_of(report);
	cJSON *workers;
	uint64_t watched = 0, added = 0, removed = 0, events = 0, remote = 0;

	for (size_t i = 0; i < loops->count; i++) {
		const struct hp_loop *record = &loops->rows[i].record;

		watched += record->first ? record->watched : 0;
		added += record->registered;
		removed += record->deregistered;
		events += record->events;
		remote += record->woken_remote;
	}
	hp_json_whole(to, "num_workers", loops->count);
	hp_json_whole(to, "num_alive_tasks", watched);
	hp_json_whole(to, "global_queue_depth", 0);
	if (report->model.recorded & HP_RECORDED_CHANNELS)
		hp_json_whole(to, "remote_schedule_count", remote);
	hp_json_whole(to, "io_driver_fd_registered_count", added);
	hp_json_whole(to, "io_driver_fd_deregistered_count", removed);
	hp_json_whole(to, "io_driver_ready_count", events);
	workers = cJSON_AddArrayToObject(to, "workers");
	for (size_t i = 0; i < loops->count; i++)
		worker_add(report, &loops->rows[i], i, workers);
}
