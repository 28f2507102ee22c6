/* SPDX-License-Identifier: MIT */
/*
 * stream_logs.c - the last items of one stream that were logged, newest first.
 */
#include <cjson/cJSON.h>
#include <stdio.h>

#include "live/answer/logs.h"
#include "live/answer/report_snapshot.h"
#include "report/base/format.h"
#include "report/base/json.h"
#include "report/section/stream/stream.h"

static cJSON *log_new(const struct hp_report *report, const struct hp_stream_item *item)
{
	const struct hp_stream_entry *record = &item->record;
	uint64_t start = report->model.reader.header.start.ticks, now = report->model.elapsed_ns;
	double ticks = record->ticks > start ? (double)(record->ticks - start) : 0;
	uint64_t at = (uint64_t)(ticks * report->model.ns_per_tick);
	cJSON *log = cJSON_CreateObject();
	struct hp_text_cell cell;
	char room[32];

	hp_json_whole(log, "index", record->item);
	cJSON_AddStringToObject(log, "timestamp", hp_format_time(&cell, (double)at));
	cJSON_AddStringToObject(log, "ago",
				hp_ago_text(room, sizeof(room), now > at ? now - at : 0));
	if (item->text)
		hp_json_text(log, "message", item->text);
	else
		cJSON_AddNullToObject(log, "message");
	hp_json_whole(log, "thread_id", record->tid);
	return log;
}

struct hp_answer *hp_logs_stream(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	const struct hp_streams *streams = hp_streams_named(&snapshot->report);
	const struct hp_stream_row *row;
	cJSON *list, *array;
	char id[16];

	if (!request->id || request->id > streams->count)
		return hp_answer_error(404, "ids are those of /streams",
				       "Stream with id %u not found", request->id);
	row = &streams->rows[request->id - 1];
	list = cJSON_CreateObject();
	snprintf(id, sizeof(id), "%u", request->id);
	cJSON_AddStringToObject(list, "id", id);
	array = cJSON_AddArrayToObject(list, "logs");
	for (size_t i = 0; i < row->log_count; i++)
		cJSON_AddItemToArray(array, log_new(&snapshot->report, &row->logs[i]));
	return hp_answer_json(200, list);
}
