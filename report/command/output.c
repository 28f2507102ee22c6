/* SPDX-License-Identifier: MIT */
/*
 * output.c - see output.h.
 *
 * stderr is shared with the program, so it is not made non-blocking: poll() tells when there
 * is room, and a pipe with room takes PIPE_BUF bytes.
 */
#include "report/command/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/exit.h"
#include "report/base/memory.h"
#include "report/base/trusted_open.h"
#include "segment/clock.h"
#include "util/tell.h"

#define READER_MS 1000	/* the reader of the pipe may have been started with the program */
#define SLICE_US 10000
#define LOCK_TRIES 100

static void make_parents(const char *path)
{
	char *copy = hp_xstrdup(path);

	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(copy, 0777);
		*slash = '/';
	}
	free(copy);
}

static int open_file(const char *path, int more)
{
	const int flags = O_WRONLY | O_CREAT | O_NOCTTY | O_NONBLOCK | more;
	int fd = hp_trusted_open(path, flags, 0666);

	if (fd < 0 && errno == ENOENT) {
		make_parents(path);
		fd = hp_trusted_open(path, flags, 0666);
	}
	if (fd >= 0)
		fcntl(fd, F_SETFL, O_WRONLY);
	return fd;
}

int hp_output_file(const char *path)
{
	return open_file(path, O_TRUNC);
}

/* A pipe without a reader may still get one. */
static bool is_unread(const char *path, int error)
{
	struct stat status;

	return error == ENXIO && stat(path, &status) == 0 && S_ISFIFO(status.st_mode);
}

static void fall_back(struct hp_output *output, const char *why)
{
	hp_tell("[hotpath] %s: %s; printing the report here instead\n", output->path, why);
	output->fd = 2;
}

void hp_output_open(struct hp_output *output, const char *path, int usual, uint64_t patience_ms)
{
	bool has_file = path && strcmp(path, "-") != 0;

	*output = (struct hp_output){ .fd = path ? 1 : usual,
				      .path = has_file ? path : NULL,
				      .patience_ms = patience_ms };
	if (!has_file)
		return;
	/* An earlier report stays until the text of this one is complete: claim empties the file. */
	output->fd = open_file(path, 0);
	if (output->fd < 0 && !is_unread(path, errno))
		fall_back(output, strerror(errno));
}

static int say_unwritten(const char *why)
{
	hp_tell("hotpath: cannot write the report: %s\n", why);
	return HP_EXIT_FAILED;
}

bool hp_output_is_done(const struct hp_output *output)
{
	return output->done == output->size;
}

/* False = it has none in this time. */
static bool has_room(const struct hp_output *output, int wait_ms)
{
	struct pollfd to = { .fd = output->fd, .events = POLLOUT };
	int count;

	while ((count = poll(&to, 1, wait_ms)) < 0 && errno == EINTR)
		;
	return count != 0;
}

/* Writes while there is room within the patience. Returns 0 or an exit status. */
static int write_on(struct hp_output *output, int wait_ms)
{
	while (!hp_output_is_done(output) && has_room(output, wait_ms)) {
		size_t left = output->size - output->done;
		ssize_t count = write(output->fd, output->text + output->done,
				      left < PIPE_BUF ? left : PIPE_BUF);

		if (count < 0 && errno != EINTR && errno != EAGAIN) {
			output->size = output->done;	/* there is nothing more to do */
			return say_unwritten(strerror(errno));
		}
		if (count > 0)
			output->done += (size_t)count;
	}
	return 0;
}

/*
 * Another session may write the same file now: a program that has lost the rights to its session
 * starts a new one. The last writer wins, with a complete file. A process that holds the lock
 * for longer is not ours, so we stop waiting for the lock.
 */
static int claim(const struct hp_output *output)
{
	struct stat status;

	if (output->fd <= 2 || fstat(output->fd, &status) < 0 || !S_ISREG(status.st_mode))
		return 0;
	for (int i = 0; i < LOCK_TRIES && flock(output->fd, LOCK_EX | LOCK_NB) < 0; i++)
		usleep(SLICE_US);
	return ftruncate(output->fd, 0) < 0 ? say_unwritten(strerror(errno)) : 0;
}

/* open_memstream clears the memory that it asks for in advance; this only uses what the text needs. */
static ssize_t collect(void *cookie, const char *bytes, size_t size)
{
	struct hp_output *output = cookie;
	char *text = output->text;

	if (size > output->room - output->size) {
		size_t room = (output->size + size) * 2;

		text = realloc(text, room);
		if (!text)
			return 0;
		output->text = text;
		output->room = room;
	}
	memcpy(text + output->size, bytes, size);
	output->size += size;
	return (ssize_t)size;
}

FILE *hp_output_stream(struct hp_output *output)
{
	const cookie_io_functions_t functions = { .write = collect };

	return fopencookie(output, "w", functions);
}

int hp_output_begin(struct hp_output *output)
{
	if (output->fd < 0)
		return 0;
	int status = claim(output);
	return status ? status : write_on(output, 0);
}

/* The pipe gets a reader, or stderr replaces it. */
static void wait_for_reader(struct hp_output *output)
{
	uint64_t deadline = hp_clock_raw_ns() + READER_MS * UINT64_C(1000000);

	while (output->fd < 0 && hp_clock_raw_ns() < deadline) {
		output->fd = hp_output_file(output->path);
		if (output->fd < 0)
			usleep(SLICE_US);
	}
	if (output->fd < 0)
		fall_back(output, "this pipe has no reader");
}

int hp_output_end(struct hp_output *output)
{
	int wait_ms = output->patience_ms && output->patience_ms < INT_MAX
			      ? (int)output->patience_ms
			      : -1;

	if (output->fd < 0)
		wait_for_reader(output);
	int status = write_on(output, wait_ms);
	return status || hp_output_is_done(output) ? status : say_unwritten("it has no reader");
}

int hp_output_add(struct hp_output *output, char *text)
{
	free(output->text);
	output->text = text;
	output->size = strlen(text);
	output->done = 0;
	return hp_output_end(output);
}

int hp_output_close(struct hp_output *output)
{
	int status = output->fd > 2 && close(output->fd) != 0 ? HP_EXIT_FAILED : 0;

	free(output->text);
	*output = (struct hp_output){ .fd = -1 };
	return status;
}
