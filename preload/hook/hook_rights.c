/* SPDX-License-Identifier: MIT */
/*
 * hook_rights.c - interposes calls that change a process's credentials
 * (preload/thread/level.h).
 *
 * The real call is made first; its effect is read from the kernel. Raw system
 * calls are seen if they go through syscall() (hook_confine.c).
 */
#include <sched.h>
#include <stdbool.h>
#include <unistd.h>

#include "preload/guest/guest.h"
#include "preload/guest/real.h"
#include "preload/lock/file.h"
#include "preload/thread/drop.h"

/* Not in all headers. */
int capset(void *header, const void *data);

static int changed(int result)
{
	if (result == 0)
		hp_drop_look();
	return result;
}

HP_EXPORT int setuid(uid_t user)
{
	return changed(hp_real()->setuid(user));
}

HP_EXPORT int setgid(gid_t group)
{
	return changed(hp_real()->setgid(group));
}

HP_EXPORT int seteuid(uid_t user)
{
	return changed(hp_real()->seteuid(user));
}

HP_EXPORT int setegid(gid_t group)
{
	return changed(hp_real()->setegid(group));
}

HP_EXPORT int setreuid(uid_t real, uid_t effective)
{
	return changed(hp_real()->setreuid(real, effective));
}

HP_EXPORT int setregid(gid_t real, gid_t effective)
{
	return changed(hp_real()->setregid(real, effective));
}

HP_EXPORT int setresuid(uid_t real, uid_t effective, uid_t saved)
{
	return changed(hp_real()->setresuid(real, effective, saved));
}

HP_EXPORT int setresgid(gid_t real, gid_t effective, gid_t saved)
{
	return changed(hp_real()->setresgid(real, effective, saved));
}

/* Only the calling thread's. */
HP_EXPORT int capset(void *header, const void *data)
{
	int result = hp_real()->capset(header, data);

	if (result == 0)
		hp_drop_look_at_thread();
	return result;
}

HP_EXPORT int unshare(int flags)
{
	int result = hp_real()->unshare(flags);

	if (result == 0 && flags & CLONE_NEWUSER)
		hp_drop_look_at_thread();
	if (result == 0 && flags & CLONE_FILES)
		hp_file_keep_none();
	return result;
}

/* The descriptor determines its kind. */
HP_EXPORT int setns(int fd, int kind)
{
	int result = hp_real()->setns(fd, kind);

	if (result == 0)
		hp_drop_look_at_thread();
	return result;
}
