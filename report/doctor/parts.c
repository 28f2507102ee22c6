/* SPDX-License-Identifier: MIT */
/*
 * parts.c - hotpath itself: are its parts present, of one version, and working?
 * The trials are decisive; the other checks explain why one failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/doctor/c_library.h"
#include "report/base/capture.h"
#include "report/doctor/check.h"
#include "report/base/memory.h"
#include "segment/version.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define VERSION_MAX 31

extern char **environ;

/* --- trials --- */

/*
 * Our environment without hotpath's variables and preloaded libraries, plus
 * `more`, NULL-terminated.
 */
static char **environment_with(char *const *more)
{
	size_t count = 0, kept = 0, extra = 0;

	while (environ[count])
		count++;
	while (more[extra])
		extra++;
	char **copy = hp_xcalloc(count + extra + 1, sizeof(*copy));
	for (size_t i = 0; i < count; i++) {
		bool is_where = strncmp(environ[i], "HOTPATH_BIN=", 12) == 0 ||
				strncmp(environ[i], "HOTPATH_LIB=", 12) == 0 ||
				strncmp(environ[i], "HOTPATH_SEGMENT_SIZE=", 21) == 0;

		if (is_where || (strncmp(environ[i], "HOTPATH_", 8) != 0 &&
				 strncmp(environ[i], "LD_PRELOAD=", 11) != 0))
			copy[kept++] = environ[i];
	}
	memcpy(copy + kept, more, extra * sizeof(*more));
	return copy;
}

/* Our first line that is not part of a report; otherwise the first line. */
static char *complaint_of(const struct hp_capture *capture)
{
	const char *line = strstr(capture->err, "hotpath: ");

	line = line ? line + strlen("hotpath: ") : capture->err;
	if (!*line)
		return capture->error ? hp_xstrdup(strerror(capture->error))
				      : hp_xprintf("no report, exit status %d", capture->status);
	return hp_xprintf("%.*s", (int)strcspn(line, "\n"), line);
}

enum { TRIAL_WORKS, TRIAL_PARTLY, TRIAL_FAILED };

/* The tested program is the command itself: it exists and can be preloaded. */
static size_t trial(struct hp_finding *finding, char *const *argv, char *const *more)
{
	char **environment = environment_with(more);
	struct hp_capture capture;

	hp_capture_init(&capture, argv, environment);
	free(environment);
	bool is_reported = capture.status == 0 && strstr(capture.err, "[hotpath] ");
	bool is_told = strstr(capture.err, "hotpath: ") || !is_reported;
	finding->found = is_told ? complaint_of(&capture)
				 : hp_xstrdup("a program was recorded and its report printed");
	hp_capture_release(&capture);
	return !is_reported ? TRIAL_FAILED : is_told ? TRIAL_PARTLY : TRIAL_WORKS;
}

static char not_kept[] = "HOTPATH_KEEP=0";
static char own_session[] = "HOTPATH_SESSION=";	/* if we are profiled, it would join our session */

static size_t look_run(struct hp_patient *patient, struct hp_finding *finding)
{
	static char run[] = "run", end[] = "--", version[] = "version";
	char *argv[] = { patient->command, run, end, patient->command, version, NULL };
	char *more[] = { not_kept, own_session, NULL };

	return trial(finding, argv, more);
}

static size_t look_preload(struct hp_patient *patient, struct hp_finding *finding)
{
	static char version[] = "version";
	char preload[HP_HELPER_PATH + 16];
	char *argv[] = { patient->command, version, NULL };
	char *more[] = { not_kept, own_session, preload, NULL };

	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", patient->library);
	return trial(finding, argv, more);
}

/* --- the files --- */

/* The version after the mark in one of our files; "" = none. */
static void version_of(const char *path, char version[VERSION_MAX + 1])
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	version[0] = '\0';
	if (fd < 0)
		return;
	size_t size = fstat(fd, &status) == 0 ? (size_t)status.st_size : 0;
	const char *file = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	close(fd);
	if (file == MAP_FAILED)
		return;
	const char *mark = memmem(file, size, HP_VERSION_MARK, strlen(HP_VERSION_MARK));
	if (mark) {
		const char *at = mark + strlen(HP_VERSION_MARK);
		size_t room = (size_t)(file + size - at);

		snprintf(version, VERSION_MAX + 1, "%.*s",
			 (int)(room < VERSION_MAX ? room : VERSION_MAX), at);
	}
	munmap((void *)(uintptr_t)file, size);
}

enum { PART_FINE, PART_LOST, PART_OTHER };

static size_t judge_part(const char *path, bool is_there, struct hp_finding *finding)
{
	char version[VERSION_MAX + 1];

	if (!is_there) {
		finding->found = hp_xprintf("no %s", path);
		return PART_LOST;
	}
	version_of(path, version);
	finding->found = hp_xprintf("%s, version %s", path, version[0] ? version : "unknown");
	return strcmp(version, HP_VERSION) == 0 ? PART_FINE : PART_OTHER;
}

static size_t look_library(struct hp_patient *patient, struct hp_finding *finding)
{
	size_t outcome = judge_part(patient->library, patient->has_library, finding);
	unsigned needed = patient->has_library ? hp_c_library_needed(patient->library) : 0;

	if (needed) {
		char text[HP_C_LIBRARY_TEXT], *part = finding->found;

		hp_c_library_text(needed, text);
		finding->found = hp_xprintf("%s; for programs with glibc %s or later", part, text);
		free(part);
	}
	return outcome;
}

static size_t look_sampler(struct hp_patient *patient, struct hp_finding *finding)
{
	char path[HP_HELPER_PATH];
	bool is_there = hp_session_helper_path(path, getenv("HOTPATH_BIN"), patient->folder,
					       "hotpath-sampler");

	return judge_part(path, is_there, finding);
}

enum { NAME_FINE, NAME_LOST, NAME_OTHER };

/* Uses the loader itself, which searches its cache and folders. */
static size_t look_name(struct hp_patient *patient, struct hp_finding *finding)
{
	static char list[] = "--list", preload[] = "LD_PRELOAD=libhotpath.so";
	struct hp_program self = { .obstacle = NULL };
	struct hp_capture capture;
	struct stat found, own;
	char path[HP_HELPER_PATH] = "";

	snprintf(self.path, sizeof(self.path), "%s", patient->command);
	hp_program_inspect(&self);
	char *argv[] = { self.linker, list, patient->command, NULL };
	char *more[] = { preload, NULL };
	char **environment = environment_with(more);
	hp_capture_init(&capture, argv, environment);
	free(environment);
	const char *line = strstr(capture.out, "libhotpath.so => ");
	if (line)
		sscanf(line, "libhotpath.so => %4095s", path);
	hp_capture_release(&capture);
	if (stat(path, &found) < 0) {
		finding->found = hp_xstrdup("libhotpath.so is in no folder that ld.so searches");
		finding->remedy = hp_xprintf("make install, or LD_PRELOAD=%s", patient->library);
		return NAME_LOST;
	}
	finding->found = hp_xprintf("LD_PRELOAD=libhotpath.so means %s", path);
	bool is_own = stat(patient->library, &own) == 0 && own.st_ino == found.st_ino &&
		      own.st_dev == found.st_dev;
	if (!is_own)
		finding->remedy = hp_xprintf("LD_PRELOAD=%s", patient->library);
	return is_own ? NAME_FINE : NAME_OTHER;
}

static const struct hp_check checks[] = {
	{ "run",
	  look_run,
	  { [TRIAL_WORKS] = { HP_LEVEL_OK, "hotpath run ./app", NULL, NULL },
	    [TRIAL_PARTLY] = { HP_LEVEL_LIMITED, "a report of the recorded data",
			       "the part in the line above", "see the checks below" },
	    [TRIAL_FAILED] = { HP_LEVEL_FAILED, NULL, "every profile by hotpath run",
			       "the line above; see the checks below" } } },
	{ "preload",
	  look_preload,
	  { [TRIAL_WORKS] = { HP_LEVEL_OK, "LD_PRELOAD=libhotpath.so ./app", NULL, NULL },
	    [TRIAL_PARTLY] = { HP_LEVEL_LIMITED, "a report of the recorded data",
			       "the part in the line above", "see the checks below" },
	    [TRIAL_FAILED] = { HP_LEVEL_FAILED, NULL, "every profile by LD_PRELOAD alone",
			       "the line above; see the checks below" } } },
	{ "library",
	  look_library,
	  { [PART_FINE] = { HP_LEVEL_OK, "it counts and times calls inside the program", NULL,
			    NULL },
	    [PART_LOST] = { HP_LEVEL_FAILED, NULL, "every profile",
			    "make install, or HOTPATH_LIB=/path/of/libhotpath.so" },
	    [PART_OTHER] = { HP_LEVEL_LIMITED, "what both versions support",
			     "perhaps the report: it has version " HP_VERSION,
			     "make install, or HOTPATH_LIB=/path/of/libhotpath.so" } } },
	{ "sampler",
	  look_sampler,
	  { [PART_FINE] = { HP_LEVEL_OK, "threads, and the report, however the program ends", NULL,
			    NULL },
	    [PART_LOST] = { HP_LEVEL_FAILED, NULL, "every report",
			    "make install, or HOTPATH_BIN=/folder/of/hotpath-sampler" },
	    [PART_OTHER] = { HP_LEVEL_LIMITED, "what both versions support",
			     "perhaps the report: it has version " HP_VERSION,
			     "make install, or HOTPATH_BIN=/folder/of/hotpath-sampler" } } },
	{ "bare-name",
	  look_name,
	  { [NAME_FINE] = { HP_LEVEL_OK, "LD_PRELOAD without a path", NULL, NULL },
	    [NAME_LOST] = { HP_LEVEL_LIMITED, "hotpath run; LD_PRELOAD with a path",
			    "LD_PRELOAD without a path", NULL },
	    [NAME_OTHER] = { HP_LEVEL_LIMITED, "hotpath run; LD_PRELOAD with a path",
			     "LD_PRELOAD without a path: that is another installation", NULL } } },
};

const struct hp_check_group hp_check_parts = { "hotpath itself", checks, COUNT(checks) };
