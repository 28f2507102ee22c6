/* SPDX-License-Identifier: MIT */
/*
 * file.c - see file.h.
 */
#include "preload/lock/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/guest/confine.h"
#include "preload/guest/guest.h"
#include "preload/guest/self.h"

#define HP_NO_ADDRESS (UINT64_C(1) << 63)	/* no object has an address with it */

void hp_lock_file_name(int fd, char *name, size_t room)
{
	char link[40];
	ssize_t length;
	int saved = errno;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = hp_is_confined() ? -1 : syscall(SYS_readlinkat, AT_FDCWD, link, name, room - 1);
	name[length > 0 ? length : 0] = 0;
	errno = saved;
}

uintptr_t hp_file_address(int fd)
{
	struct stat stat;
	int saved = errno;
	bool is_known = !hp_is_confined() && fstat(fd, &stat) == 0;

	if (!is_known && !hp_is_confined() && errno != EBADF)
		hp_refused();
	errno = saved;
	return is_known ? hp_lock_hash(stat.st_ino ^ (uint64_t)stat.st_dev << 40) | HP_NO_ADDRESS
			: 0;
}
