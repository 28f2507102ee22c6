/* SPDX-License-Identifier: MIT */
/*
 * document.c - see document.h.
 */
#include "live/mcp/document.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "live/mcp/schema.h"
#include "live/mcp/tool.h"
#include "report/base/memory.h"
#include "report/section/core/section.h"
#include "report/section/sections.h"

/* Keys of a report beside its sections. */
static const struct {
	const char *name;
	const char *text;
} report_keys[] = {
	{ "meta",
	  "rustc:s! run:s! os:s created_at:s profiler:s! command:s source_root:s cores:i git:o "
	  "segments:[@segment]! segments_refused:i" },
	{ "summary",
	  "wall_ns:i! cpu_ns:i! blocked_ns:i! stopped_ns:i! peak_rss_bytes:i! profiling_cost_ns:i! "
	  "profiling_cost_low_ns:i profiling_cost_high_ns:i "
	  "profiling_cost_error_ns:i profiling_hooks_ns:i profiling_helper_ns:i suspended_ns:i clock_grain_ns:i! "
	  "hooked_threads:i! status_known:b! wait_status:i refused_chunks:i! "
	  "refusals:i! lost_calls:i! lost_threads:i! calls_without_path:i! calls_in_other:i! "
	  "unwound_calls:i! unpaired_exits:i! damaged:b! shut_down:b running:b" },
};

/* The section in a report: a reference to its route, or the array of its rows. */
static cJSON *section_new(const struct hp_section *section)
{
	cJSON *schema;
	char *path;

	if (section->array)
		return hp_mcp_rows_schema(section);
	if (section->tool.answer) /* the route answers with more than the list */
		return hp_mcp_list_schema(section);
	schema = cJSON_CreateObject();
	path = hp_xprintf("#/$defs/~1%s", section->json);
	cJSON_AddStringToObject(schema, "$ref", path);
	free(path);
	return schema;
}

static cJSON *report_new(void)
{
	cJSON *schema =
		hp_mcp_keys_schema("type:s! version:s! label:s user_metadata:o meta:o! summary:o!");
	cJSON *properties = cJSON_GetObjectItemCaseSensitive(schema, "properties");

	for (size_t i = 0; i < sizeof(report_keys) / sizeof(report_keys[0]); i++)
		cJSON_ReplaceItemInObjectCaseSensitive(properties, report_keys[i].name,
						       hp_mcp_keys_schema(report_keys[i].text));
	for (size_t i = 0; i < hp_section_count; i++)
		if (hp_section_is_listed(hp_sections[i]))
			cJSON_AddItemToObject(properties, hp_sections[i]->json,
					      section_new(hp_sections[i]));
	return schema;
}

static cJSON *array_new(void)
{
	cJSON *schema = cJSON_CreateObject();

	cJSON_AddStringToObject(schema, "type", "array");
	return schema;
}

/* A tool's answer is its route's, plus a flag for truncation. */
static cJSON *answer_new(const struct hp_mcp_tool *tool)
{
	cJSON *schema = hp_mcp_output_schema(tool);
	cJSON *required = cJSON_GetObjectItemCaseSensitive(schema, "required");

	cJSON_DeleteItemFromObjectCaseSensitive(
		cJSON_GetObjectItemCaseSensitive(schema, "properties"), "truncated");
	cJSON_DeleteItemFromArray(required, cJSON_GetArraySize(required) - 1);
	if (tool->drop)
		cJSON_AddItemToObject(cJSON_GetObjectItemCaseSensitive(schema, "properties"),
				      tool->drop, array_new());
	return schema;
}

static void definition_write(const char *key, cJSON *schema, const char *end, FILE *out)
{
	char *text = cJSON_PrintUnformatted(schema);

	fprintf(out, "\"%s\": %s%s\n", key, text ? text : "{}", end);
	free(text);
	cJSON_Delete(schema);
}

void hp_mcp_document_write(FILE *out)
{
	const struct hp_mcp_tool *tool;

	fputs("{\n"
	      "\"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
	      "\"title\": \"hotpath: the report in JSON, and in $defs the answers over HTTP by path\",\n"
	      "\"$ref\": \"#/$defs/report\",\n"
	      "\"$defs\": {\n",
	      out);
	for (size_t i = 0; (tool = hp_mcp_tool_at(i)); i++) {
		if (!tool->path || strcmp(tool->method, "GET") != 0)
			continue;
		definition_write(tool->path, answer_new(tool), ",", out);
	}
	definition_write("report", report_new(), "", out);
	fputs("}\n}\n", out);
}
