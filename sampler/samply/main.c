/* SPDX-License-Identifier: MIT */
/*
 * main.c - hotpath-samply: records a process with samply, for HOTPATH_CPU=samply.
 *
 *   hotpath-samply --detach PID FOLDER    starts a worker and returns
 *   hotpath-samply --worker PID FOLDER    runs samply until it is to stop
 *   hotpath-samply --finish FOLDER AT     stops it; its results go into the
 *                                         segment (descriptor 3), to the sampling
 *                                         record at the offset AT
 *
 * The worker is in a separate session: a terminal's Ctrl-C is for the program,
 * and so are samply's stops while it attaches.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/samply/profile.h"
#include "sampler/samply/session.h"
#include "segment/layout/process.h"
#include "segment/session.h"

#define FINISH_S 60	/* whatever happens, nobody waits longer for us */

static int fail(const char *text)
{
	fprintf(stderr, "hotpath-samply error: %s\n", text);
	return 1;
}

static bool is_pid(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

static int detach(const char *pid, const char *folder)
{
	pid_t child = fork();

	if (child < 0)
		return fail(strerror(errno));
	if (child > 0)
		return 0;
	setsid();
	int null = open("/dev/null", O_RDWR);
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	hp_close_from(3);
	execl("/proc/self/exe", "hotpath-samply", "--worker", pid, folder, (char *)NULL);
	_exit(1);
}

static uint64_t text_new(const struct hp_segment *segment, const char *bytes)
{
	size_t length = strlen(bytes);
	uint64_t offset = hp_segment_take(segment, sizeof(struct hp_text) + length + 1, HP_LINE);
	struct hp_text *text = hp_segment_at(segment, offset, sizeof(*text) + length + 1);

	if (!text)
		return 0;
	text->length = (uint32_t)length;
	memcpy(text->bytes, bytes, length);
	return offset;
}

static int finish(const char *folder, const char *at)
{
	char error[HP_SAMPLY_TEXT] = "", path[PATH_MAX];
	struct hp_segment segment;
	struct hp_sampling *record;

	alarm(FINISH_S);
	if (hp_segment_attach(&segment, HP_SAMPLER_SEGMENT_FD) < 0)
		return fail("--finish: descriptor 3 is not a segment");
	record = hp_segment_at(&segment, strtoull(at, NULL, 10), sizeof(*record));
	if (!record)
		return fail("--finish: there is no record");
	struct hp_ticking *ticking = (struct hp_ticking *)((char *)segment.header + HP_TICKING_AT);
	ticking->profile =
		hp_samply_path(path, folder, HP_SAMPLY_PROFILE) ? text_new(&segment, path) : 0;
	if (hp_samply_stop(folder, error) && hp_samply_read(&segment, record, path, error)) {
		record->source = HP_SAMPLING_SAMPLY;
		record->fault = HP_SAMPLING_FINE;
		return 0;
	}
	record->fault = HP_SAMPLING_SAMPLY_FAILED;
	ticking->trouble = text_new(&segment, error);
	return 1;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return fail("missing mode argument");
	if (strcmp(argv[1], "--finish") == 0)
		return argc == 4 ? finish(argv[2], argv[3]) : fail("--finish FOLDER AT");
	if (strcmp(argv[1], "--detach") != 0 && strcmp(argv[1], "--worker") != 0)
		return fail("the mode is --detach or --worker, with a pid and a folder");
	if (argc != 4 || !is_pid(argv[2]))
		return fail("a pid and a folder are needed");
	if (access(argv[3], W_OK) < 0)
		return fail("the folder does not exist, or belongs to another user");
	return argv[1][2] == 'd' ? detach(argv[2], argv[3]) : hp_samply_work(argv[2], argv[3]);
}
