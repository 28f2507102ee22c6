/* SPDX-License-Identifier: MIT */
/*
 * stacks.c - see stacks.h.
 *
 * `hotpath stacks` takes them, in a process of its own: it stops threads with ptrace, and the server
 * must neither be a tracer nor hold what that process needs for names.
 */
#include "live/answer/stacks.h"

#include <stdio.h>
#include <string.h>

#include "live/answer/report_snapshot.h"
#include "report/base/capture.h"
#include "report/base/memory.h"
#include "report/base/place.h"
#include "segment/session.h"

/* Only processes of this program: the server must not be a way to others. */
static bool is_running(const struct hp_model *model, uint64_t pid)
{
	for (size_t i = 0; i < model->process_count; i++)
		if (model->processes[i].pid == pid && model->processes[i].is_running)
			return true;
	return false;
}

static struct hp_answer *taken(uint64_t pid)
{
	static char command[] = "stacks", format[] = "--json", all[] = "--all";
	char folder[HP_HELPER_PATH], path[HP_HELPER_PATH], number[24];
	char *argv[] = { path, command, format, all, number, NULL };
	struct hp_capture capture;
	struct hp_answer *answer;

	hp_place_folder(folder);
	hp_session_helper_path(path, NULL, folder, "hotpath");
	snprintf(number, sizeof(number), "%llu", (unsigned long long)pid);
	hp_capture_init(&capture, argv, NULL);
	/* Where the stacks may not be taken it still prints JSON: why, and what was recorded. */
	if (capture.out[0] == '{')
		answer = hp_answer_new(200, HP_TYPE_JSON, hp_xstrdup(capture.out),
				       strlen(capture.out));
	else
		answer = hp_answer_error(500, NULL, "hotpath stacks failed: %.200s",
					 capture.error ? strerror(capture.error) : capture.err);
	hp_capture_release(&capture);
	return answer;
}

struct hp_answer *hp_stacks_render(struct hp_snapshot *snapshot, const struct hp_request *request)
{
	const struct hp_model *model = &snapshot->report.model;
	uint64_t pid = hp_request_number(request, "pid", model->reader.header.root_pid, UINT32_MAX);

	if (!hp_target_is_live(&snapshot->target))
		return hp_answer_error(404, "sessions lists running programs",
				       "The program has ended: its threads have no stacks");
	if (!is_running(model, pid))
		return hp_answer_error(404, "processes lists them",
				       "%llu is no running process of this program",
				       (unsigned long long)pid);
	return taken(pid);
}
