/* SPDX-License-Identifier: MIT */
/*
 * hook_fd.c - stand-ins for functions that create, copy and close
 * descriptors (fd.c).
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "preload/channel/channel.h"
#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/lock/file.h"
#include "segment/newer.h"
#include "segment/session.h"

static int pipe_with(int fds[2], int flags, uintptr_t caller)
{
	bool is_on = hp_channel_is_on();
	int result = hp_real()->pipe2(fds, flags);
	int saved;

	if (result != 0 || !is_on)
		return result;
	saved = errno;
	hp_channel_pipe(fds, flags, caller);
	errno = saved;
	return result;
}

HP_EXPORT int pipe(int fds[2])
{
	return pipe_with(fds, 0, HP_CALLER);
}

HP_EXPORT int pipe2(int fds[2], int flags)
{
	return pipe_with(fds, flags, HP_CALLER);
}

/* --- copies --- */

HP_EXPORT int dup(int fd)
{
	int copy = hp_real()->dup(fd);

	hp_channel_copied(fd, copy);
	return copy;
}

HP_EXPORT int dup2(int fd, int copy)
{
	int result = hp_real()->dup2(fd, copy);

	if (result >= 0)
		hp_channel_copied(fd, result);
	return result;
}

HP_EXPORT int dup3(int fd, int copy, int flags)
{
	int result = hp_real()->dup3(fd, copy, flags);

	if (result >= 0)
		hp_channel_copied(fd, result);
	return result;
}

/* --- closing --- */

HP_EXPORT int close(int fd)
{
	hp_channel_forget(fd);
	return hp_real()->close(fd);
}

HP_EXPORT int daemon(int keeps_directory, int keeps_descriptors)
{
	int result = hp_real()->daemon(keeps_directory, keeps_descriptors);

	for (int fd = 0; result == 0 && !keeps_descriptors && fd <= STDERR_FILENO; fd++)
		hp_channel_forget(fd);
	return result;
}

HP_EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	if (!hp_real()->close_range) {
		errno = ENOSYS;
		return -1;
	}
	if (flags & (int)CLOSE_RANGE_UNSHARE)
		hp_file_keep_none();
	if (!(flags & (int)CLOSE_RANGE_CLOEXEC))
		hp_channel_forget_range(first, last);
	return hp_real()->close_range(first, last, flags);
}

HP_EXPORT void closefrom(int first)
{
	hp_channel_forget_range(first < 0 ? 0 : (unsigned)first, HP_FDS);
	/* A program may refer to it weakly, and finds ours if the C library has none (before
	 * 2.34). */
	if (hp_real()->closefrom)
		hp_real()->closefrom(first);
	else
		hp_close_from(first < 0 ? 0 : first);
}
