/* SPDX-License-Identifier: MIT */
/*
 * callers.c - see callers.h.
 */
#include "live/answer/callers.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>

#include "live/answer/logs.h"
#include "live/answer/report_snapshot.h"
#include "report/section/timing/calls.h"
#include "report/base/format.h"
#include "report/base/json.h"
#include "report/base/memory.h"

#define NODES_USUAL 200
#define NODES_MAX 1000
#define LEAST_PERCENT 0.1	/* of the function's time */

static void row_add(struct hp_report *report, const struct hp_calls_row *row, size_t id,
		    size_t parent, cJSON *tree)
{
	cJSON *entry = cJSON_CreateObject();

	hp_json_whole(entry, "id", id);
	hp_json_whole(entry, "parent", parent);
	hp_json_whole(entry, "depth", row->depth);
	hp_json_text(entry, "name",
		     row->function == HP_NONE
			     ? "(begins here)"
			     : hp_report_name(report, &report->model.functions[row->function]));
	hp_json_whole(entry, "calls", hp_whole(row->calls));
	hp_json_whole(entry, "inclusive_ns", hp_whole(rint(row->total_ns)));
	hp_json_whole(entry, "self_ns", hp_whole(rint(row->self_ns)));
	hp_json_between(entry, "inclusive", row->total_ns, row->total_error_ns);
	hp_json_between(entry, "self", row->self_ns, row->self_error_ns);
	cJSON_AddItemToArray(tree, entry);
}

/* Rows are in the order of a printed tree: the parent is the last row one level up. */
static void tree_add(struct hp_report *report, const struct hp_calls *calls, cJSON *list)
{
	cJSON *tree = cJSON_AddArrayToObject(list, "tree");
	size_t *above = hp_xcalloc(calls->count + 2, sizeof(*above));

	for (size_t i = 0; i < calls->count; i++) {
		unsigned depth = calls->rows[i].depth;

		row_add(report, &calls->rows[i], i + 1, depth ? above[depth - 1] : 0, tree);
		above[depth] = i + 1;
	}
	free(above);
}

static struct hp_answer *answer(struct hp_snapshot *snapshot, const struct hp_request *request,
				enum hp_calls_kind kind)
{
	struct hp_report *report = &snapshot->report;
	const struct hp_model_function *f = hp_logs_function(snapshot, request->id);
	struct hp_calls calls = { .kind = kind, .least = LEAST_PERCENT };
	cJSON *list;

	if (!f || f == &report->life)
		return hp_answer_error(404, "ids are those of /functions_timing",
				       "Function with id %u not found", request->id);
	calls.function = (uint32_t)(f - report->model.functions);
	hp_calls_ask(report, &calls, hp_request_number(request, "limit", NODES_USUAL, NODES_MAX));
	list = cJSON_CreateObject();
	hp_json_text(list, "function_name", hp_report_name(report, f));
	cJSON_AddStringToObject(list, "description", calls.describe);
	hp_json_whole(list, "total_elapsed_ns", report->model.elapsed_ns);
	hp_json_whole(list, "function_ns",
		      calls.count ? hp_whole(rint(calls.rows[0].total_ns)) : 0);
	hp_json_whole(list, "total_count", calls.found);
	hp_json_whole(list, "included_count", calls.count);
	tree_add(report, &calls, list);
	hp_calls_release(&calls);
	return hp_answer_json(200, list);
}

struct hp_answer *hp_callers_render(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	return answer(snapshot, request, HP_CALLS_CALLERS);
}

struct hp_answer *hp_callees_render(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	return answer(snapshot, request, HP_CALLS_CALLEES);
}
