/* SPDX-License-Identifier: MIT */
/*
 * logs.c - see logs.h.
 *
 * Newest first.  The crate's server numbers that list upwards, so that its
 * newest call has the smallest number.  Here the newest call has the highest
 * number, as its console shows it.
 */
#include "live/answer/logs.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/answer/lists.h"
#include "live/answer/report_snapshot.h"
#include "live/answer/shape.h"
#include "report/base/format.h"
#include "report/base/json.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"

#define SECOND UINT64_C(1000000000)

const char *hp_ago_text(char *room, size_t size, uint64_t ns)
{
	uint64_t seconds = ns / SECOND;

	if (!seconds)
		snprintf(room, size, "now");
	else if (seconds < 60)
		snprintf(room, size, "%" PRIu64 "s ago", seconds);
	else if (seconds < 3600)
		snprintf(room, size, "%" PRIu64 "m ago", seconds / 60);
	else
		snprintf(room, size, "%" PRIu64 "h ago", seconds / 3600);
	return room;
}

const struct hp_model_function *hp_logs_function(struct hp_snapshot *snapshot, uint32_t id)
{
	struct hp_report *report = &snapshot->report;
	size_t count = report->model.function_count, i = 0;

	while (i <= count && snapshot->function_ids[i] != id)
		i++;
	if (i == count && report->wrapper == &report->life)
		return &report->life;
	return i < count && report->model.functions[i].calls ? &report->model.functions[i] : NULL;
}

static struct hp_answer *no_function(uint32_t id)
{
	return hp_answer_error(404, "ids are those of /functions_timing",
			       "Function with id %u not found", id);
}

static cJSON *log_new(const struct hp_snapshot *snapshot, const struct hp_model_call *call,
		      uint64_t invocation)
{
	uint64_t end = call->start_ns + call->ns, now = snapshot->report.model.elapsed_ns;
	struct hp_text_cell cell;
	char text[32];
	cJSON *log = cJSON_CreateObject();

	hp_json_whole(log, "invocation", invocation);
	cJSON_AddStringToObject(log, "duration", hp_format_time(&cell, (double)call->ns));
	cJSON_AddStringToObject(log, "timestamp", hp_format_time(&cell, (double)end));
	cJSON_AddStringToObject(log, "ago",
				hp_ago_text(text, sizeof(text), now > end ? now - end : 0));
	hp_json_whole(log, "thread_id", call->tid);
	hp_json_text(log, "result", call->result);
	return log;
}

static void raw_add(cJSON *array, const struct hp_model_call *call)
{
	cJSON *one = cJSON_CreateObject();

	hp_json_whole(one, "start_ns", call->start_ns);
	hp_json_whole(one, "ns", call->ns);
	hp_json_whole(one, "tid", call->tid);
	cJSON_AddItemToArray(array, one);
}

static void slowest_add(struct hp_snapshot *snapshot, const struct hp_model_function *f,
			cJSON *list)
{
	cJSON *array = cJSON_AddArrayToObject(list, "slowest");
	struct hp_call slowest[HP_SLOWEST];

	hp_model_slowest(&snapshot->report.model, f, slowest);
	for (int i = 0; i < HP_SLOWEST && slowest[i].ticks; i++) {
		struct hp_model_call call = hp_model_call(&snapshot->report.model, &slowest[i]);

		raw_add(array, &call);
	}
}

struct hp_answer *hp_logs_timing(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	const struct hp_model_function *f = hp_logs_function(snapshot, request->id);
	struct hp_model_call last[HP_LAST_MAX];
	struct hp_source source;
	size_t count;
	cJSON *list, *logs, *raw;

	if (!f)
		return no_function(request->id);
	count = hp_model_last_calls(&snapshot->report.model, f, last, HP_LAST_MAX);
	list = cJSON_CreateObject();
	cJSON_AddStringToObject(list, "function_name", hp_report_name(&snapshot->report, f));
	if (hp_report_source(&snapshot->report, f, &source))
		hp_json_location(list, source.file, source.line, source.column);
	hp_json_whole(list, "total_invocations", f->calls);
	logs = cJSON_AddArrayToObject(list, "logs");
	raw = cJSON_AddArrayToObject(list, "raw");
	for (size_t i = 0; i < count; i++) {
		cJSON_AddItemToArray(logs, log_new(snapshot, &last[i], f->calls - i));
		raw_add(raw, &last[i]);
		free(last[i].result);
	}
	slowest_add(snapshot, f, list);
	if (!count)
		cJSON_AddStringToObject(list, "message",
					f->calls ? "none of its calls has ended"
						 : "it was not called");
	hp_shape_fit_logs(list, snapshot->settings.api);
	return hp_answer_json(200, list);
}

static uint64_t number_of(const cJSON *row, const char *key)
{
	const cJSON *value = cJSON_GetObjectItemCaseSensitive(row, key);

	if (cJSON_IsRaw(value))	/* an integer, see report/base/json.h */
		return strtoull(value->valuestring, NULL, 10);
	return cJSON_IsNumber(value) ? hp_whole(value->valuedouble) : 0;
}

/* `call` is one of `last_calls` in report/section/memory/function.c. */
static cJSON *alloc_log_new(const struct hp_snapshot *snapshot, const cJSON *call,
			    uint64_t invocation)
{
	bool is_whole = snapshot->settings.alloc_cumulative;
	uint64_t at = number_of(call, "at_ns"), now = snapshot->report.model.elapsed_ns;
	struct hp_text_cell cell;
	char text[32];
	cJSON *log = cJSON_CreateObject();

	hp_json_whole(log, "invocation", invocation);
	cJSON_AddStringToObject(
		log, "bytes",
		hp_format_bytes(&cell, number_of(call, is_whole ? "inclusive_bytes" : "bytes")));
	hp_json_whole(log, "alloc_count",
		      number_of(call, is_whole ? "inclusive_count" : "alloc_count"));
	cJSON_AddStringToObject(log, "timestamp", hp_format_time(&cell, (double)at));
	cJSON_AddStringToObject(log, "ago",
				hp_ago_text(text, sizeof(text), now > at ? now - at : 0));
	hp_json_whole(log, "thread_id", number_of(call, "tid"));
	return log;
}

/* All rows of the section in JSON. */
static cJSON *alloc_rows(struct hp_snapshot *snapshot)
{
	uint64_t limit = snapshot->settings.limit;
	cJSON *list;

	snapshot->settings.limit = snapshot->settings.entries_limit;
	list = hp_list_json(snapshot, &hp_alloc_functions_section);
	snapshot->settings.limit = limit;
	return list;
}

/* Only calls that allocated leave a record, so only they are numbered. */
struct hp_answer *hp_logs_alloc(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	cJSON *rows = alloc_rows(snapshot), *row, *list, *logs;
	const cJSON *calls, *call;
	uint64_t invocation;

	cJSON_ArrayForEach(row, cJSON_GetObjectItemCaseSensitive(rows, "raw"))
	{
		if (number_of(row, "id") == request->id)
			break;
	}
	if (!row) {
		cJSON_Delete(rows);
		return no_function(request->id);
	}
	list = cJSON_CreateObject();
	cJSON_AddItemToObject(list, "function_name",
			      cJSON_DetachItemFromObjectCaseSensitive(row, "name"));
	hp_json_whole(list, "total_invocations", number_of(row, "calls"));
	logs = cJSON_AddArrayToObject(list, "logs");
	calls = cJSON_GetObjectItemCaseSensitive(row, "last_calls");
	invocation = number_of(row, "allocating_calls");
	cJSON_ArrayForEach(call, calls) cJSON_AddItemToArray(
		logs, alloc_log_new(snapshot, call, invocation ? invocation-- : 0));
	if (!calls)
		cJSON_AddStringToObject(
			list, "message",
			"single calls are recorded only for functions compiled with the flags of hotpath flags");
	cJSON_Delete(rows);
	return hp_answer_json(200, list);
}

struct hp_answer *hp_logs_none(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	(void)snapshot;
	return hp_answer_error(404, "ids come from the list, which is still empty",
			       "No %s with id %u", request->route->noun, request->id);
}
