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

/* What the file is instead of an address. */
static uintptr_t address_of(int fd)
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

struct hp_use *hp_file_use(struct hp_lock_call *call, int fd, bool is_shared, uintptr_t caller)
{
	if (HP_UNLIKELY(hp_lock_is_off()))
		return NULL;
	*call = (struct hp_lock_call){ .address = address_of(fd),
				       .caller = caller,
				       .kind = HP_LOCK_FILE,
				       .side = is_shared ? HP_SIDE_READ : HP_SIDE_WRITE,
				       .fd = fd };
	return call->address ? hp_lock_use(call) : NULL;
}
