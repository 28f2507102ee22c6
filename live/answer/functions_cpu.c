/* SPDX-License-Identifier: MIT */
/*
 * functions_cpu.c - see functions_cpu.h.
 */
#include "live/answer/functions_cpu.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "live/answer/lists.h"
#include "live/answer/report_snapshot.h"
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
static struct hp_answer *not_sampled(struct hp_snapshot *snapshot)
{
	return hp_answer_error(404, "hotpath doctor says what this machine allows", "%s",
			       hp_cpu_empty(&snapshot->report));
}

struct hp_answer *hp_cpu_snapshot_end(struct hp_snapshot *snapshot,
				      const struct hp_request *request, void *begun)
{
	struct hp_cpu_snapshot *capture = &snapshot->cpu_snapshot;
	cJSON *said;

	(void)request, (void)begun;
	if (!is_sampled(&snapshot->report))
		return not_sampled(snapshot);
	if (capture->due_ns)
		return hp_answer_error(409, NULL, "Snapshot already in progress");
	capture->status = HP_CPU_SNAPSHOT_RUNS;
	capture->began_ns = hp_clock_raw_ns();
	capture->due_ns = capture->began_ns + CAPTURE_NS;
	said = cJSON_CreateObject();
	cJSON_AddStringToObject(said, "status", "capturing");
	return hp_answer_json(202, said);
}

/* The list, with the crate's extra key: where to get the whole profile. */
static cJSON *list_new(struct hp_snapshot *snapshot)
{
	cJSON *list = hp_list_json(snapshot, &hp_cpu_section);

	cJSON_ReplaceItemInObjectCaseSensitive(list, "profile_path",
					       cJSON_CreateString("/debug/pprof/profile"));
	return list;
}

bool hp_cpu_snapshot_take(struct hp_snapshot *snapshot)
{
	struct hp_cpu_snapshot *capture = &snapshot->cpu_snapshot;
	struct timespec now;

	capture->due_ns = 0;
	cJSON_Delete(capture->report);
	free(capture->error);
	capture->report = NULL;
	capture->error = NULL;
	if (!snapshot->has_report || !is_sampled(&snapshot->report)) {
		capture->status = HP_CPU_SNAPSHOT_ERROR;
		capture->error = hp_xstrdup(snapshot->has_report ? hp_cpu_empty(&snapshot->report)
								 : "the program has ended");
		return true;
	}
	capture->report = list_new(snapshot);
	clock_gettime(CLOCK_REALTIME, &now);
	capture->captured_at_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	capture->duration_ms = (hp_clock_raw_ns() - capture->began_ns) / 1000000;
	capture->status = HP_CPU_SNAPSHOT_READY;
	return true;
}

struct hp_answer *hp_cpu_snapshot_show(struct hp_snapshot *snapshot,
				       const struct hp_request *request)
{
	const struct hp_cpu_snapshot *capture = &snapshot->cpu_snapshot;
	const struct hp_header *header = &snapshot->report.model.reader.header;
	char session[40];
	cJSON *envelope;

	(void)request;
	if (!is_sampled(&snapshot->report) && capture->status == HP_CPU_SNAPSHOT_IDLE)
		return not_sampled(snapshot);
	envelope = cJSON_CreateObject();
	cJSON_AddStringToObject(envelope, "status", status_names[capture->status]);
	if (capture->captured_at_ms) {
		hp_json_whole(envelope, "captured_at_ms", capture->captured_at_ms);
		hp_json_whole(envelope, "capture_duration_ms", capture->duration_ms);
	}
	snprintf(session, sizeof(session), "%u-%lld", header->root_pid,
		 (long long)header->created_unix_ns);
	cJSON_AddStringToObject(envelope, "current_session_id", session);
	if (capture->error)
		cJSON_AddStringToObject(envelope, "error", capture->error);
	if (capture->report)
		cJSON_AddItemToObject(envelope, "report", cJSON_Duplicate(capture->report, 1));
	if (is_sampled(&snapshot->report))
		cJSON_AddItemToObject(envelope, "now", list_new(snapshot));
	return hp_answer_json(200, envelope);
}
