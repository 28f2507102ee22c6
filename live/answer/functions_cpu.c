/* SPDX-License-Identifier: MIT */
/*
 * functions_cpu.c - see functions_cpu.h.
 */
#include "live/answer/functions_cpu.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "live/answer/lists.h"
#include "live/answer/report_snapshot.h"
#include "report/base/json.h"
#include "report/export/profile_place.h"
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

/* The list; without a file, its profile is at a route. */
static cJSON *list_new(struct hp_snapshot *snapshot)
{
	cJSON *list = hp_list_json(snapshot, &hp_cpu_section);

	if (!hp_cpu_profile(&snapshot->report))
		cJSON_ReplaceItemInObjectCaseSensitive(list, "profile_path",
						       cJSON_CreateString("/debug/pprof/profile"));
	return list;
}

/* What is there instead may be no file. */
static bool is_readable(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, R_OK) == 0;
}

/* The crate's console opens that file in its viewer.  It has the run so far. */
static void profile_write(struct hp_snapshot *snapshot)
{
	struct hp_report *report = &snapshot->report;
	char *slash;

	hp_profile_place_asked(report, NULL, NULL);
	hp_profile_keep(report, NULL, NULL);
	if (report->profile_path && !is_readable(report->profile_path)) {
		free(report->profile_path);
		report->profile_path = NULL;
	}
	free(snapshot->cpu_snapshot.folder);
	snapshot->cpu_snapshot.folder = NULL;
	if (!hp_cpu_profile(report))
		return;
	snapshot->cpu_snapshot.folder = hp_xstrdup(hp_cpu_profile(report));
	slash = strrchr(snapshot->cpu_snapshot.folder, '/');
	if (slash)
		*slash = 0;
}

/* The profile that was just written stays the report's. */
static bool renew(struct hp_snapshot *snapshot)
{
	char *path = snapshot->report.profile_path;

	snapshot->report.profile_path = NULL;
	if (!hp_snapshot_renew(snapshot)) {
		free(path);
		return false;
	}
	free(snapshot->report.profile_path);
	snapshot->report.profile_path = path;
	return true;
}

/* The samples since the last snapshot, or all of a finished run.  NULL = the program has ended. */
static cJSON *since_last(struct hp_snapshot *snapshot)
{
	struct hp_cpu_snapshot *capture = &snapshot->cpu_snapshot;
	struct hp_report *report = &snapshot->report;
	struct hp_cpu_seen *seen;
	cJSON *list;

	if (!hp_target_is_live(&snapshot->target))
		return list_new(snapshot);
	/* This report may have summed its samples already, for another answer or the profile. */
	if (capture->seen && !renew(snapshot))
		return NULL;
	seen = hp_cpu_seen_new(report);
	if (capture->seen)
		hp_cpu_seen_take_off(report, capture->seen);
	list = list_new(snapshot);
	if (capture->seen)
		hp_snapshot_drop(snapshot);
	free(capture->seen);
	capture->seen = seen;
	return list;
}

static void failed(struct hp_cpu_snapshot *capture, const char *why)
{
	capture->status = HP_CPU_SNAPSHOT_ERROR;
	capture->error = hp_xstrdup(why);
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
		failed(capture, snapshot->has_report ? hp_cpu_empty(&snapshot->report)
						     : "the program has ended");
		return true;
	}
	profile_write(snapshot);
	capture->report = since_last(snapshot);
	if (!capture->report) {
		failed(capture, "the program has ended");
		return true;
	}
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
	if (capture->folder)
		cJSON_AddStringToObject(envelope, "current_session_path", capture->folder);
	if (capture->error)
		cJSON_AddStringToObject(envelope, "error", capture->error);
	if (capture->report)
		cJSON_AddItemToObject(envelope, "report", cJSON_Duplicate(capture->report, 1));
	if (is_sampled(&snapshot->report))
		cJSON_AddItemToObject(envelope, "now", list_new(snapshot));
	return hp_answer_json(200, envelope);
}
