/* SPDX-License-Identifier: MIT */
/*
 * explain.c - explains the tools' answers to new users.
 */
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <string.h>

#include "live/mcp/schema.h"
#include "live/mcp/tool.h"
#include "report/section/core/list.h"
#include "report/section/sections.h"

struct topic {
	const char *name;	/* of a tool */
	const char *meaning;
	const char *next;
};

/* A topic, or that of a section. */
struct entry {
	const struct hp_section *section;
	struct topic topic;
};

/* In the order of the output; topics of other sections follow. */
static const struct entry entries[] = {
	{ .section = &hp_functions_section },
	{ .section = &hp_cpu_section },
	{ .section = &hp_calltree_section },
	{ .topic = { "callers",
		     "All paths to a function together: the first row is the function, the rows below "
		     "it are its callers, with its calls and its time for each.",
		     "hot_path for the chain with most time; functions_timing for ids." } },
	{ .section = &hp_alloc_functions_section },
	{ .section = &hp_alloc_sites_section },
	{ .section = &hp_leaks_section },
	{ .section = &hp_alloc_sizes_section },
	{ .section = &hp_alloc_lives_section },
	{ .section = &hp_direct_maps_section },
	{ .topic = { "compare",
		     "Rows of two runs, matched by name; unchanged ones are left out. verdict: more, "
		     "less, new, gone; unsure may be chance, unknown is missing from a report. Counts are "
		     "exact. Times of two runs are not judged: equal runs differ by 20 %.",
		     "hotpath compare --runs 10 BEFORE -- AFTER judges times: it alternates both "
		     "commands." } },
	{ .section = &hp_threads_section },
	{ .section = &hp_offcpu_section },
	{ .section = &hp_mutexes_section },
	{ .section = &hp_rw_locks_section },
	{ .section = &hp_waits_section },
	{ .section = &hp_lock_order_section },
	{ .section = &hp_channels_section },
};

#define ENTRIES (sizeof(entries) / sizeof(entries[0]))

static cJSON *topic_json(const struct topic *topic)
{
	cJSON *json = cJSON_CreateObject();

	cJSON_AddStringToObject(json, "topic", topic->name);
	cJSON_AddStringToObject(json, "meaning", topic->meaning);
	cJSON_AddStringToObject(json, "next", topic->next);
	return json;
}

/* The schema is long: it comes with the requested topic only. */
static void topic_add(cJSON *array, const char *wanted, const struct topic *topic)
{
	const struct hp_mcp_tool *tool = wanted ? hp_mcp_tool_find(wanted) : NULL;
	cJSON *json;

	if (!topic->meaning || (wanted && strcmp(topic->name, wanted) != 0))
		return;
	json = topic_json(topic);
	if (tool)
		cJSON_AddItemToObject(json, "schema", hp_mcp_output_schema(tool));
	cJSON_AddItemToArray(array, json);
}

static struct topic topic_of(const struct hp_section *section)
{
	const struct hp_tool *tool = &section->tool;

	return (struct topic){ .name = tool->name ? tool->name : section->json,
			       .meaning = tool->meaning,
			       .next = tool->next ? tool->next : "" };
}

static bool has_entry(const struct hp_section *section)
{
	for (size_t i = 0; i < ENTRIES; i++)
		if (entries[i].section == section)
			return true;
	return false;
}

struct hp_answer *hp_mcp_explain(const char *name)
{
	cJSON *json = cJSON_CreateObject();
	cJSON *array = cJSON_AddArrayToObject(json, "topics");

	for (size_t i = 0; i < ENTRIES; i++) {
		struct topic topic =
			entries[i].section ? topic_of(entries[i].section) : entries[i].topic;

		topic_add(array, name, &topic);
	}
	for (size_t i = 0; i < hp_section_count; i++) {
		struct topic topic = topic_of(hp_sections[i]);

		if (!has_entry(hp_sections[i]))
			topic_add(array, name, &topic);
	}
	if (name && !cJSON_GetArraySize(array) && hp_mcp_tool_find(name))
		topic_add(array, name, &(struct topic){ name, hp_mcp_tool_find(name)->help, "" });
	if (cJSON_GetArraySize(array))
		return hp_answer_json(200, json);
	cJSON_Delete(json);
	return hp_answer_error(
		404,
		"a topic is the name of a tool; explain without a topic lists those with "
		"more to say",
		"No topic '%.64s'", name);
}
