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
#include <unistd.h>

#include "live/answer/report_snapshot.h"
#include "report/base/capture.h"
#include "report/base/memory.h"
#include "report/base/place.h"
#include "segment/session.h"
#include "segment/segment.h"

static const struct hp_model_process *running(const struct hp_model *model, uint64_t pid)
{
	for (size_t i = 0; i < model->process_count; i++)
		if (model->processes[i].pid == pid && model->processes[i].is_running)
			return &model->processes[i];
	return NULL;
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
static bool is_member(const struct hp_target *target, int process)
{
	const struct hp_parts *parts = &target->mapped.parts;
	char *line = NULL;
	size_t room = 0;
	bool is_found = false;
	int fd = openat(process, "maps", O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

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

/* Field 22 of its stat file; 0 = it has ended. */
static uint64_t started_at(int process)
{
	char text[1024];
	int fd = openat(process, "stat", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[size > 0 ? size : 0] = 0;
	const char *at = strrchr(text, ')');
	for (int i = 2; at && i < 22; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

/*
 * The start time of the process with this pid, if it belongs to the program; 0 = it does not. The
 * descriptor of /proc/PID never refers to a later process, so all that is read belongs together.
 *
 * The first process's pid is in the server's own segment, and the process may be static, without a
 * segment: then its record's start time proves it.
 */
static uint64_t member_started(const struct hp_snapshot *snapshot, uint64_t pid)
{
	const struct hp_model *model = &snapshot->report.model;
	const struct hp_model_process *record = running(model, pid);
	char path[32];
	uint64_t started;

	snprintf(path, sizeof(path), "/proc/%llu", (unsigned long long)pid);
	int process = record ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (process < 0)
		return 0;
	started = started_at(process);
	bool is_first = pid == model->reader.header.root_pid &&
			(!record->started || record->started == started);
	if (!is_first && !is_member(&snapshot->target, process))
		started = 0;
	close(process);
	return started;
}

static struct hp_answer *taken(uint64_t pid, uint64_t started)
{
	static char command[] = "stacks", format[] = "--json", all[] = "--all";
	char folder[HP_HELPER_PATH], path[HP_HELPER_PATH], number[24], when[40];
	char *argv[] = { path, command, format, all, when, number, NULL };
	struct hp_capture capture;
	struct hp_answer *answer;

	hp_place_folder(folder);
	hp_session_helper_path(path, NULL, folder, "hotpath");
	snprintf(number, sizeof(number), "%llu", (unsigned long long)pid);
	snprintf(when, sizeof(when), "--started=%llu", (unsigned long long)started);
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
	uint64_t pid = model->reader.header.root_pid, started;

	/* Another process than the one that was meant must not be stopped. */
	if (hp_request_get(request, "pid", asked, sizeof(asked)) &&
	    !(pid = hp_request_number(request, "pid", 0, UINT32_MAX)))
		return hp_answer_error(400, "processes lists them", "%s is not a process id",
				       asked);
	if (!hp_target_is_live(&snapshot->target))
		return hp_answer_error(404, "sessions lists running programs",
				       "The program has ended: its threads have no stacks");
	started = member_started(snapshot, pid);
	if (!started)
		return hp_answer_error(404, "processes lists them",
				       "%llu is not a running process of this program",
				       (unsigned long long)pid);
	return taken(pid, started);
}
