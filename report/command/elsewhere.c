/* SPDX-License-Identifier: MIT */
/*
 * elsewhere.c - sub-commands in our other executables: a server and a terminal's
 * screens load libraries that a report should not.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/command/command.h"
#include "report/base/memory.h"
#include "segment/session.h"

int hp_cmd_live(int argc, char **argv)
{
	static char live[] = "hotpath-live", console[] = "hotpath-console";
	char *name = strcmp(argv[0], "console") == 0 ? console : live;
	char **arguments = hp_xcalloc((size_t)argc + 2, sizeof(*arguments));
	char folder[HP_HELPER_PATH], path[HP_HELPER_PATH], *slash;
	ssize_t size = readlink("/proc/self/exe", folder, sizeof(folder) - 1);

	folder[size > 0 ? size : 0] = 0;
	slash = strrchr(folder, '/');
	if (slash)
		*slash = 0;
	hp_session_helper_path(path, getenv("HOTPATH_BIN"), folder, name);
	arguments[0] = name;
	memcpy(arguments + 1, argv, (size_t)argc * sizeof(*argv));
	execv(path, arguments);
	fprintf(stderr, "hotpath: %s: %s; HOTPATH_BIN names the folder of %s\n", path,
		strerror(errno), name);
	free(arguments);
	return HP_EXIT_FAILED;
}
