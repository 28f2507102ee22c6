/* SPDX-License-Identifier: MIT */
/*
 * save.c - see save.h.
 */
#include "live/console/loop/save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "report/base/format.h"

static bool write_all(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t done = write(fd, bytes, size);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		bytes += done;
		size -= (size_t)done;
	}
	return true;
}

/* Creates a new file: name.json, name-2.json … */
static int file_make(char *name, size_t size, double pid)
{
	char stamp[32];
	time_t now = time(NULL);
	struct tm local;
	int fd = -1;

	strftime(stamp, sizeof(stamp), "%Y%m%d-%H%M%S", localtime_r(&now, &local));
	for (int i = 1; i < 100 && fd < 0; i++) {
		char more[8] = "";

		if (i > 1)
			snprintf(more, sizeof(more), "-%d", i);
		snprintf(name, size, "hotpath-%.0f-%s%s.json", pid, stamp, more);
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd;
}

void hp_app_save(struct hp_app *app, const struct hp_heard *heard)
{
	struct hp_text_cell cell;
	char name[96];
	int fd;

	if (heard->status != 200 || !heard->body) {
		hp_app_say(app, "nothing was saved: %s",
			   *heard->said ? heard->said : "the server does not provide it");
		return;
	}
	fd = file_make(name, sizeof(name), app->pid);
	if (fd < 0) {
		hp_app_say(app, "cannot write here: %s", strerror(errno));
		return;
	}
	if (write_all(fd, heard->body, heard->size))
		hp_app_say(app, "saved %s (%s)", name, hp_format_bytes(&cell, heard->size));
	else
		hp_app_say(app, "%s: %s", name, strerror(errno));
	close(fd);
}
