/* SPDX-License-Identifier: MIT */
/*
 * lists.c - see lists.h.
 *
 * A section that is not recorded becomes an empty list, in the shape that
 * clients expect.
 */
#include "live/answer/lists.h"

#include <cjson/cJSON.h>

#include "live/answer/report_snapshot.h"
#include "live/answer/shape.h"
#include "report/base/format.h"
#include "report/base/json.h"
#include "report/section/core/section.h"
#include "report/view/view.h"

static void percentiles_add(const struct hp_report *report, cJSON *list)
{
	const struct hp_percentiles *percentiles = &report->settings->percentiles;
	cJSON *array = cJSON_AddArrayToObject(list, "percentiles");

	for (uint32_t i = 0; i < percentiles->count; i++)
		cJSON_AddItemToArray(array, cJSON_CreateNumber(percentiles->at[i]));
}

static cJSON *absent_new(struct hp_report *report, const struct hp_section *section)
{
	const struct hp_absent *absent = section->absent;
	cJSON *list = cJSON_CreateObject();

	hp_json_whole(list, "current_elapsed_ns", report->model.elapsed_ns);
	for (size_t i = 0; i < 3 && absent->zeros[i]; i++)
		hp_json_whole(list, absent->zeros[i], 0);
	if (absent->has_percentiles)
		percentiles_add(report, list);
	cJSON_AddArrayToObject(list, absent->rows);
	hp_json_whole(list, "total_count", 0);
	hp_json_whole(list, "included_count", 0);
	cJSON_AddArrayToObject(list, "raw");
	cJSON_AddStringToObject(list, "message", hp_section_none(section, report));
	return list;
}

void hp_pending_add(const struct hp_snapshot *snapshot, cJSON *answer)
{
	/*
	 * Names found since another answer of this refresh are not used: names
	 * are cached until the next refresh.
	 */
	uint64_t missing = hp_snapshot_missing(snapshot) - snapshot->missing_before;

	if (missing)
		hp_json_whole(answer, "names_pending", missing);
}

cJSON *hp_list_json(struct hp_snapshot *snapshot, const struct hp_section *section)
{
	cJSON *list = section->absent ? absent_new(&snapshot->report, section)
				      : hp_json_section(&snapshot->report, section);

	hp_ids_settle(&snapshot->ids, section, list);
	hp_shape_fit(list, section, snapshot->settings.api);
	hp_pending_add(snapshot, list);
	return list;
}

/* A row with a call path has some 15 KB: 15 MB per second would take a tenth of a core. */
static uint64_t usual_limit(const struct hp_section *section)
{
	return section->usual_served ? section->usual_served : UINT32_MAX;
}

/* The limit of rows: as requested, within HOTPATH_ENTRIES_LIMIT. */
static uint64_t limit_of(const struct hp_snapshot *snapshot, const struct hp_request *request)
{
	uint64_t most = snapshot->settings.entries_limit;
	uint64_t limit = hp_request_number(request, "limit", 0, UINT32_MAX);

	if (!limit)
		limit = usual_limit(request->route->section);
	return limit < most ? limit : most;
}

struct hp_answer *hp_list_render(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	uint64_t limit = snapshot->settings.limit;
	cJSON *list;

	snapshot->settings.limit = limit_of(snapshot, request);
	snapshot->report.is_brief = !hp_request_number(request, "calls", 0, 1);
	list = hp_list_json(snapshot, request->route->section);
	snapshot->report.is_brief = true;
	snapshot->settings.limit = limit;
	return hp_answer_json(200, list);
}
