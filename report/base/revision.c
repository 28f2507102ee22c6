/* SPDX-License-Identifier: MIT */
/*
 * revision.c - see revision.h.
 *
 * .git is a folder, or in worktrees and submodules a file that names one; there
 * `commondir` leads to the branches. HEAD holds a revision or a branch name.
 * The branch's revision is in its own file or, when packed, in a line of
 * packed-refs.
 */
#include "report/base/revision.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/base/behalf.h"
#include "report/base/memory.h"

#define PACKED_MAX (8 << 20)	/* longer lists of branches are not read */

/* The contents of a small regular file, without the last newline; NULL = no such file. */
static char *read_file(const char *folder, const char *name, size_t most)
{
	char *path = hp_xprintf("%s/%s", folder, name);
	int fd = hp_behalf_open(path, 0);
	struct stat status;
	char *text = NULL;

	free(path);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &status) == 0 && (size_t)status.st_size <= most) {
		ssize_t size;

		text = hp_xmalloc((size_t)status.st_size + 1);
		size = read(fd, text, (size_t)status.st_size);
		size = size > 0 ? size : 0;
		while (size && text[size - 1] == '\n')
			size--;
		text[size] = 0;
	}
	close(fd);
	return text;
}

/* A revision: 40 or 64 hex digits. */
static bool take_sha(struct hp_revision *revision, const char *text)
{
	size_t size = strspn(text, "0123456789abcdef");

	if ((size != 40 && size != 64) || (text[size] && text[size] != ' '))
		return false;
	memcpy(revision->sha, text, size);
	revision->sha[size] = 0;
	return true;
}

static bool find_packed(struct hp_revision *revision, const char *common)
{
	char *text = read_file(common, "packed-refs", PACKED_MAX);
	bool is_found = false;

	for (char *next = text, *line; !is_found && (line = strsep(&next, "\n"));) {
		char *name = strchr(line, ' ');

		is_found = name && strcmp(name + 1, revision->ref) == 0 && take_sha(revision, line);
	}
	free(text);
	return is_found;
}

/* `folder` is .git, or the folder that it names. */
static bool read_head(struct hp_revision *revision, const char *folder)
{
	char *head = read_file(folder, "HEAD", PATH_MAX);
	char *shared = read_file(folder, "commondir", PATH_MAX);
	char *common = !shared		? hp_xstrdup(folder)
		       : *shared == '/' ? hp_xstrdup(shared)
					: hp_xprintf("%s/%s", folder, shared);
	char *value = NULL;
	bool is_found = head && take_sha(revision, head);

	if (head && !is_found && strncmp(head, "ref: refs/", 10) == 0 && !strstr(head, "..") &&
	    strlen(head + 5) < sizeof(revision->ref)) {
		strcpy(revision->ref, head + 5);
		value = read_file(common, revision->ref, PATH_MAX);
		is_found = (value && take_sha(revision, value)) || find_packed(revision, common);
	}
	free(head);
	free(shared);
	free(common);
	free(value);
	return is_found;
}

static bool read_repository(struct hp_revision *revision, const char *folder)
{
	char *git = hp_xprintf("%s/.git", folder);
	char *link = read_file(folder, ".git", PATH_MAX);
	bool is_found;

	if (link && strncmp(link, "gitdir: ", 8) == 0) {
		free(git);
		git = link[8] == '/' ? hp_xstrdup(link + 8) : hp_xprintf("%s/%s", folder, link + 8);
	}
	free(link);
	is_found = read_head(revision, git);
	free(git);
	return is_found;
}

bool hp_revision_find(struct hp_revision *revision, const char *file)
{
	char path[PATH_MAX], git[PATH_MAX + 8];
	struct stat status;
	char *slash;

	memset(revision, 0, sizeof(*revision));
	if (!realpath(file, path))
		return false;
	/* A folder names itself, a file the folder it is in. */
	if (stat(path, &status) == 0 && !S_ISDIR(status.st_mode) && (slash = strrchr(path, '/')))
		*slash = 0;
	for (;;) {
		snprintf(git, sizeof(git), "%s/.git", path);
		if (stat(git, &status) == 0)
			return read_repository(revision, path);
		slash = strrchr(path, '/');
		if (!slash)
			return false;
		*slash = 0;
	}
}
