/* SPDX-License-Identifier: MIT */
/*
 * samply.c - see samply.h.
 */
#include "sampler/session/samply.h"
#include "segment/layout/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "segment/session.h"

#define FOLDER_USUAL "/tmp/hotpath"

extern char **environ;

/* In our folder, or HOTPATH_SAMPLY_WRAPPER_BIN. */
static void find_wrapper(char path[PATH_MAX])
{
	const char *wish = getenv("HOTPATH_SAMPLY_WRAPPER_BIN");
	char folder[HP_HELPER_PATH], found[HP_HELPER_PATH];
	ssize_t size = readlink("/proc/self/exe", folder, sizeof(folder) - 1);

	if (wish && *wish) {
		snprintf(path, PATH_MAX, "%s", wish);
		return;
	}
	folder[size > 0 ? size : 0] = '\0';
	char *slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	hp_session_helper_path(found, getenv("HOTPATH_BIN"), folder, "hotpath-samply");
	snprintf(path, PATH_MAX, "%s", found);
}

/* Sessions of all users are in one folder, like /tmp: nobody else may rename ours. */
static bool is_safe(const char *place)
{
	struct stat status;

	return lstat(place, &status) == 0 && S_ISDIR(status.st_mode) &&
	       (status.st_uid == geteuid() || status.st_uid == 0 || status.st_mode & S_ISVTX);
}

static bool make_folder(char folder[PATH_MAX], uint32_t pid)
{
	const char *wish = getenv("HOTPATH_PROFILE_DIR");
	bool is_usual = !wish || !*wish || strcmp(wish, "off") == 0;
	char place[PATH_MAX - 64];
	struct timespec now;

	snprintf(place, sizeof(place), "%s", is_usual ? FOLDER_USUAL : wish);
	if (mkdir(place, 0755) == 0 && is_usual)
		chmod(place, 01777);
	if (is_usual && !is_safe(place)) {
		errno = EPERM;
		return false;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(folder, PATH_MAX, "%s/%" PRIu32 "-%" PRIu64, place, pid,
		 (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
	return mkdir(folder, 0700) == 0;
}

/* Runs the wrapper, which gets the segment, and waits for it.  Returns its wait status, or -errno. */
static int run_wrapper(const struct hp_samply *samply, const char *wrapper, char *const arguments[])
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	pid_t child;
	int status = 0;

	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, samply->segment->fd, HP_SAMPLER_SEGMENT_FD);
	int error = posix_spawnp(&child, wrapper, &actions, &attributes, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (error)
		return -error;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status;
}

static void fail(struct hp_samply *samply, const char *what, const char *reason)
{
	char line[PATH_MAX + 256];
	struct hp_ticking *ticking =
		(struct hp_ticking *)((char *)samply->segment->header + HP_TICKING_AT);

	int length = snprintf(line, sizeof(line), "%s: %s", what, reason);
	size_t size = sizeof(struct hp_text) + (size_t)length + 1;
	uint64_t offset = hp_segment_take(samply->segment, size, HP_LINE);
	struct hp_text *text = hp_segment_at(samply->segment, offset, size);

	samply->folder[0] = '\0';
	samply->record->fault = HP_SAMPLING_SAMPLY_FAILED;
	if (!text)
		return;
	text->length = (uint32_t)length;
	memcpy(text->bytes, line, (size_t)length);
	ticking->trouble = offset;
}

void hp_samply_start(struct hp_samply *samply, const struct hp_segment *segment,
		     struct hp_sampling *record, uint32_t pid)
{
	char number[16];
	char name[] = "hotpath-samply", mode[] = "--detach";
	char *arguments[] = { name, mode, number, samply->folder, NULL };

	samply->segment = segment;
	samply->record = record;
	if (!make_folder(samply->folder, pid)) {
		fail(samply,
		     "cannot create a folder for samply's session in /tmp/hotpath; HOTPATH_PROFILE_DIR names another",
		     strerror(errno));
		return;
	}
	find_wrapper(samply->wrapper);
	snprintf(number, sizeof(number), "%" PRIu32, pid);
	int status = run_wrapper(samply, samply->wrapper, arguments);
	if (status < 0)
		fail(samply, "the worker of samply was not started, hotpath-samply",
		     strerror(-status));
	else if (status > 0)
		fail(samply, "the worker of samply was not started", "hotpath-samply failed");
}

void hp_samply_finish(struct hp_samply *samply)
{
	char at[24];
	char name[] = "hotpath-samply", mode[] = "--finish";
	char *arguments[] = { name, mode, samply->folder, at, NULL };
	char own[PATH_MAX];

	if (!samply->folder[0] || samply->is_read)
		return;
	samply->is_read = true;
	unsetenv("HOTPATH_SAMPLY_WRAPPER_BIN");	/* another wrapper only records */
	find_wrapper(own);
	snprintf(at, sizeof(at), "%" PRIu64, hp_segment_offset(samply->segment, samply->record));
	int status = run_wrapper(samply, own, arguments);
	if (status < 0 || WIFSIGNALED(status))
		fail(samply, "samply's profile was not read, hotpath-samply",
		     status < 0 ? strerror(-status) : strsignal(WTERMSIG(status)));
}
