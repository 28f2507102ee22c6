/* SPDX-License-Identifier: MIT */
/*
 * behalf.c - see behalf.h.
 */
#include "report/base/behalf.h"

#include "util/open_as.h"

static _Thread_local struct hp_user current;

struct hp_user hp_behalf_begin(struct hp_user user)
{
	struct hp_user before = current;

	current = user;
	return before;
}

void hp_behalf_end(struct hp_user before)
{
	current = before;
}

/* O_NONBLOCK opens a pipe at once. */
int hp_behalf_open_any(const char *path, int flags)
{
	return hp_openat_as(&current, AT_FDCWD, path,
			    flags | O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

int hp_behalf_open(const char *path, int flags)
{
	int fd = hp_behalf_open_any(path, flags);
	struct stat status;

	if (fd < 0 || (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)))
		return fd;
	close(fd);
	errno = ENOENT;
	return -1;
}
