/* SPDX-License-Identifier: MIT */
/*
 * lists.c - see lists.h.
 *
 * What this version does not record, or nothing has filled, is a list without
 * rows in the shape that clients know.
 */
#include "live/answer/lists.h"

#include <cjson/cJSON.h>
#include <string.h>

#include "live/answer/scene.h"
#include "live/answer/shape.h"
#include "report/base/format.h"
#include "report/base/json.h"
#include "report/section/sections.h"
#include "report/view/view.h"

#define PATHS_USUAL 100	/* rows of sections with call paths, unless more are asked for */

static void percentiles_add(const struct hp_report *report, cJSON *list)
{
	const struct hp_percentiles *percentiles = &report->settings->percentiles;
	cJSON *array = cJSON_AddArrayToObject(list, "percentiles");

	for (uint32_t i = 0; i < percentiles->count; i++)
		cJSON_AddItemToArray(array, cJSON_CreateNumber(percentiles->at[i]));
}

/* Heads that a list without rows has besides those of all. */
struct empty {
	const char *section;
	const char *rows;	/* key of the rows */
	bool has_percentiles;
	const char *zeros[3];	/* counters, which are 0 */
};

static const struct empty empties[] = {
	{ "channels", "data", true, { NULL } },
	{ "streams", "data", false, { NULL } },
	{ "futures", "data", false, { NULL } },
	{ "sql", "data", true, { "total_ns", "total_calls" } },
	{ "http", "data", true, { "total_ns", "total_calls" } },
	{ "server", "data", true, { "total_ns", "total_calls", "total_alloc_bytes" } },
	{ "io", "data", true, { NULL } },
	{ "debug", "entries", false, { NULL } },
};

static const struct empty *empty_of(const char *section)
{
	static const struct empty usual = { NULL, "data", true, { NULL } };

	for (size_t i = 0; i < sizeof(empties) / sizeof(empties[0]); i++)
		if (strcmp(empties[i].section, section) == 0)
			return &empties[i];
	return &usual;
}

static cJSON *empty_new(const struct hp_report *report, const char *section)
{
	const struct empty *empty = empty_of(section);
	cJSON *list = cJSON_CreateObject();

	hp_json_whole(list, "current_elapsed_ns", report->model.elapsed_ns);
	for (size_t i = 0; i < 3 && empty->zeros[i]; i++)
		hp_json_whole(list, empty->zeros[i], 0);
	if (empty->has_percentiles)
		percentiles_add(report, list);
	cJSON_AddArrayToObject(list, empty->rows);
	hp_json_whole(list, "total_count", 0);
	hp_json_whole(list, "included_count", 0);
	cJSON_AddArrayToObject(list, "raw");
	return list;
}

cJSON *hp_list_json(struct hp_scene *scene, const char *name)
{
	const struct hp_section *section = hp_section_of_json(name);
	uint64_t missing;
	cJSON *list = section && section->columns ? hp_json_section(&scene->report, section)
						  : empty_new(&scene->report, name);

	hp_ids_settle(&scene->ids, name, list);
	hp_shape_fit(list, name, scene->settings.api);
	/* What another answer of this look asked for in vain this one may show: names are kept until the next look. */
	missing = hp_scene_missing(scene) - scene->missing_before;
	if (missing)
		hp_json_whole(list, "names_pending", missing);
	return list;
}

/* A row with a call path has some 15 KB: 15 MB a second would be a tenth of a core. */
static uint64_t usual_limit(const struct hp_request *request)
{
	const char *section = request->route->section;

	return strcmp(section, "alloc_sites") == 0 || strcmp(section, "leaks") == 0 ? PATHS_USUAL
										    : UINT32_MAX;
}

/* How many rows at most: what is asked for, within HOTPATH_ENTRIES_LIMIT. */
static uint64_t limit_of(const struct hp_scene *scene, const struct hp_request *request)
{
	uint64_t most = scene->settings.entries_limit;
	uint64_t limit = hp_request_number(request, "limit", 0, UINT32_MAX);

	if (!limit)
		limit = usual_limit(request);
	return limit < most ? limit : most;
}

struct hp_answer *hp_list_render(struct hp_scene *scene, const struct hp_request *request)
{
	uint64_t limit = scene->settings.limit;
	cJSON *list;

	scene->settings.limit = limit_of(scene, request);
	scene->report.is_brief = !hp_request_number(request, "calls", 0, 1);
	list = hp_list_json(scene, request->route->section);
	scene->report.is_brief = true;
	scene->settings.limit = limit;
	return hp_answer_json(200, list);
}
