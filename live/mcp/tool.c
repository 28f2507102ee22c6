/* SPDX-License-Identifier: MIT */
/*
 * tool.c - see tool.h.
 *
 * An agent reads what it gets to the last byte, so answers are bounded: in rows,
 * in each array, and as a whole.  What was cut says so in `truncated`.
 */
#include "live/mcp/tool.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "live/mcp/schema.h"
#include "report/base/memory.h"

#define TEXT_MOST (512 << 10)	/* bytes of an answer */

#define LIST(name, path, help) \
	{ \
		name, HP_MCP_ROUTE, "GET", path, NULL, HP_MCP_LIST, NULL, help \
	}
#define LOGS(name, path, id, help) \
	{ \
		name, HP_MCP_ROUTE, "GET", path, id, HP_MCP_LOGS, NULL, help \
	}
#define ONE(name, method, path, help) \
	{ \
		name, HP_MCP_ROUTE, method, path, NULL, HP_MCP_OBJECT, NULL, help \
	}
#define OWN(name, kind, help) \
	{ \
		name, kind, NULL, NULL, NULL, HP_MCP_OBJECT, NULL, help \
	}

static const struct hp_mcp_tool tools[] = {
	ONE("profiler_status", "GET", "/profiler_status",
	    "The profiled program, since when it runs, and what profiling costs it. Ask it first."),
	OWN("explain", HP_MCP_EXPLAIN,
	    "What the answer of a tool means, how far its numbers can be relied on, and what to ask "
	    "next. Give the tool's name as topic; without one, all topics."),
	OWN("sessions", HP_MCP_SESSIONS, "Profiled programs of this user that run now."),
	OWN("choose_session", HP_MCP_CHOOSE,
	    "Asks another program from now on: one of sessions by its pid, or a run of runs that is "
	    "over. Answers as profiler_status does."),
	OWN("runs", HP_MCP_RUNS, "Runs that are over and were kept, the newest first."),
	OWN("compare", HP_MCP_COMPARE,
	    "What became more and what less between two runs of runs, beyond the error of both: "
	    "time and CPU by function, bytes by call path, waits. Takes some seconds."),
	{ "hot_path", HP_MCP_ROUTE, "GET", "/calltree", NULL, HP_MCP_LIST, "tree",
	  "The chain of calls in which most time was spent, from the outermost function down." },
	LIST("functions_timing", "/functions_timing",
	     "Functions by time: calls, mean, percentiles, total, and share of the run. Only "
	     "functions compiled with the flags of `hotpath flags` are in it."),
	LOGS("function_timing_logs", "/functions_timing/{id}/logs", "function_id",
	     "The last calls of one function, and its slowest ones."),
	LOGS("callers", "/functions_timing/{id}/callers", "function_id",
	     "Who calls one function, over all paths and level by level: its calls and its time from "
	     "there. `parent` is the id of the row that a row hangs on: the one it calls."),
	LOGS("callees", "/functions_timing/{id}/callees", "function_id",
	     "Whom one function calls, over all paths and level by level."),
	LIST("functions_alloc", "/functions_alloc", "Functions by what they allocate."),
	LOGS("function_alloc_logs", "/functions_alloc/{id}/logs", "function_id",
	     "What the last calls of one function allocated, of those that did."),
	ONE("functions_cpu", "GET", "/functions_cpu",
	    "Samples of the CPU by function: `now` since the start, `report` of the last snapshot. "
	    "Works without compiling anything anew."),
	ONE("functions_cpu_snapshot", "POST", "/functions_cpu/snapshot",
	    "Takes a snapshot of the CPU's samples; functions_cpu shows it when it is ready."),
	LIST("top_allocation_sites", "/alloc_sites", "Call paths by what they allocate."),
	LIST("leaks", "/leaks", "Call paths by what they allocated and nobody has freed yet."),
	LIST("alloc_sizes", "/alloc_sizes",
	     "How large blocks are, estimated from blocks that were drawn at random."),
	LIST("alloc_lives", "/alloc_lives",
	     "How long blocks live until they are freed, estimated as alloc_sizes."),
	LIST("direct_maps", "/direct_maps",
	     "Memory that the program maps itself, by call path: not of malloc."),
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
	LOGS("channel_logs", "/channels/{id}/logs", "channel_id",
	     "The last messages of one channel."),
	LIST("streams", "/streams", "Streams: items and their pace."),
	LOGS("stream_logs", "/streams/{id}/logs", "stream_id", "The last items of one stream."),
	LIST("futures", "/futures", "Futures: polls and outcomes."),
	LOGS("future_logs", "/futures/{id}/logs", "future_id", "The last polls of one future."),
	LIST("sql", "/sql", "Queries by time."),
	LOGS("sql_logs", "/sql/{id}/logs", "sql_id", "The last runs of one query."),
	LIST("http", "/http", "HTTP requests that the program makes, by time."),
	LOGS("http_logs", "/http/{id}/logs", "http_id", "The last requests to one endpoint."),
	LIST("server", "/server", "HTTP requests that the program serves, by time."),
	LOGS("server_logs", "/server/{id}/logs", "server_id", "The last requests to one route."),
	LIST("io", "/io", "Reads and writes by file or socket."),
	LIST("gauges", "/debug", "Gauges that the program sets."),
	LOGS("gauge_logs", "/debug/gauge/{id}/logs", "gauge_id", "The last values of one gauge."),
	LIST("dbg_entries", "/debug", "Expressions that the program logs."),
	LOGS("dbg_logs", "/debug/dbg/{id}/logs", "debug_id", "The last values of one expression."),
	LIST("val_entries", "/debug", "Values that the program logs."),
	LOGS("val_logs", "/debug/val/{id}/logs", "debug_id", "The last values of one."),
	ONE("tokio_runtime", "GET", "/tokio_runtime", "The event loop, if the program has one."),
};

#define TOOLS (sizeof(tools) / sizeof(tools[0]))

const struct hp_mcp_tool *hp_mcp_tool_find(const char *name)
{
	for (size_t i = 0; i < TOOLS; i++)
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	return NULL;
}

static char *tools_text(bool can_choose)
{
	cJSON *array = cJSON_CreateArray();
	char *text;

	for (size_t i = 0; i < TOOLS; i++) {
		cJSON *tool, *hints;

		if (tools[i].kind == HP_MCP_CHOOSE && !can_choose)
			continue;
		tool = cJSON_CreateObject();
		cJSON_AddStringToObject(tool, "name", tools[i].name);
		cJSON_AddStringToObject(tool, "description", tools[i].help);
		cJSON_AddItemToObject(tool, "inputSchema", hp_mcp_input_schema(&tools[i]));
		cJSON_AddItemToObject(tool, "outputSchema", hp_mcp_output_schema(&tools[i]));
		hints = cJSON_AddObjectToObject(tool, "annotations");
		cJSON_AddBoolToObject(hints, "readOnlyHint",
				      !tools[i].method || strcmp(tools[i].method, "GET") == 0);
		cJSON_AddFalseToObject(hints, "destructiveHint");
		cJSON_AddFalseToObject(hints, "openWorldHint");
		cJSON_AddItemToArray(array, tool);
	}
	text = cJSON_PrintUnformatted(array);
	cJSON_Delete(array);
	return text ? text : hp_xstrdup("[]");
}

static const char *texts[2];

static void texts_make(void)
{
	texts[false] = tools_text(false);
	texts[true] = tools_text(true);
}

const char *hp_mcp_tools(bool can_choose)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, texts_make);
	return texts[can_choose];
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

/* Rows of a comparison that changed and are not here. */
static bool has_more_changes(const cJSON *json)
{
	const cJSON *section;

	cJSON_ArrayForEach(section, cJSON_GetObjectItemCaseSensitive(json, "sections"))
	{
		const cJSON *rows = cJSON_GetObjectItemCaseSensitive(section, "rows");
		const cJSON *changed = cJSON_GetObjectItemCaseSensitive(section, "changed_count");

		if (changed && cJSON_GetArraySize(rows) < changed->valuedouble)
			return true;
	}
	return false;
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
	is_cut = tool->kind == HP_MCP_ROUTE && cut(json, arguments->limit);
	cJSON_AddBoolToObject(json, "truncated",
			      is_cut || is_partial(json) || has_more_changes(json));
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
