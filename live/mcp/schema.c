/* SPDX-License-Identifier: MIT */
/*
 * schema.c - schemas of the tools' answers: JSON Schema 2020-12.
 *
 * Row types are derived from a section's columns
 * (report/section/core/section.h), so a new column is in the schema
 * automatically. Other keys are described here by short texts:
 *
 *   "pid:i! comm:s? rows:[@row]"   name:type, separated by blanks
 *
 *   s text, i whole number, n number, b true or false, o an object of no fixed keys;
 *   [x] a list of x, @name the entry of `shapes` with that name
 *   suffixes: ? or null (letters only), ! required
 *
 * Keys have no descriptions: names of numbers end in their unit, and a client
 * may put the whole list of tools into an agent's context.
 */
#include "live/mcp/schema.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "live/mcp/tool.h"
#include "report/section/core/section.h"

struct text {
	const char *name;
	const char *text;
};

#define STATUS \
	"pid:i! uptime:s! uptime_ns:i! comm:s command:s profiler:s is_live:b! looked_ns:i cpu_ns:i " \
	"rss_bytes:i profiling_cost_ns:i profiling_cost_low_ns:i profiling_cost_high_ns:i " \
	"profiling_cost_error_ns:i profiling_hooks_ns:i profiling_helper_ns:i live_bytes:i lock_wait_ns:i"

#define CALLS \
	"function_name:s! description:s! total_elapsed_ns:i! function_ns:i! total_count:i! " \
	"included_count:i! tree:[@step]!"

static const struct text shapes[] = {
	{ "step", "id:i! parent:i! depth:i! name:s! calls:i! inclusive_ns:i! self_ns:i! "
		  "inclusive_low_ns:i! inclusive_high_ns:i! self_low_ns:i! self_high_ns:i!" },
	{ "evidence", "section:s! row:s! text:s!" },
	{ "location", "file:s line:i column:i" },
	{ "frame", "function:s file:s line:i inlined:b module:s" },
	{ "call", "start_ns:i ns:i tid:i result:s" },
	{ "log", "invocation:i duration:s timestamp:s ago:s thread_id:i result:s" },
	{ "spent_log", "invocation:i bytes:s alloc_count:i timestamp:s ago:s thread_id:i" },
	{ "spent", "at_ns:i bytes:i alloc_count:i inclusive_bytes:i inclusive_count:i tid:i" },
	{ "way", "index:i timestamp:s ago:s message:s? thread_id:i delay:s?" },
	{ "item", "index:i timestamp:s ago:s message:s? thread_id:i" },
	{ "message", "msg_id:i timestamp_ns:i size:i tid:i delay_ns:i? message:s" },
	{ "shown", "id:i! entry_type:s! source:s! source_display:s! expression:s! log_count:i! "
		   "last_value:s! min:s max:s location:@location" },
	{ "change_log", "index:i timestamp:s ago:s value:s thread_id:i source:s" },
	{ "future_call",
	  "id:i! future_id:i! state:s! poll_count:i! sampled_polls:i! total_poll_duration_ns:i! "
	  "max_poll_duration_ns:i! last_poll_duration_ns:i! total_poll_alloc_bytes:i! "
	  "total_poll_alloc_count:i! max_poll_alloc_bytes:i! last_poll_alloc_bytes:i! queued_ns:i "
	  "duration_ns:i result:s?" },
	{ "party", "os_tid:i count:i wait_total_ns:i" },
	{ "side", "name:s! runs:i! ready_percent:n?" },
	{ "session", "pid:i! comm:s! session:s! port:i! uptime_ns:i! is_this:b!" },
	{ "run", "run:s! pid:i! comm:s started:s elapsed_ns:i size_bytes:i! label:s" },
	{ "segment", "uid:i gid:i runs:i! pids:[i]! bytes:i! complete:b! tainted:b!" },
	{ "topic", "topic:s! meaning:s! next:s! schema:o" },
};

/* Answers that are not lists. */
static const struct text answers[] = {
	{ "profiler_status", STATUS },
	{ "choose_session", STATUS },
	{ "sessions", "data:[@session]! total_count:i! included_count:i!" },
	{ "runs", "data:[@run]! total_count:i! included_count:i! folder:s message:s" },
	{ "stacks", "pid:i! comm:s error:s is_recorded:b! thread_count:i stood_still_median_ns:i "
		    "stood_still_longest_ns:i stacks:[o] missing:[o] threads:[o]" },
	{ "explain", "topics:[@topic]!" },
	{ "functions_cpu_snapshot", "status:s!" },
	{ "function_timing_logs", "function_name:s! location:@location total_invocations:i! "
				  "logs:[@log]! raw:[@call] slowest:[@call]" },
	{ "function_alloc_logs",
	  "function_name:s! location:@location total_invocations:i logs:[@spent_log]! message:s" },
	{ "callers", CALLS },
	{ "callees", CALLS },
	{ "gauges", "data:[@shown]!" },
	{ "dbg_entries", "data:[@shown]!" },
	{ "val_entries", "data:[@shown]!" },
	{ "gauge_logs", "key:s! total_logs:i! logs:[@change_log]! message:s" },
	{ "val_logs", "key:s! total_logs:i! logs:[@change_log]!" },
	{ "dbg_logs", "source:s! expression:s! total_logs:i! logs:[@change_log]!" },
	{ "future_logs",
	  "id:s! call_count:i! total_polls:i! total_poll_duration_ns:i! total_poll_alloc_bytes:i! "
	  "total_poll_alloc_count:i! calls:[@future_call]!" },
	{ "channel_logs", "id:s! sent_logs:[@way]! received_logs:[@way]!" },
	{ "stream_logs", "id:s! logs:[@item]!" },
	{ "compare",
	  "a:@side! b:@side! times_judged:b! times_refused:s times_weak:b summary:o! sections:o!" },
};

/* Keys of lists besides the rows, including lists that are not implemented yet. */
#define HEAD_ALL "description:s message:s total_count:i included_count:i names_pending:i"
#define HEAD_ABSENT "current_elapsed_ns:i percentiles:[n]"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- types --- */

static const char *text_named(const struct text *texts, size_t count, const char *name, size_t size)
{
	for (size_t i = 0; i < count; i++)
		if (strncmp(texts[i].name, name, size) == 0 && !texts[i].name[size])
			return texts[i].text;
	return NULL;
}

static void type_set(cJSON *schema, const char *name)
{
	cJSON_AddStringToObject(schema, "type", name);
}

/* Two types as branches: some clients do not support a list of types. */
static void types_set(cJSON *schema, const char *name, const char *other)
{
	cJSON *branches = cJSON_AddArrayToObject(schema, "anyOf");
	const char *const names[] = { name, other };

	for (int i = 0; i < 2; i++) {
		cJSON *branch = cJSON_CreateObject();

		type_set(branch, names[i]);
		cJSON_AddItemToArray(branches, branch);
	}
}

static void require(cJSON *schema, const char *name)
{
	cJSON *required = cJSON_GetObjectItemCaseSensitive(schema, "required");

	if (!required)
		required = cJSON_AddArrayToObject(schema, "required");
	cJSON_AddItemToArray(required, cJSON_CreateString(name));
}

static void keys_add(cJSON *schema, const char *text);

static cJSON *object_new(void)
{
	cJSON *schema = cJSON_CreateObject();

	type_set(schema, "object");
	cJSON_AddObjectToObject(schema, "properties");
	return schema;
}

/* The schema of a type in the notation above, without suffixes. */
static cJSON *type_new(const char *type, size_t size, bool or_null)
{
	static const char *const names[] = { "string", "integer", "number", "boolean", "object" };
	static const char letters[] = "sinbo";
	const char *letter;
	cJSON *schema;

	if (type[0] == '[') {
		schema = cJSON_CreateObject();
		type_set(schema, "array");
		cJSON_AddItemToObject(schema, "items", type_new(type + 1, size - 2, false));
		return schema;
	}
	if (type[0] == '@') {
		schema = object_new();
		keys_add(schema, text_named(shapes, COUNT(shapes), type + 1, size - 1));
		return schema;
	}
	letter = strchr(letters, type[0]);
	schema = cJSON_CreateObject();
	if (or_null)
		types_set(schema, names[letter - letters], "null");
	else
		type_set(schema, names[letter - letters]);
	return schema;
}

static void key_add(cJSON *schema, const char *word, size_t size)
{
	cJSON *properties = cJSON_GetObjectItemCaseSensitive(schema, "properties");
	size_t length = (size_t)((const char *)memchr(word, ':', size) - word);
	const char *type = word + length + 1;
	size_t type_size = size - length - 1;
	bool is_always = type[type_size - 1] == '!', or_null;
	char name[64] = "";

	memcpy(name, word, length < sizeof(name) ? length : sizeof(name) - 1);
	type_size -= is_always;
	or_null = type[type_size - 1] == '?';
	type_size -= or_null;
	cJSON_AddItemToObject(properties, name, type_new(type, type_size, or_null));
	if (is_always)
		require(schema, name);
}

static void keys_add(cJSON *schema, const char *text)
{
	while (*text) {
		size_t size = strcspn(text, " ");

		key_add(schema, text, size);
		text += size;
		text += strspn(text, " ");
	}
}

/* --- rows --- */

/* Numbers as in report/view/json.c: `data` for people, `raw` for programs. */
static const char *type_of(enum hp_unit unit, bool is_raw)
{
	switch (unit) {
	case HP_UNIT_NAME:
	case HP_UNIT_CHAIN:
	case HP_UNIT_TEXT:
		return is_raw ? "s?" : "s";
	case HP_UNIT_SHARE:
	case HP_UNIT_LOAD:
		return is_raw ? "n?" : "s?";
	case HP_UNIT_RATE:
		return "n?";
	case HP_UNIT_COUNT:
	case HP_UNIT_NUMBER:
		return is_raw ? "i?" : ""; /* an integer, or "-" */
	default:
		return is_raw ? "i?" : "s";
	}
}

static cJSON *column_type(const struct hp_column *column, bool is_raw)
{
	const char *type = type_of(column->unit, is_raw);
	cJSON *schema;

	if (*type) /* optional in rows, but never null */
		return type_new(type, 1, type[1] == '?' && column->need != HP_NEED_KNOWN);
	schema = cJSON_CreateObject();
	if (column->need == HP_NEED_KNOWN)
		type_set(schema, "integer");
	else
		types_set(schema, "integer", "string");
	return schema;
}

/* One key per requested percentile: p95_ns, p99.9_ns. */
static void percentiles_add(cJSON *schema, const struct hp_column *column, bool is_raw)
{
	cJSON *patterns = cJSON_GetObjectItemCaseSensitive(schema, "patternProperties");
	char pattern[64];

	if (!patterns)
		patterns = cJSON_AddObjectToObject(schema, "patternProperties");
	snprintf(pattern, sizeof(pattern), "^%s[0-9.]+%s$", is_raw ? column->raw : column->key,
		 is_raw && column->unit == HP_UNIT_TIME ? "_ns" : "");
	cJSON_AddItemToObject(patterns, pattern, column_type(column, is_raw));
}

static cJSON *rows_new(const struct hp_section *section, const char *beside, bool is_raw)
{
	cJSON *schema = cJSON_CreateObject(), *row = object_new();
	cJSON *properties = cJSON_GetObjectItemCaseSensitive(row, "properties");

	type_set(schema, "array");
	for (const struct hp_column *column = section->columns; hp_column_is(column); column++) {
		const char *key = is_raw ? column->raw : column->key;

		if (key && column->is_percentiles)
			percentiles_add(row, column, is_raw);
		else if (key && !cJSON_HasObjectItem(properties, key))
			cJSON_AddItemToObject(properties, key, column_type(column, is_raw));
	}
	if (beside)
		keys_add(row, beside);
	cJSON_AddItemToObject(schema, "items", row);
	return schema;
}

/* A list that is not implemented yet: its rows may become anything. */
static void open_list_add(cJSON *schema)
{
	keys_add(schema, HEAD_ALL " " HEAD_ABSENT " total_ns:i total_calls:i total_alloc_bytes:i "
				  "data:[o] entries:[o] raw:[o]!");
}

static void list_add(cJSON *schema, const struct hp_section *section)
{
	const struct hp_extra *extra = &section->extra;
	cJSON *properties = cJSON_GetObjectItemCaseSensitive(schema, "properties");

	if (!section->columns) {
		open_list_add(schema);
		return;
	}
	keys_add(schema, HEAD_ALL);
	if (extra->list_keys)
		keys_add(schema, extra->list_keys);
	cJSON_AddItemToObject(properties, hp_section_rows(section),
			      rows_new(section, extra->data_keys, false));
	cJSON_AddItemToObject(properties, "raw", rows_new(section, extra->raw_keys, true));
	require(schema, hp_section_rows(section));
	require(schema, "raw");
}

/* The current CPU list, and that of the last snapshot. */
static void snapshots_add(cJSON *schema, const struct hp_section *section)
{
	cJSON *properties = cJSON_GetObjectItemCaseSensitive(schema, "properties");
	cJSON *list = object_new();

	keys_add(schema, section->tool.answer);
	list_add(list, section);
	cJSON_AddItemToObject(properties, "now", list);
	cJSON_AddItemToObject(properties, "report", cJSON_Duplicate(list, 1));
}

cJSON *hp_mcp_output_schema(const struct hp_mcp_tool *tool)
{
	const char *text = text_named(answers, COUNT(answers), tool->name, strlen(tool->name));
	cJSON *schema = object_new();

	if (text)
		keys_add(schema, text);
	else if (tool->section && tool->section->tool.answer)
		snapshots_add(schema, tool->section);
	else if (tool->shape == HP_MCP_LIST)
		list_add(schema, tool->section);
	keys_add(schema, "truncated:b!");
	return schema;
}

cJSON *hp_mcp_output_brief(const struct hp_mcp_tool *tool)
{
	cJSON *whole = hp_mcp_output_schema(tool), *schema = cJSON_CreateObject();

	type_set(schema, "object");
	cJSON_AddItemToObject(schema, "required",
			      cJSON_DetachItemFromObjectCaseSensitive(whole, "required"));
	cJSON_Delete(whole);
	return schema;
}

/* --- for the document --- */

cJSON *hp_mcp_keys_schema(const char *text)
{
	cJSON *schema = object_new();

	keys_add(schema, text);
	return schema;
}

cJSON *hp_mcp_list_schema(const struct hp_section *section)
{
	cJSON *schema = object_new();

	list_add(schema, section);
	return schema;
}

cJSON *hp_mcp_rows_schema(const struct hp_section *section)
{
	return rows_new(section, section->extra.raw_keys, true);
}
