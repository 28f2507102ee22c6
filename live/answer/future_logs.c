/* SPDX-License-Identifier: MIT */
/*
 * future_logs.c - the last calls of one future, those in flight among them; newest first.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>

#include "live/answer/logs.h"
#include "live/answer/report_snapshot.h"
#include "report/base/json.h"
#include "report/base/memory.h"
#include "report/section/future/future.h"

static const struct hp_future_row *row_of(struct hp_report *report, uint32_t id)
{
	const struct hp_futures *futures = hp_futures_named(report);

	return id && id <= futures->count ? &futures->rows[id - 1] : NULL;
}

static void ns_add(cJSON *object, const char *key, const struct hp_report *report, uint64_t ticks)
{
	hp_json_rounded(object, key, (double)ticks * report->model.ns_per_tick);
}

static cJSON *call_new(const struct hp_report *report, const struct hp_future_row *row,
		       const struct hp_future_call *of)
{
	const struct hp_future_entry *entry = &of->entry;
	cJSON *call = cJSON_CreateObject();

	hp_json_whole(call, "id", entry->number);
	hp_json_whole(call, "future_id", row->id);
	cJSON_AddStringToObject(call, "state", hp_future_state_name(entry->state));
	hp_json_whole(call, "poll_count", entry->polls);
	hp_json_whole(call, "sampled_polls", entry->timed);
	ns_add(call, "total_poll_duration_ns", report, entry->poll_ticks);
	ns_add(call, "max_poll_duration_ns", report, entry->poll_most);
	ns_add(call, "last_poll_duration_ns", report, entry->poll_last);
	hp_json_whole(call, "total_poll_alloc_bytes", entry->alloc_bytes);
	hp_json_whole(call, "total_poll_alloc_count", entry->alloc_blocks);
	hp_json_whole(call, "max_poll_alloc_bytes", entry->alloc_most);
	hp_json_whole(call, "last_poll_alloc_bytes", entry->alloc_last);
	if (entry->queued)
		ns_add(call, "queued_ns", report, entry->queued);
	if (entry->created && entry->ended > entry->created)
		ns_add(call, "duration_ns", report, entry->ended - entry->created);
	if (of->text)
		hp_json_text(call, "result", of->text);
	else
		cJSON_AddNullToObject(call, "result");
	return call;
}

struct hp_answer *hp_logs_future(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	struct hp_report *report = &snapshot->report;
	const struct hp_future_row *row = row_of(report, request->id);
	cJSON *list, *array;
	char *id;

	if (!row)
		return hp_answer_error(404, "ids are those of /futures", "No future with id %u",
				       request->id);
	list = cJSON_CreateObject();
	id = hp_xprintf("%u", row->id);
	cJSON_AddStringToObject(list, "id", id);
	free(id);
	hp_json_whole(list, "call_count", row->calls);
	hp_json_whole(list, "total_polls", row->polls);
	ns_add(list, "total_poll_duration_ns", report, row->poll_ticks);
	hp_json_whole(list, "total_poll_alloc_bytes", row->alloc_bytes);
	hp_json_whole(list, "total_poll_alloc_count", row->alloc_blocks);
	array = cJSON_AddArrayToObject(list, "calls");
	for (size_t i = 0; i < row->log_count; i++)
		cJSON_AddItemToArray(array, call_new(report, row, &row->logs[i]));
	return hp_answer_json(200, list);
}
