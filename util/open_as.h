/* SPDX-License-Identifier: MIT */
/*
 * open_as.h - open a file that another user named, with that user's rights.
 *
 * A recorded process names files: its debug information, its sources, its mapped files. When root reads them for it, it must get no more than the process
 * could read itself. So this thread takes the user's ids for files (fsuid,
 * fsgid, no further groups) and drops its capabilities, opens the file, and
 * takes everything back. The C library's functions for groups and capabilities
 * would change all threads; the system calls change this one.
 *
 * A thread that may not change its ids opens the file as itself and accepts it
 * only if its mode lets the user read it.
 */
#ifndef HP_UTIL_OPEN_AS_H
#define HP_UTIL_OPEN_AS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/user.h"

/* A thread's rights that are dropped for a moment. */
struct hp_own_rights {
	int group_count;
	gid_t *groups;
	struct __user_cap_data_struct capabilities[_LINUX_CAPABILITY_U32S_3];
	int dumpable;	/* the kernel resets this and the next when ids change */
	int death_signal;
};

static inline void hp_capabilities_change(const struct __user_cap_data_struct *to)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };

	syscall(SYS_capset, &header, to);
}

static inline bool hp_has_capabilities(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct now[_LINUX_CAPABILITY_U32S_3];

	return syscall(SYS_capget, &header, now) < 0 || now[0].effective || now[1].effective;
}

/* False = it has other rights than the user's now. */
static inline bool hp_rights_lend(struct hp_own_rights *own, const struct hp_user *user)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];
	int count = getgroups(0, NULL);

	memset(own, 0, sizeof(*own));
	own->dumpable = prctl(PR_GET_DUMPABLE);
	prctl(PR_GET_PDEATHSIG, &own->death_signal);
	if (syscall(SYS_capget, &header, own->capabilities) < 0)
		return false;
	memcpy(none, own->capabilities, sizeof(none));
	none[0].effective = none[1].effective = 0;
	if (count > 0 && (own->groups = malloc((size_t)count * sizeof(gid_t))))
		own->group_count = getgroups(count, own->groups);
	if (own->group_count > 0)
		syscall(SYS_setgroups, 0, NULL);
	setfsgid(user->group);
	setfsuid(user->user);
	hp_capabilities_change(none);
	return (uint32_t)setfsuid((uid_t)-1) == user->user &&
	       (uint32_t)setfsgid((gid_t)-1) == user->group && getgroups(0, NULL) == 0 &&
	       !hp_has_capabilities();
}

static inline void hp_rights_return(struct hp_own_rights *own)
{
	hp_capabilities_change(own->capabilities);
	setfsuid(geteuid());
	setfsgid(getegid());
	if (own->group_count > 0)
		syscall(SYS_setgroups, own->group_count, own->groups);
	/* An fsuid of 0 brings some back that were not effective. */
	hp_capabilities_change(own->capabilities);
	free(own->groups);
	if (own->dumpable == 1)
		prctl(PR_SET_DUMPABLE, 1);
	if (own->death_signal)
		prctl(PR_SET_PDEATHSIG, own->death_signal);
}

static inline bool hp_mode_lets_read(int fd, const struct hp_user *user)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return false;
	if (status.st_uid == user->user)
		return status.st_mode & S_IRUSR;
	return status.st_mode & (status.st_gid == user->group ? S_IRGRP : S_IROTH);
}

/* openat(2) for reading. */
static inline int hp_openat_as(const struct hp_user *user, int folder, const char *path, int flags)
{
	struct hp_own_rights own;
	bool is_user;
	int fd, error;

	if (!user->is_other)
		return (int)syscall(SYS_openat, folder, path, flags);
	is_user = hp_rights_lend(&own, user);
	fd = (int)syscall(SYS_openat, folder, path, flags);
	error = errno;
	hp_rights_return(&own);
	if (fd >= 0 && !is_user && !hp_mode_lets_read(fd, user)) {
		close(fd);
		fd = -1;
		error = EACCES;
	}
	errno = error;
	return fd;
}

#endif
