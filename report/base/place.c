/* SPDX-License-Identifier: MIT */
/*
 * place.c - see place.h.
 */
#include "report/base/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "report/base/memory.h"

#define NAME "libhotpath.so"

void hp_place_folder(char folder[HP_HELPER_PATH])
{
	ssize_t size = readlink("/proc/self/exe", folder, HP_HELPER_PATH - 1);
	const char *name = (const char *)getauxval(AT_EXECFN);	/* without /proc */

	folder[size > 0 ? size : 0] = '\0';
	if (size <= 0 && name)
		snprintf(folder, HP_HELPER_PATH, "%s", name);
	char *slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
}

/* `folder` comes from the kernel, so its parent is its text less the last part. */
static int parent_length(const char *folder)
{
	const char *slash = strrchr(folder, '/');

	return slash ? (int)(slash - folder) : 0;
}

bool hp_place_library(char path[HP_HELPER_PATH], const char *folder)
{
	static const char *const places[] = {
		"/lib",
		"/lib64",
#if defined(__x86_64__)
		"/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
		"/lib/aarch64-linux-gnu",
#endif
		"/lib/hotpath"
	};
	const char *wished = getenv("HOTPATH_LIB");
	int parent = parent_length(folder);

	if (wished && *wished) {
		snprintf(path, HP_HELPER_PATH, "%s", wished);
		return access(path, R_OK) == 0;
	}
	int size = snprintf(path, HP_HELPER_PATH, "%s/" NAME, folder);
	if (size < HP_HELPER_PATH && access(path, R_OK) == 0)
		return true;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		size = snprintf(path, HP_HELPER_PATH, "%.*s%s/" NAME, parent, folder, places[i]);
		if (size < HP_HELPER_PATH && access(path, R_OK) == 0)
			return true;
	}
	snprintf(path, HP_HELPER_PATH, "%.*s/lib/" NAME, parent, folder);
	return false;
}

/* Installed, or in the tree of the source. */
char *hp_place_suppressions(const char *folder)
{
	static const char *const places[] = { "../share/hotpath/hotpath.supp",
					      "../scripts/package/hotpath.supp" };
	char *file = NULL;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !file; i++) {
		char *place = hp_xprintf("%s/%s", folder, places[i]);

		file = realpath(place, NULL);
		free(place);
	}
	return file;
}

bool hp_place_has_program(const char *name)
{
	const char *path = getenv("PATH");
	bool is_found = false;

	while (path && *path && !is_found) {
		int length = (int)strcspn(path, ":");
		char file[HP_HELPER_PATH];
		int size = snprintf(file, sizeof(file), "%.*s/%s", length, path, name);

		is_found = length && size < (int)sizeof(file) && access(file, X_OK) == 0;
		path += length + (path[length] == ':');
	}
	return is_found;
}
