/* SPDX-License-Identifier: MIT */
/*
 * stacks.c - see stacks.h.
 *
 * `hotpath stacks` takes them, in a separate process: it stops threads with ptrace, and the server
 * must neither be a tracer nor load data for names.
 */
#include "live/answer/stacks.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "live/answer/report_snapshot.h"
#include "report/base/capture.h"
#include "report/base/memory.h"
#include "report/base/place.h"
#include "segment/session.h"
#include "segment/segment.h"

static bool is_running(const struct hp_model *model, uint64_t pid)
{
	for (size_t i = 0; i < model->process_count; i++)
		if (model->processes[i].pid == pid && model->processes[i].is_running)
			return true;
	return false;
}

/*
 * True if the line of /proc/PID/maps is of the file.  Some file systems show another device there,
 * but not those whose files can be sealed.
 */
static bool is_mapping_of(const char *line, int fd)
{
	unsigned high, low;
	unsigned long long inode;
	struct stat status;

	return fd >= 0 && fstat(fd, &status) == 0 &&
	       sscanf(line, "%*s %*s %*s %x:%x %llu", &high, &low, &inode) == 3 &&
	       inode == status.st_ino &&
	       (makedev(high, low) == status.st_dev ||
		(high == 0 && major(status.st_dev) == 0 && fcntl(fd, F_GET_SEALS) < 0));
}

/*
 * A record is a claim: a worker that dropped root may write any pid into its segment, and we would
 * stop that process with our rights.  A member has a segment of the session mapped.
 */
static bool is_member(const struct hp_target *target, uint64_t pid)
{
	const struct hp_parts *parts = &target->mapped.parts;
	char path[32], *line = NULL;
	size_t room = 0;
	bool is_found = false;

	snprintf(path, sizeof(path), "/proc/%llu/maps", (unsigned long long)pid);
	FILE *file = fopen(path, "re");
	while (file && !is_found && getline(&line, &room, file) > 0) {
		is_found = is_mapping_of(line, target->fd);
		for (uint32_t i = 0; i < parts->count && !is_found; i++)
			is_found = is_mapping_of(line, parts->fd[i]);
	}
	free(line);
	if (file)
		fclose(file);
	return is_found;
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
	/* If the stacks may not be taken, it still prints JSON: the reason, and the recorded
	 * data. */
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
	char asked[32];
	uint64_t pid = model->reader.header.root_pid;

	/* Another process than the one that was meant must not be stopped. */
	if (hp_request_get(request, "pid", asked, sizeof(asked)) &&
	    !(pid = hp_request_number(request, "pid", 0, UINT32_MAX)))
		return hp_answer_error(400, "processes lists them", "%s is not a process id",
				       asked);
	if (!hp_target_is_live(&snapshot->target))
		return hp_answer_error(404, "sessions lists running programs",
				       "The program has ended: its threads have no stacks");
	/* The first process's pid is in the server's own segment, and the process may be static. */
	if (!is_running(model, pid) ||
	    (pid != model->reader.header.root_pid && !is_member(&snapshot->target, pid)))
		return hp_answer_error(404, "processes lists them",
				       "%llu is not a running process of this program",
				       (unsigned long long)pid);
	return taken(pid);
}
