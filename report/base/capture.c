/* SPDX-License-Identifier: MIT */
/*
 * capture.c - see capture.h.
 *
 * The output goes to unnamed files, not pipes: no need to read two pipes at
 * once, and a surviving grandchild cannot block us. The input is an empty file,
 * because a container may have no /dev/null.
 */
#include "report/base/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/base/memory.h"

extern char **environ;

static int open_sink(void)
{
	int fd = memfd_create("hotpath-capture", MFD_CLOEXEC);

	return fd >= 0 ? fd : open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

/* Closes it, too. */
static char *read_sink(int fd)
{
	struct stat status;
	size_t size = fd >= 0 && fstat(fd, &status) == 0 ? (size_t)status.st_size : 0;
	char *text = hp_xmalloc(size + 1);
	ssize_t got = size ? pread(fd, text, size, 0) : 0;

	text[got > 0 ? got : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return text;
}

/* Returns 0 or errno. */
static int spawn(pid_t *pid, const int streams[3], char *const *argv, char *const *environment)
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	for (int i = 0; i < 3; i++)
		posix_spawn_file_actions_adddup2(&actions, streams[i], i);
	error = posix_spawnp(pid, argv[0], &actions, NULL, argv,
			     environment ? environment : environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void hp_capture_init(struct hp_capture *capture, char *const *argv, char *const *environment)
{
	const int streams[3] = { open_sink(), open_sink(), open_sink() };
	bool has_all = streams[0] >= 0 && streams[1] >= 0 && streams[2] >= 0;
	pid_t pid;

	*capture = (struct hp_capture){ .status = -1 };
	capture->error = has_all ? spawn(&pid, streams, argv, environment) : errno;
	if (!capture->error)
		capture->status = wait_for(pid);
	free(read_sink(streams[0]));
	capture->out = read_sink(streams[1]);
	capture->err = read_sink(streams[2]);
}

void hp_capture_release(struct hp_capture *capture)
{
	free(capture->out);
	free(capture->err);
	*capture = (struct hp_capture){ .status = -1 };
}
