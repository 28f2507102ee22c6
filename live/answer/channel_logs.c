/* SPDX-License-Identifier: MIT */
/*
 * channel_logs.c - the last timed messages of one channel, newest first.
 */
#include <stdio.h>
#include <cjson/cJSON.h>
#include <stdlib.h>

#include "live/answer/lists.h"
#include "live/answer/logs.h"
#include "live/answer/report_snapshot.h"
#include "live/answer/shape.h"
#include "report/base/json.h"
#include "report/section/channel/section.h"
#include "report/base/format.h"

static const struct hp_channel_row *row_of(const struct hp_report *report, uint32_t id)
{
	const struct hp_channels *channels = hp_channel_view_channels(hp_channel_view(report));

	return id == 0 || id > channels->count ? NULL : &channels->rows[id - 1];
}

static uint64_t ns_of(const struct hp_report *report, uint64_t ticks)
{
	uint64_t start = report->model.reader.header.start.ticks;

	return ticks > start ? hp_whole((double)(ticks - start) * report->model.ns_per_tick) : 0;
}

static cJSON *message_new(const struct hp_snapshot *snapshot,
			  const struct hp_channel_message *message)
{
	const struct hp_message *record = &message->record;
	uint64_t at = ns_of(&snapshot->report, record->ticks);
	uint64_t now = snapshot->report.model.elapsed_ns;
	cJSON *log = cJSON_CreateObject();
	struct hp_text_cell cell;
	char text[32];

	hp_json_whole(log, "index", record->number);
	cJSON_AddStringToObject(log, "timestamp", hp_format_time(&cell, (double)at));
	cJSON_AddStringToObject(log, "ago",
				hp_ago_text(text, sizeof(text), now > at ? now - at : 0));
	if (message->text) {
		char *clean = hp_text_clean(message->text);

		cJSON_AddStringToObject(log, "message", clean);
		free(clean);
	} else {
		cJSON_AddNullToObject(log, "message");
	}
	hp_json_whole(log, "thread_id", record->tid);
	return log;
}

/* Null: not received yet. */
static void delay_add(const struct hp_report *report, const struct hp_message *record, cJSON *log)
{
	struct hp_text_cell cell;

	if (record->delay)
		cJSON_AddStringToObject(
			log, "delay",
			hp_format_time(&cell, (double)record->delay * report->model.ns_per_tick));
	else
		cJSON_AddNullToObject(log, "delay");
}

struct hp_answer *hp_logs_channel(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	const struct hp_channel_row *row = row_of(&snapshot->report, request->id);
	cJSON *list, *sent, *received;
	char id[16];

	if (!row)
		return hp_answer_error(404, "ids are those of /channels",
				       "Channel with id %u not found", request->id);
	list = cJSON_CreateObject();
	snprintf(id, sizeof(id), "%u", request->id);
	cJSON_AddStringToObject(list, "id", id);
	sent = cJSON_AddArrayToObject(list, "sent_logs");
	for (size_t i = 0; i < row->sent_shown; i++) {
		cJSON *log = message_new(snapshot, &row->sent[i]);

		delay_add(&snapshot->report, &row->sent[i].record, log);
		cJSON_AddItemToArray(sent, log);
	}
	received = cJSON_AddArrayToObject(list, "received_logs");
	for (size_t i = 0; i < row->received_shown; i++)
		cJSON_AddItemToArray(received, message_new(snapshot, &row->received[i]));
	return hp_answer_json(200, list);
}
