/* SPDX-License-Identifier: MIT */
/*
 * tool.c - see tool.h.
 *
 * An agent reads every byte of an answer, so rows, arrays and the whole answer
 * are bounded. `truncated` describes the cut.
 */
#include "live/mcp/tool.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "live/mcp/schema.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/sections.h"

#define TEXT_MAX (512 << 10)	/* bytes of an answer */
#define ROW_LISTS 20

/*
 * Without a section: a tool. With one: the tool of its list, or one whose path
 * begins with the list's.
 */
struct entry {
	const struct hp_section *section;
	struct hp_mcp_tool tool;
	bool is_rest;	/* the tools of all other sections */
};

#define LIST(name_) \
	{ \
		.section = &hp_##name_##_section \
	}
#define LOGS(section_, name_, path_, id_, help_) \
	{ \
		.section = &hp_##section_##_section, .tool = { \
			.name = name_, \
			.path = path_, \
			.id = id_, \
			.shape = HP_MCP_LOGS, \
			.help = help_ \
		} \
	}

/* In the order that clients expect. */
static const struct entry entries[] = {
	{ .tool = { .name = "profiler_status",
		    .method = "GET",
		    .path = "/profiler_status",
		    .shape = HP_MCP_OBJECT,
		    .help = "The profiled program, its uptime, and the cost of profiling. Call it first." } },
	{ .tool = { .name = "explain",
		    .kind = HP_MCP_EXPLAIN,
		    .shape = HP_MCP_OBJECT,
		    .help = "What a tool's answer means, how reliable its numbers are, and what to call "
			    "next. Give the tool's name as topic: the answer then has its JSON schema, too." } },
	{ .tool = { .name = "sessions",
		    .kind = HP_MCP_SESSIONS,
		    .shape = HP_MCP_OBJECT,
		    .help = "Running profiled programs of this user." } },
	{ .tool = { .name = "choose_session",
		    .kind = HP_MCP_CHOOSE,
		    .shape = HP_MCP_OBJECT,
		    .help = "Switches to another program: one of sessions by its pid, or a finished "
			    "run from runs. Answers like profiler_status." } },
	{ .tool = { .name = "runs",
		    .kind = HP_MCP_RUNS,
		    .shape = HP_MCP_OBJECT,
		    .help = "Kept runs, newest first." } },
	{ .tool = { .name = "compare",
		    .kind = HP_MCP_COMPARE,
		    .shape = HP_MCP_OBJECT,
		    .help = "Compare two runs of runs: calls, blocks and bytes by "
			    "function, locks, messages. Times are shown, not judged: that needs "
			    "`hotpath compare --runs 10`. Takes some seconds." } },
	LIST(calltree),
	LIST(functions),
	LOGS(functions, "function_timing_logs", "/{id}/logs", "function_id",
	     "The last calls of one function, and its slowest ones."),
	LOGS(functions, "callers", "/{id}/callers", "function_id",
	     "Who calls one function, over all paths and level by level: its calls and its time from "
	     "there. `parent` is the id of the row's parent: the function it calls."),
	LOGS(functions, "callees", "/{id}/callees", "function_id",
	     "Whom one function calls, over all paths and level by level."),
	LIST(alloc_functions),
	LOGS(alloc_functions, "function_alloc_logs", "/{id}/logs", "function_id",
	     "Allocations by the last allocating calls of one function."),
	LIST(cpu),
	{ .section = &hp_cpu_section,
	  .tool = { .name = "functions_cpu_snapshot",
		    .method = "POST",
		    .path = "/snapshot",
		    .shape = HP_MCP_OBJECT,
		    .help = "Takes a snapshot of the CPU's samples; functions_cpu shows it when it is ready." } },
	LIST(alloc_sites),
	LIST(leaks),
	LIST(alloc_sizes),
	LIST(alloc_lives),
	LIST(direct_maps),
	LIST(threads),
	LIST(offcpu),
	LIST(mutexes),
	LIST(rw_locks),
	LIST(conds),
	LIST(sems),
	LIST(barriers),
	LIST(waits),
	LIST(waiting),
	LIST(lock_order),
	{ .tool = { .name = "stacks",
		    .method = "GET",
		    .path = "/stacks",
		    .shape = HP_MCP_LOGS,
		    .help = "What each thread of the running program does now: its stack, the lock it "
			    "waits for and its holder. Stops each thread for some 50 microseconds." } },
	{ .is_rest = true },
	LIST(channels),
	LOGS(channels, "channel_logs", "/{id}/logs", "channel_id",
	     "The last messages of one channel."),
	LIST(streams),
	LOGS(streams, "stream_logs", "/{id}/logs", "stream_id", "The last items of one stream."),
	LIST(futures),
	LOGS(futures, "future_logs", "/{id}/logs", "future_id", "The last calls of one future."),
	LIST(sql),
	LOGS(sql, "sql_logs", "/{id}/logs", "sql_id", "The last runs of one query."),
	LIST(http),
	LOGS(http, "http_logs", "/{id}/logs", "http_id", "The last requests to one endpoint."),
	LIST(server),
	LOGS(server, "server_logs", "/{id}/logs", "server_id", "The last requests to one route."),
	LIST(io),
	LIST(debug),
	LOGS(debug, "gauges", "/gauge", NULL,
	     "Gauges: those that the program sets, and memory, threads, queues."),
	LOGS(debug, "gauge_logs", "/gauge/{id}/logs", "gauge_id", "The last values of one gauge."),
	LOGS(debug, "dbg_entries", "/dbg", NULL, "Expressions that the program shows."),
	LOGS(debug, "dbg_logs", "/dbg/{id}/logs", "debug_id", "The last values of one expression."),
	LOGS(debug, "val_entries", "/val", NULL, "Values that the program shows by key."),
	LOGS(debug, "val_logs", "/val/{id}/logs", "debug_id", "The last values of one."),
	LIST(loops),
};

#define ENTRIES (sizeof(entries) / sizeof(entries[0]))

static struct hp_mcp_tool *tools;
static size_t tool_count;

/* "locks on files": "Locks on files." */
static const char *sentence(const char *help)
{
	char *text = hp_xprintf("%s.", help);

	text[0] = (char)toupper((unsigned char)text[0]);
	return text;
}

static void list_tool_make(const struct hp_section *section, struct hp_mcp_tool *tool)
{
	const struct hp_tool *own = &section->tool;

	if (!tool->name)
		tool->name = own->name ? own->name : section->json;
	if (!tool->help)
		tool->help = own->help ? own->help : sentence(section->help);
	tool->drop = own->drop;
	tool->shape = own->answer ? HP_MCP_OBJECT : HP_MCP_LIST;
}

static void tool_add(const struct hp_section *section, struct hp_mcp_tool tool)
{
	tool.section = section;
	if (section && !tool.path)
		list_tool_make(section, &tool);
	if (section)
		tool.path = hp_xprintf("/%s%s", section->json, tool.path ? tool.path : "");
	if (tool.path && !tool.method)
		tool.method = "GET";
	tools[tool_count++] = tool;
}

static bool has_entry(const struct hp_section *section)
{
	for (size_t i = 0; i < ENTRIES; i++)
		if (entries[i].section == section)
			return true;
	return false;
}

static void rest_add(void)
{
	for (size_t i = 0; i < hp_section_count; i++)
		if (hp_sections[i]->json[0] && !has_entry(hp_sections[i]))
			tool_add(hp_sections[i], (struct hp_mcp_tool){ .name = NULL });
}

static void tools_make(void)
{
	tools = hp_xcalloc(ENTRIES + hp_section_count, sizeof(*tools));
	for (size_t i = 0; i < ENTRIES; i++) {
		if (entries[i].is_rest)
			rest_add();
		else
			tool_add(entries[i].section, entries[i].tool);
	}
}

/* Created once, and never freed. */
static void tools_need(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, tools_make);
}

const struct hp_mcp_tool *hp_mcp_tool_at(size_t i)
{
	tools_need();
	return i < tool_count ? &tools[i] : NULL;
}

const struct hp_mcp_tool *hp_mcp_tool_find(const char *name)
{
	tools_need();
	for (size_t i = 0; i < tool_count; i++)
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	return NULL;
}

/* It answers, since clients of the Rust crate know its name, but never has a row: it is not listed. */
static bool is_empty(const struct hp_mcp_tool *tool)
{
	return tool->section && !tool->section->columns;
}

static char *tools_text(bool can_choose)
{
	cJSON *array = cJSON_CreateArray();
	char *text;

	for (size_t i = 0; i < tool_count; i++) {
		cJSON *tool, *hints;

		if ((tools[i].kind == HP_MCP_CHOOSE && !can_choose) || is_empty(&tools[i]))
			continue;
		tool = cJSON_CreateObject();
		cJSON_AddStringToObject(tool, "name", tools[i].name);
		cJSON_AddStringToObject(tool, "description", tools[i].help);
		cJSON_AddItemToObject(tool, "inputSchema", hp_mcp_input_schema(&tools[i]));
		cJSON_AddItemToObject(tool, "outputSchema", hp_mcp_output_brief(&tools[i]));
		hints = cJSON_AddObjectToObject(tool, "annotations");
		cJSON_AddBoolToObject(hints, "readOnlyHint",
				      !tools[i].method || strcmp(tools[i].method, "GET") == 0);
		if (tools[i].method && strcmp(tools[i].method, "GET") != 0)
			cJSON_AddFalseToObject(hints, "destructiveHint");
		cJSON_AddItemToArray(array, tool);
	}
	text = cJSON_PrintUnformatted(array);
	cJSON_Delete(array);
	return text ? text : hp_xstrdup("[]");
}

static const char *texts[2];

static void texts_make(void)
{
	tools_need();
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

/* A list of numbers or names, as of the percentiles, belongs to its neighbours. */
static bool is_rows(const cJSON *array)
{
	const cJSON *first = cJSON_GetArrayItem(array, 0);

	return cJSON_IsObject(first) || cJSON_IsArray(first);
}

/* Leaves `most` of the rows; of a timeline, whose rows are arrays, the newest. */
static bool array_cut(cJSON *array, int most)
{
	int count = cJSON_GetArraySize(array);
	int from = cJSON_IsArray(cJSON_GetArrayItem(array, 0)) ? 0 : most;

	for (int i = count; i > most; i--)
		cJSON_DeleteItemFromArray(array, from);
	return count > most;
}

/* Truncates rows to the limit; lists inside a row, such as its frames, to ROW_LISTS if that is more. */
static bool cut(cJSON *object, int limit)
{
	bool is_cut = false;
	cJSON *item, *row;

	cJSON_ArrayForEach(item, object)
	{
		if (cJSON_IsObject(item))
			is_cut |= cut(item, limit);
		if (!cJSON_IsArray(item) || !is_rows(item))
			continue;
		is_cut |= array_cut(item, limit);
		cJSON_ArrayForEach(row, item) is_cut |=
			cJSON_IsObject(row) && cut(row, limit > ROW_LISTS ? limit : ROW_LISTS);
	}
	return is_cut;
}

static bool is_partial(const cJSON *json)
{
	const cJSON *total = cJSON_GetObjectItemCaseSensitive(json, "total_count");
	const cJSON *included = cJSON_GetObjectItemCaseSensitive(json, "included_count");

	return total && included && included->valuedouble < total->valuedouble;
}

/* Number of omitted changed rows of a comparison. */
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
	is_cut = tool->kind == HP_MCP_ROUTE && cut(json, (int)arguments->limit);
	cJSON_AddBoolToObject(json, "truncated",
			      is_cut || is_partial(json) || has_more_changes(json));
	text = cJSON_PrintUnformatted(json);
	is_short = text && strlen(text) <= TEXT_MAX;
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

	if (cJSON_IsArray(json)) {	/* a result must be an object */
		cJSON *object = cJSON_CreateObject();

		cJSON_AddItemToObject(object, "data", json);
		json = object;
	}
	result = answer->status >= 400 || !cJSON_IsObject(json) ? refused(json)
								: success(tool, arguments, json);
	cJSON_Delete(json);
	return result;
}
