/* SPDX-License-Identifier: MIT */
/*
 * functions_cpu.c - see functions_cpu.h.
 */
#include "live/answer/functions_cpu.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "live/answer/lists.h"
#include "live/answer/scene.h"
#include "report/base/json.h"
#include "report/section/cpu/cpu.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "segment/clock.h"

/* Until the sampler has written the samples before the request */
#define CAPTURE_NS UINT64_C(250000000)

static const char *const status_names[] = { "idle", "capturing", "ready", "error" };

static bool is_sampled(const struct hp_report *report)
{
	return report->model.sampling.is_there && !report->model.sampling.record.fault;
}

/* Why no snapshot is possible. */
static struct hp_answer *not_sampled(struct hp_scene *scene)
{
	return hp_answer_error(404, "hotpath doctor says what this machine allows", "%s",
			       hp_cpu_empty(&scene->report));
}

struct hp_answer *hp_cpu_snapshot_end(struct hp_scene *scene, const struct hp_request *request,
				      void *begun)
{
	struct hp_cpu_snapshot *snapshot = &scene->cpu_snapshot;
	cJSON *said;

	(void)request, (void)begun;
	if (!is_sampled(&scene->report))
		return not_sampled(scene);
	if (snapshot->due_ns)
		return hp_answer_error(409, NULL, "Snapshot already in progress");
	snapshot->status = HP_CPU_SNAPSHOT_RUNS;
	snapshot->began_ns = hp_clock_raw_ns();
	snapshot->due_ns = snapshot->began_ns + CAPTURE_NS;
	said = cJSON_CreateObject();
	cJSON_AddStringToObject(said, "status", "capturing");
	return hp_answer_json(202, said);
}

/* The list, with the crate's extra key: where to get the whole profile. */
static cJSON *list_new(struct hp_scene *scene)
{
	cJSON *list = hp_list_json(scene, &hp_cpu_section);

	cJSON_AddStringToObject(list, "profile_path", "/debug/pprof/profile");
	return list;
}

bool hp_cpu_snapshot_take(struct hp_scene *scene)
{
	struct hp_cpu_snapshot *snapshot = &scene->cpu_snapshot;
	struct timespec now;

	snapshot->due_ns = 0;
	cJSON_Delete(snapshot->report);
	free(snapshot->error);
	snapshot->report = NULL;
	snapshot->error = NULL;
	if (!scene->has_report || !is_sampled(&scene->report)) {
		snapshot->status = HP_CPU_SNAPSHOT_ERROR;
		snapshot->error = hp_xstrdup(scene->has_report ? hp_cpu_empty(&scene->report)
							       : "the program has ended");
		return true;
	}
	snapshot->report = list_new(scene);
	clock_gettime(CLOCK_REALTIME, &now);
	snapshot->captured_at_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	snapshot->duration_ms = (hp_clock_raw_ns() - snapshot->began_ns) / 1000000;
	snapshot->status = HP_CPU_SNAPSHOT_READY;
	return true;
}

struct hp_answer *hp_cpu_snapshot_show(struct hp_scene *scene, const struct hp_request *request)
{
	const struct hp_cpu_snapshot *snapshot = &scene->cpu_snapshot;
	cJSON *envelope;

	(void)request;
	if (!is_sampled(&scene->report) && snapshot->status == HP_CPU_SNAPSHOT_IDLE)
		return not_sampled(scene);
	envelope = cJSON_CreateObject();
	cJSON_AddStringToObject(envelope, "status", status_names[snapshot->status]);
	if (snapshot->captured_at_ms) {
		hp_json_whole(envelope, "captured_at_ms", snapshot->captured_at_ms);
		hp_json_whole(envelope, "capture_duration_ms", snapshot->duration_ms);
	}
	if (snapshot->error)
		cJSON_AddStringToObject(envelope, "error", snapshot->error);
	if (snapshot->report)
		cJSON_AddItemToObject(envelope, "report", cJSON_Duplicate(snapshot->report, 1));
	if (is_sampled(&scene->report))
		cJSON_AddItemToObject(envelope, "now", list_new(scene));
	return hp_answer_json(200, envelope);
}
