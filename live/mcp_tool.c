/* SPDX-License-Identifier: MIT */
/*
 * mcp_tool.c - see mcp_tool.h.
 *
 * An agent reads what it gets to the last byte, so answers are bounded: in rows,
 * in each array, and as a whole.  What was cut says so in `truncated`.
 */
#include "live/mcp_tool.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/memory.h"

#define ROWS_USUAL 20
#define ROWS_MOST 1000
#define TEXT_MOST (512 << 10)	/* bytes of an answer */

#define LIST(name, path, help) \
	{ \
		name, "GET", path, NULL, HP_MCP_LIST, NULL, help \
	}
#define LOGS(name, path, id, help) \
	{ \
		name, "GET", path, id, HP_MCP_LOGS, NULL, help \
	}
#define ONE(name, method, path, help) \
	{ \
		name, method, path, NULL, HP_MCP_OBJECT, NULL, help \
	}

static const struct hp_mcp_tool tools[] = {
	ONE("profiler_status", "GET", "/profiler_status",
	    "The profiled program, since when it runs, and what profiling costs it. Ask it first."),
	{ "explain", NULL, NULL, NULL, HP_MCP_OBJECT, NULL,
	  "What the answer of a tool means, how far its numbers can be relied on, and what to ask "
	  "next. Give the tool's name as topic; without one, all topics." },
	{ "hot_path", "GET", "/calltree", NULL, HP_MCP_LIST, "tree",
	  "The chain of calls in which most time was spent, from the outermost function down." },
	LIST("functions_timing", "/functions_timing",
	     "Functions by time: calls, mean, percentiles, total, and share of the run. Only "
	     "functions compiled with the flags of `hotpath flags` are in it."),
	LOGS("function_timing_logs", "/functions_timing", "function_id",
	     "The last calls of one function, and its slowest ones."),
	LIST("functions_alloc", "/functions_alloc", "Functions by what they allocate."),
	LOGS("function_alloc_logs", "/functions_alloc", "function_id",
	     "What the last calls of one function allocated."),
	ONE("functions_cpu", "GET", "/functions_cpu",
	    "Samples of the CPU by function: `now` since the start, `report` of the last snapshot. "
	    "Works without compiling anything anew."),
	ONE("functions_cpu_snapshot", "POST", "/functions_cpu/snapshot",
	    "Takes a snapshot of the CPU's samples; functions_cpu shows it when it is ready."),
	LIST("top_allocation_sites", "/alloc_sites", "Call paths by what they allocate."),
	LIST("leaks", "/leaks", "Call paths by what they allocated and nobody has freed yet."),
	LIST("threads", "/threads", "Threads: state, CPU time, memory."),
	LIST("offcpu", "/offcpu", "Where threads wait instead of running, by call path."),
	LIST("mutexes", "/mutexes", "Mutexes: how often taken, how long waited for and held."),
	LIST("rw_locks", "/rw_locks", "Reader-writer locks, the same."),
	LIST("conds", "/conds", "Condition variables: waits and wake-ups."),
	LIST("sems", "/sems", "Semaphores: waits and posts."),
	LIST("barriers", "/barriers", "Barriers: how long threads wait for the last one."),
	LIST("who_waits_for_whom", "/waits",
	     "Waits for locks: which place waited for which other place that held it."),
	LIST("waiting_now", "/waiting",
	     "Threads that wait for a lock at this moment, and for whom."),
	LIST("lock_order", "/lock_order",
	     "Locks taken while another one was held; both ways round is a deadlock to come."),
	LIST("channels", "/channels",
	     "Channels between threads and processes: messages, queue, delay."),
	LOGS("channel_logs", "/channels", "channel_id", "The last messages of one channel."),
	LIST("streams", "/streams", "Streams: items and their pace."),
	LOGS("stream_logs", "/streams", "stream_id", "The last items of one stream."),
	LIST("futures", "/futures", "Futures: polls and outcomes."),
	LOGS("future_logs", "/futures", "future_id", "The last polls of one future."),
	LIST("sql", "/sql", "Queries by time."),
	LOGS("sql_logs", "/sql", "sql_id", "The last runs of one query."),
	LIST("http", "/http", "HTTP requests that the program makes, by time."),
	LOGS("http_logs", "/http", "http_id", "The last requests to one endpoint."),
	LIST("server", "/server", "HTTP requests that the program serves, by time."),
	LOGS("server_logs", "/server", "server_id", "The last requests to one route."),
	LIST("io", "/io", "Reads and writes by file or socket."),
	LIST("gauges", "/debug", "Gauges that the program sets."),
	LOGS("gauge_logs", "/debug/gauge", "gauge_id", "The last values of one gauge."),
	LIST("dbg_entries", "/debug", "Expressions that the program logs."),
	LOGS("dbg_logs", "/debug/dbg", "debug_id", "The last values of one expression."),
	LIST("val_entries", "/debug", "Values that the program logs."),
	LOGS("val_logs", "/debug/val", "debug_id", "The last values of one."),
	ONE("tokio_runtime", "GET", "/tokio_runtime", "The event loop, if the program has one."),
	LIST("sessions", "/sessions", "Profiled programs of this user that run now."),
};

#define TOOLS (sizeof(tools) / sizeof(tools[0]))

const struct hp_mcp_tool *hp_mcp_tool_find(const char *name)
{
	for (size_t i = 0; i < TOOLS; i++)
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	return NULL;
}

/* --- schemas: JSON Schema 2020-12 --- */

static cJSON *property_add(cJSON *schema, const char *name, const char *type, const char *help)
{
	cJSON *properties = cJSON_GetObjectItemCaseSensitive(schema, "properties");
	cJSON *property = cJSON_AddObjectToObject(properties, name);

	cJSON_AddStringToObject(property, "type", type);
	cJSON_AddStringToObject(property, "description", help);
	return property;
}

static cJSON *schema_new(void)
{
	cJSON *schema = cJSON_CreateObject();

	cJSON_AddStringToObject(schema, "type", "object");
	cJSON_AddObjectToObject(schema, "properties");
	return schema;
}

static void require(cJSON *schema, const char *name)
{
	cJSON *required = cJSON_GetObjectItemCaseSensitive(schema, "required");

	if (!required)
		required = cJSON_AddArrayToObject(schema, "required");
	cJSON_AddItemToArray(required, cJSON_CreateString(name));
}

static cJSON *input_schema(const struct hp_mcp_tool *tool)
{
	cJSON *schema = schema_new(), *property;

	if (tool->id) {
		property = property_add(schema, tool->id, "integer", "id of a row of the list");
		cJSON_AddNumberToObject(property, "minimum", 0);
		cJSON_AddNumberToObject(property, "maximum", UINT32_MAX);
		require(schema, tool->id);
	}
	if (!tool->method)
		property_add(schema, "topic", "string", "name of a tool; without it, all");
	if (tool->method && tool->shape != HP_MCP_OBJECT) {
		property = property_add(schema, "limit", "integer", "rows at most");
		cJSON_AddNumberToObject(property, "minimum", 1);
		cJSON_AddNumberToObject(property, "maximum", ROWS_MOST);
		cJSON_AddNumberToObject(property, "default", ROWS_USUAL);
	}
	cJSON_AddFalseToObject(schema, "additionalProperties");
	return schema;
}

static cJSON *output_schema(const struct hp_mcp_tool *tool)
{
	cJSON *schema = schema_new();

	if (tool->shape == HP_MCP_LIST) {
		property_add(schema, "data", "array", "rows as texts for people");
		property_add(schema, "raw", "array",
			     "the same rows as numbers, whose names end in their unit");
		property_add(schema, "total_count", "integer", "rows there are");
		property_add(schema, "included_count", "integer", "rows that are here");
		property_add(schema, "message", "string", "why there are none");
	}
	property_add(schema, "truncated", "boolean", "more was known than fitted in here");
	require(schema, "truncated");
	return schema;
}

cJSON *hp_mcp_tools(void)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t i = 0; i < TOOLS; i++) {
		cJSON *tool = cJSON_CreateObject(), *hints;

		cJSON_AddStringToObject(tool, "name", tools[i].name);
		cJSON_AddStringToObject(tool, "description", tools[i].help);
		cJSON_AddItemToObject(tool, "inputSchema", input_schema(&tools[i]));
		cJSON_AddItemToObject(tool, "outputSchema", output_schema(&tools[i]));
		hints = cJSON_AddObjectToObject(tool, "annotations");
		cJSON_AddBoolToObject(hints, "readOnlyHint",
				      !tools[i].method || strcmp(tools[i].method, "GET") == 0);
		cJSON_AddFalseToObject(hints, "destructiveHint");
		cJSON_AddFalseToObject(hints, "openWorldHint");
		cJSON_AddItemToArray(array, tool);
	}
	return array;
}

/* --- arguments --- */

/* A whole number, or a text of digits: clients of the Rust crate send ids so. */
static bool number_read(const cJSON *json, double least, double most, uint32_t *number)
{
	double value = json->valuedouble;

	if (cJSON_IsString(json)) {
		size_t digits = strspn(json->valuestring, "0123456789");

		if (!digits || digits > 10 || json->valuestring[digits])
			return false;
		value = strtod(json->valuestring, NULL);
	} else if (!cJSON_IsNumber(json)) {
		return false;
	}
	if (!(value >= least && value <= most) || value != floor(value))
		return false;
	*number = (uint32_t)value;
	return true;
}

static char *argument_take(const struct hp_mcp_tool *tool, const cJSON *item,
			   struct hp_mcp_arguments *arguments)
{
	if (tool->id && strcmp(item->string, tool->id) == 0)
		return number_read(item, 0, UINT32_MAX, &arguments->id)
			       ? NULL
			       : hp_xprintf("%s has to be the id of a row of the list: a whole "
					    "number",
					    tool->id);
	if (!tool->method && strcmp(item->string, "topic") == 0) {
		arguments->topic = cJSON_IsString(item) ? item->valuestring : NULL;
		return arguments->topic ? NULL : hp_xstrdup("topic has to be the name of a tool");
	}
	if (tool->method && tool->shape != HP_MCP_OBJECT && strcmp(item->string, "limit") == 0)
		return number_read(item, 1, ROWS_MOST, &arguments->limit)
			       ? NULL
			       : hp_xprintf("limit has to be a whole number from 1 to %d",
					    ROWS_MOST);
	return hp_xprintf("%s has no argument '%.64s'; tools/list shows its inputSchema",
			  tool->name, item->string);
}

char *hp_mcp_arguments_read(const struct hp_mcp_tool *tool, const cJSON *json,
			    struct hp_mcp_arguments *arguments)
{
	const cJSON *item;
	char *error;

	*arguments = (struct hp_mcp_arguments){ .limit = ROWS_USUAL };
	if (json && !cJSON_IsObject(json))
		return hp_xstrdup("arguments have to be an object");
	cJSON_ArrayForEach(item, json)
	{
		error = argument_take(tool, item, arguments);
		if (error)
			return error;
	}
	if (tool->id && !cJSON_GetObjectItemCaseSensitive(json, tool->id))
		return hp_xprintf("%s is missing: the id of a row of the list", tool->id);
	return NULL;
}

/* --- results --- */

/* Cuts arrays of rows to the limit, in objects within, too. */
static bool cut(cJSON *object, uint32_t limit)
{
	bool is_cut = false;
	cJSON *item;

	cJSON_ArrayForEach(item, object)
	{
		if (cJSON_IsObject(item))
			is_cut |= cut(item, limit);
		if (!cJSON_IsArray(item) || !cJSON_IsObject(cJSON_GetArrayItem(item, (int)limit)))
			continue;
		is_cut = true;
		while (cJSON_GetArrayItem(item, (int)limit))
			cJSON_DeleteItemFromArray(item, (int)limit);
	}
	return is_cut;
}

static bool is_partial(const cJSON *json)
{
	const cJSON *total = cJSON_GetObjectItemCaseSensitive(json, "total_count");
	const cJSON *included = cJSON_GetObjectItemCaseSensitive(json, "included_count");

	return total && included && included->valuedouble < total->valuedouble;
}

static cJSON *content_new(const char *text)
{
	cJSON *result = cJSON_CreateObject(), *block = cJSON_CreateObject();

	cJSON_AddStringToObject(block, "type", "text");
	cJSON_AddStringToObject(block, "text", text);
	cJSON_AddItemToArray(cJSON_AddArrayToObject(result, "content"), block);
	return result;
}

cJSON *hp_mcp_failure(const char *text)
{
	cJSON *result = content_new(text);

	cJSON_AddTrueToObject(result, "isError");
	return result;
}

/* {"error": ..., "hint": ...} as one line. */
static cJSON *refused(const cJSON *json)
{
	const char *error = cJSON_GetStringValue(cJSON_GetObjectItem(json, "error"));
	const char *hint = cJSON_GetStringValue(cJSON_GetObjectItem(json, "hint"));
	char *text = hp_xprintf("%s%s%s", error ? error : "The program cannot be read",
				hint ? " - " : "", hint ? hint : "");
	cJSON *result = hp_mcp_failure(text);

	free(text);
	return result;
}

static cJSON *success(const struct hp_mcp_tool *tool, const struct hp_mcp_arguments *arguments,
		      cJSON *json)
{
	bool is_cut, is_short;
	cJSON *result;
	char *text;

	if (tool->drop)
		cJSON_DeleteItemFromObjectCaseSensitive(json, tool->drop);
	is_cut = tool->method && cut(json, arguments->limit);
	cJSON_AddBoolToObject(json, "truncated", is_cut || is_partial(json));
	text = cJSON_PrintUnformatted(json);
	is_short = text && strlen(text) <= TEXT_MOST;
	result = is_short ? content_new(text)
			  : hp_mcp_failure("The answer is longer than 512 KiB: give a lower limit");
	if (is_short) {
		cJSON_AddRawToObject(result, "structuredContent", text);
		cJSON_AddFalseToObject(result, "isError");
	}
	free(text);
	return result;
}

cJSON *hp_mcp_result(const struct hp_mcp_tool *tool, const struct hp_mcp_arguments *arguments,
		     const struct hp_answer *answer)
{
	cJSON *json = cJSON_ParseWithLength(answer->body, answer->size), *result;

	if (cJSON_IsArray(json)) {	/* a result has to be an object */
		cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToObject(object, "data", json);
		json = object;
	}
	result = answer->status >= 400 || !cJSON_IsObject(json) ? refused(json)
								: success(tool, arguments, json);
	cJSON_Delete(json);
	return result;
}
