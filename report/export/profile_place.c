/* SPDX-License-Identifier: MIT */
/*
 * profile_place.c - see profile_place.h.
 *
 * /tmp is shared and the folder in it may belong to another user. So it must be
 * owned by us or root, or be sticky, and files in it are only used if we
 * created them.
 */
#include "report/export/profile_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/export/export.h"
#include "report/base/memory.h"
#include "segment/section_key.h"

#define USUAL "/tmp/hotpath"

static void say(hp_complain complain, void *context, const char *path, int error)
{
	char *line = hp_xprintf("the profile is not written: %s: %s; HOTPATH_PROFILE_DIR names "
				"another folder",
				path, strerror(error));

	if (complain)
		complain(context, line);
	free(line);
}

static bool is_possible(const struct hp_report *report)
{
	const char *folder = report->settings->profile_dir;

	/* samply has written one already. */
	if (!report->model.sampling.record.samples || report->model.sampling.profile)
		return false;
	return !folder || (*folder && strcmp(folder, "off") != 0);
}

/* The folder for all runs, open; -1 and errno. */
static int base_open(const char *path, bool is_usual)
{
	struct stat stat;
	int fd;

	/* Other users must be able to put theirs there, too. */
	if (mkdir(path, 0755) == 0 && is_usual && chmod(path, 01777) != 0)
		return -1;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (is_usual ? O_NOFOLLOW : 0));
	if (fd < 0 || !is_usual)
		return fd;
	if (fstat(fd, &stat) == 0 &&
	    (stat.st_uid == geteuid() || stat.st_uid == 0 || (stat.st_mode & S_ISVTX)))
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

void hp_profile_place(struct hp_report *report, hp_complain complain, void *context)
{
	const struct hp_settings *settings = report->settings;

	if (settings->profile_dir || hp_settings_names(settings, HP_KEY_FUNCTIONS_CPU))
		hp_profile_place_asked(report, complain, context);
}

void hp_profile_place_asked(struct hp_report *report, hp_complain complain, void *context)
{
	const char *given = report->settings->profile_dir;
	const char *base = given && *given ? given : USUAL;
	const struct hp_header *header = &report->model.reader.header;
	char *name;
	int fd;

	if (!is_possible(report))
		return;
	fd = base_open(base, base != given);
	if (fd < 0) {
		say(complain, context, base, errno);
		return;
	}
	name = hp_xprintf("%u-%lld", header->root_pid, (long long)header->created_unix_ns);
	/* For processes that outlived the program: it exists and is rewritten. */
	if (mkdirat(fd, name, 0700) == 0 || errno == EEXIST) {
		/* A live report has one for each snapshot. */
		free(report->profile_path);
		report->profile_path = hp_xprintf("%s/%s/hp.json.gz", base, name);
	} else {
		say(complain, context, base, errno);
	}
	free(name);
	close(fd);
}

/* A pipe without a reader must not stop the report. */
static int regular_open(int at, const char *name)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct stat stat;

	if (fd < 0)
		return -1;
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && ftruncate(fd, 0) == 0)
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

/* Open and empty; -1 and errno. */
static int file_open(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = hp_xprintf("%.*s", (int)(slash - path), path);
	int at = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat stat;
	int fd = -1;

	free(folder);
	if (at < 0)
		return -1;
	if (fstat(at, &stat) != 0 || stat.st_uid != geteuid())
		errno = EPERM;
	else
		fd = regular_open(at, slash + 1);
	close(at);
	return fd;
}

void hp_profile_keep(struct hp_report *report, hp_complain complain, void *context)
{
	int fd, error;

	if (!report->profile_path)
		return;
	fd = file_open(report->profile_path);
	error = fd < 0 ? -errno : hp_export_firefox(report, fd);
	if (fd >= 0 && close(fd) != 0 && !error)
		error = -errno;
	if (error)
		say(complain, context, report->profile_path, -error);
}
