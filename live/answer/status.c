/* SPDX-License-Identifier: MIT */
/*
 * status.c - see status.h.
 */
#include "live/answer/status.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live/answer/lists.h"
#include "live/answer/report_snapshot.h"
#include "report/section/core/list.h"
#include "report/section/loop/loop.h"
#include "report/section/memory/section.h"
#include "report/base/format.h"
#include "report/base/json.h"
#include "report/base/memory.h"
#include "report/store/live.h"
#include "report/section/wait/lock_section.h"
#include "report/section/core/cost_json.h"
#include "report/view/view.h"
#include "report/section/sections.h"
#include "segment/clock.h"

static const char *comm_of(const struct hp_model *model)
{
	return model->root == HP_NONE ? "" : model->processes[model->root].comm;
}

static bool is_lock(uint32_t kind)
{
	enum hp_lock_family family = hp_lock_family(kind);

	return family == HP_LOCK_FAMILY_RWLOCK ||
	       (family == HP_LOCK_FAMILY_MUTEX && kind != HP_LOCK_STREAM);
}

/* Values for clients' time lines, which need sums instead of rows. Finished waits only. */
static void sums_add(const struct hp_report *report, cJSON *said)
{
	const struct hp_alloc *alloc = hp_alloc_of(report);
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));
	double wait_ticks = 0;

	if (alloc && alloc->is_recorded)
		hp_json_whole(said, "live_bytes", alloc->all.live_bytes);
	for (size_t i = 0; locks && i < locks->count; i++)
		for (int side = 0; side < HP_SIDE_POST && is_lock(locks->rows[i].kind); side++)
			wait_ticks += locks->rows[i].sums[side].wait_ticks;
	if (locks)
		hp_json_whole(said, "lock_wait_ns",
			      hp_whole(wait_ticks * report->model.ns_per_tick));
}

struct hp_answer *hp_status_render(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	const struct hp_model *model = &snapshot->report.model;
	const struct hp_header *header = &model->reader.header;
	struct hp_text_cell cell;
	cJSON *said = cJSON_CreateObject();

	(void)request;
	cJSON_AddStringToObject(said, "uptime", hp_format_time(&cell, (double)model->elapsed_ns));
	hp_json_whole(said, "pid", header->root_pid);
	hp_json_whole(said, "uptime_ns", model->elapsed_ns);
	hp_json_text(said, "comm", comm_of(model));
	if (model->root != HP_NONE && model->processes[model->root].command)
		hp_json_text(said, "command", model->processes[model->root].command);
	cJSON_AddStringToObject(said, "profiler", "hotpath " HP_VERSION);
	cJSON_AddBoolToObject(said, "is_live", hp_target_is_live(&snapshot->target));
	hp_json_whole(said, "looked_ns", snapshot->cost_ns);
	hp_json_whole(said, "cpu_ns", model->cpu_ns);
	hp_json_whole(said, "rss_bytes", model->rss_kb * 1024);
	hp_cost_json(said, model);
	sums_add(&snapshot->report, said);
	return hp_answer_json(200, said);
}

cJSON *hp_sessions_json(uint32_t root)
{
	size_t count;
	struct hp_live *live = hp_live_list(&count);
	cJSON *said = cJSON_CreateObject(), *array = cJSON_AddArrayToObject(said, "data");

	for (size_t i = 0; i < count; i++) {
		cJSON *one = cJSON_CreateObject();

		hp_json_whole(one, "pid", live[i].pid);
		hp_json_text(one, "comm", live[i].comm);
		cJSON_AddStringToObject(one, "session", live[i].token);
		hp_json_whole(one, "port", live[i].port);
		hp_json_whole(one, "uptime_ns", live[i].elapsed_ns);
		cJSON_AddBoolToObject(one, "is_this", live[i].pid == root);
		cJSON_AddItemToArray(array, one);
	}
	hp_json_whole(said, "total_count", count);
	hp_json_whole(said, "included_count", count);
	free(live);
	return said;
}

struct hp_answer *hp_sessions_render(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	(void)request;
	return hp_answer_json(200, hp_sessions_json(snapshot->report.model.reader.header.root_pid));
}

struct hp_answer *hp_routes_render(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	cJSON *said = cJSON_CreateObject(), *array = cJSON_AddArrayToObject(said, "routes");

	(void)request;
	for (size_t i = 0; i < snapshot->routes->count; i++) {
		const struct hp_route *route = &snapshot->routes->list[i];
		cJSON *one = cJSON_CreateObject();

		cJSON_AddStringToObject(one, "method", route->method);
		cJSON_AddStringToObject(one, "path", route->path);
		cJSON_AddStringToObject(one, "help", route->help);
		cJSON_AddItemToArray(array, one);
	}
	return hp_answer_json(200, said);
}

/* Each answer gets its own time. */
static struct hp_answer *answer_copy(const struct hp_answer *answer)
{
	char *body = hp_xmalloc(answer->size ? answer->size : 1);

	memcpy(body, answer->body, answer->size);
	return hp_answer_new(answer->status, answer->type, body, answer->size);
}

struct hp_answer *hp_runtime_render(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	uint64_t interval = snapshot->settings.runtime_interval_ms * UINT64_C(1000000);
	uint64_t now = hp_clock_raw_ns();

	if (hp_loops_of(&snapshot->report)->count &&
	    hp_request_number(request, "limit", 0, UINT32_MAX))
		return hp_list_render(snapshot, request);	/* not the one that is kept */
	if (hp_loops_of(&snapshot->report)->count) {
		if (!snapshot->runtime || now - snapshot->runtime_ns >= interval) {
			hp_answer_drop(snapshot->runtime);
			snapshot->runtime = hp_list_render(snapshot, request);
			snapshot->runtime_ns = now;
		}
		return answer_copy(snapshot->runtime);
	}
	return hp_answer_error(404, hp_section_none(&hp_loops_section, &snapshot->report),
			       "No event loop is recorded in this program");
}

struct hp_answer *hp_report_render(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)request;
	if (!out)
		return hp_answer_error(500, NULL, "No memory for the report");
	hp_report_choose(&snapshot->report);
	hp_json_write(&snapshot->report, false, out);
	fclose(out);
	return hp_answer_new(200, HP_TYPE_JSON, text, size);
}
