/* SPDX-License-Identifier: MIT */
/*
 * trusted_open.c - see trusted_open.h.
 *
 * The path is walked component by component. A link's owner and text are read
 * through one descriptor, so it cannot be swapped in between; its text replaces
 * it in the path. Links in /proc have targets without a path, and nobody else
 * can create any there, so the kernel follows them.
 */
#include "report/base/trusted_open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINKS_MAX 40	/* same limit as the kernel */
#define GO_ON (-2)

struct walk {
	int folder;	/* the folder that `rest` is relative to */
	char rest[PATH_MAX];
	unsigned links;
};

static int refuse(int error)
{
	errno = error;
	return -1;
}

/* Takes the next component; false = none is left. */
static bool part_take(struct walk *walk, char part[NAME_MAX + 1])
{
	const char *begin = walk->rest + strspn(walk->rest, "/");
	size_t length = strcspn(begin, "/");

	if (length == 0 || length > NAME_MAX)
		return false;
	memcpy(part, begin, length);
	part[length] = 0;
	memmove(walk->rest, begin + length, strlen(begin + length) + 1);
	return true;
}

static bool is_last(const struct walk *walk)
{
	return walk->rest[0] == 0;
}

static int folder_change(struct walk *walk, int to)
{
	if (to < 0)
		return -1;
	close(walk->folder);
	walk->folder = to;
	return 0;
}

static bool is_trusted(const struct stat *link, const struct stat *folder)
{
	bool is_for_all = (folder->st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH);

	return !is_for_all || link->st_uid == geteuid() || link->st_uid == 0 ||
	       link->st_uid == folder->st_uid;
}

/* Prepends the link's text to the remaining path. */
static int link_follow(struct walk *walk, int link, const struct stat *status)
{
	char text[PATH_MAX], rest[PATH_MAX];
	struct stat folder;
	ssize_t size;

	if (++walk->links > LINKS_MAX)
		return refuse(ELOOP);
	if (fstat(walk->folder, &folder) < 0)
		return -1;
	if (!is_trusted(status, &folder))
		return refuse(EACCES);
	size = readlinkat(link, "", text, sizeof(text) - 1);
	if (size <= 0)
		return refuse(size ? errno : ENOENT);
	text[size] = 0;
	if (snprintf(rest, sizeof(rest), "%s%s", text, walk->rest) >= (int)sizeof(rest))
		return refuse(ENAMETOOLONG);
	memcpy(walk->rest, rest, sizeof(rest));
	return text[0] != '/' ? 0
			      : folder_change(walk, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

static bool is_of_proc(int folder)
{
	struct statfs system;

	return fstatfs(folder, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/* One component. Returns GO_ON, or the result of the walk. */
static int step(struct walk *walk, const char *part, int flags, mode_t mode)
{
	bool is_by_kernel = is_of_proc(walk->folder);
	struct stat status;
	int at, result;

	if (is_last(walk) && is_by_kernel)
		return openat(walk->folder, part, flags, mode);
	at = openat(walk->folder, part, O_PATH | O_CLOEXEC | (is_by_kernel ? 0 : O_NOFOLLOW));
	if (at < 0 && errno == ENOENT && is_last(walk))
		return openat(walk->folder, part, flags | O_NOFOLLOW, mode);
	if (at < 0 || fstat(at, &status) < 0)
		return -1;
	if (S_ISLNK(status.st_mode)) {
		result = link_follow(walk, at, &status);
		close(at);
		return result < 0 ? -1 : GO_ON;
	}
	if (!is_last(walk))
		return folder_change(walk, at) < 0 ? -1 : GO_ON;
	close(at);
	return openat(walk->folder, part, flags | O_NOFOLLOW, mode);
}

static int walk_to(const char *path, int flags, mode_t mode)
{
	struct walk walk = { .folder = -1 };
	char part[NAME_MAX + 1];
	int result = GO_ON, saved;

	if (strlen(path) >= sizeof(walk.rest))
		return refuse(ENAMETOOLONG);
	strcpy(walk.rest, path);
	walk.folder = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (walk.folder < 0)
		return -1;
	while (result == GO_ON) {
		if (part_take(&walk, part))
			result = step(&walk, part, flags | O_CLOEXEC, mode);
		else	/* a folder: open reports the error */
			result = openat(walk.folder, ".", flags | O_CLOEXEC, mode);
	}
	saved = errno;
	close(walk.folder);
	errno = saved;
	return result;
}

int hp_trusted_open(const char *path, int flags, mode_t mode)
{
	int fd = walk_to(path, flags, mode);

	/*
	 * Only one descriptor is left and the walk needs two: then refuse any
	 * link as the last component.
	 */
	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, mode);
	return fd;
}
