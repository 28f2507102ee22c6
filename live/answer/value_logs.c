/* SPDX-License-Identifier: MIT */
/*
 * value_logs.c - the last changes of one value, those that were logged; newest first.  And the list by kind.
 */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "live/answer/lists.h"
#include "live/answer/logs.h"
#include "live/answer/report_snapshot.h"
#include "report/base/format.h"
#include "report/base/json.h"
#include "report/section/core/list.h"
#include "report/section/value/value.h"

static const struct hp_value_row *row_of(struct hp_report *report, uint32_t id, uint32_t kind)
{
	const struct hp_values *values = hp_values_of(report);

	for (size_t i = 0; i < values->count; i++)
		if (values->rows[i].id == id && values->rows[i].kind == kind)
			return &values->rows[i];
	return NULL;
}

static uint64_t ns_of(const struct hp_report *report, uint64_t ticks)
{
	uint64_t start = report->model.reader.header.start.ticks;

	return ticks > start ? hp_whole((double)(ticks - start) * report->model.ns_per_tick) : 0;
}

static cJSON *log_new(const struct hp_report *report, const struct hp_value_row *row,
		      const struct hp_value_seen *seen)
{
	uint64_t at = ns_of(report, seen->ticks), now = report->model.elapsed_ns;
	cJSON *log = cJSON_CreateObject();
	char *text = hp_shown_text(seen);
	struct hp_text_cell cell;
	char room[32];

	hp_json_whole(log, "index", seen->number);
	cJSON_AddStringToObject(log, "timestamp", hp_format_time(&cell, (double)at));
	cJSON_AddStringToObject(log, "ago",
				hp_ago_text(room, sizeof(room), now > at ? now - at : 0));
	cJSON_AddStringToObject(log, "value", text);
	hp_json_whole(log, "thread_id", seen->tid);
	if (row->kind == HP_VALUE_VAL && seen->source)
		hp_json_text(log, "source", seen->source);
	free(text);
	return log;
}

static struct hp_answer *logs(struct hp_snapshot *snapshot, const struct hp_request *request,
			      uint32_t kind)
{
	const struct hp_value_row *row = row_of(&snapshot->report, request->id, kind);
	cJSON *list, *array;

	if (!row)
		return hp_answer_error(404, "ids are those of /debug", "No %s entry with id %u",
				       hp_value_kind_name(kind), request->id);
	list = cJSON_CreateObject();
	if (kind == HP_VALUE_DBG) {
		char *source = hp_value_source(row->file ? row->file : "?", row->line);

		hp_json_text(list, "source", source);
		free(source);
	}
	hp_json_text(list, kind == HP_VALUE_DBG ? "expression" : "key", row->name);
	hp_json_whole(list, "total_logs", row->count);
	array = cJSON_AddArrayToObject(list, "logs");
	for (size_t i = 0; i < row->log_count; i++)
		cJSON_AddItemToArray(array, log_new(&snapshot->report, row, &row->logs[i]));
	if (row->is_free)
		cJSON_AddStringToObject(list, "message",
					"a gauge that the program does not set has no log");
	return hp_answer_json(200, list);
}

struct hp_answer *hp_logs_dbg(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	return logs(snapshot, request, HP_VALUE_DBG);
}

struct hp_answer *hp_logs_val(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	return logs(snapshot, request, HP_VALUE_VAL);
}

struct hp_answer *hp_logs_gauge(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	return logs(snapshot, request, HP_VALUE_GAUGE);
}

/* --- of one kind --- */

/* The entries of the list that are of this kind, as the answers of the Rust crate's tools. */
static struct hp_answer *of_kind(struct hp_snapshot *snapshot, uint32_t kind)
{
	cJSON *list = hp_list_json(snapshot, &hp_debug_section), *array = cJSON_CreateArray();
	cJSON *rows = cJSON_GetObjectItemCaseSensitive(list, "entries"),
	      *row = rows ? rows->child : NULL;

	while (row) {
		cJSON *next = row->next;
		const char *type =
			cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, "entry_type"));

		if (type && strcmp(type, hp_value_kind_name(kind)) == 0)
			cJSON_AddItemToArray(array, cJSON_DetachItemViaPointer(rows, row));
		row = next;
	}
	cJSON_Delete(list);
	return hp_answer_json(200, array);
}

struct hp_answer *hp_values_dbg(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	(void)request;
	return of_kind(snapshot, HP_VALUE_DBG);
}

struct hp_answer *hp_values_val(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	(void)request;
	return of_kind(snapshot, HP_VALUE_VAL);
}

struct hp_answer *hp_values_gauge(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	(void)request;
	return of_kind(snapshot, HP_VALUE_GAUGE);
}
