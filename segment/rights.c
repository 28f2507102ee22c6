/* SPDX-License-Identifier: MIT */
/*
 * rights.c - see rights.h.
 */
#include "segment/rights.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINK_MAX 32	/* "user:[4026531837]" */

/* pid 0 = the calling thread. */
static bool capabilities_of(uint32_t pid, uint64_t *permitted)
{
	struct __user_cap_header_struct which = { .version = _LINUX_CAPABILITY_VERSION_3,
						  .pid = (int)pid };
	struct __user_cap_data_struct what[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	if (syscall(SYS_capget, &which, what) != 0)
		return false;
	*permitted = what[0].permitted | (uint64_t)what[1].permitted << 32;
	return true;
}

bool hp_rights_own(struct hp_rights *rights)
{
	*rights = (struct hp_rights){ .user_namespace = 0 };
	if (syscall(SYS_getresuid, &rights->uids[0], &rights->uids[1], &rights->uids[2]) != 0 ||
	    syscall(SYS_getresgid, &rights->gids[0], &rights->gids[1], &rights->gids[2]) != 0 ||
	    !capabilities_of(0, &rights->capabilities))
		return false;
	hp_rights_settle(rights);
	return true;
}

uint64_t hp_rights_namespace(int folder, const char *link)
{
	char text[LINK_MAX];
	long size = syscall(SYS_readlinkat, folder, link, text, sizeof(text));
	uint64_t inode = 0;
	long i = 0;

	while (i < size && text[i] != '[')
		i++;
	for (i++; i < size && text[i] >= '0' && text[i] <= '9'; i++)
		inode = inode * 10 + (uint64_t)(text[i] - '0');
	return inode;
}

/*
 * The kernel lets a process without CAP_SYS_PTRACE open such files only if its ids are all of the
 * other one's, real, effective and saved.  Ids do not matter where it can take any.
 */
static bool ids_are_shared(const struct hp_rights *own)
{
	uint64_t any = HP_RIGHT_SETUID | HP_RIGHT_SETGID;

	if (own->capabilities & HP_RIGHT_PTRACE)
		return (own->capabilities & any) == any;
	return own->uids[0] == own->uids[2] && own->gids[0] == own->gids[2];
}

uint64_t hp_rights_shared(int folder, uint32_t pid)
{
	struct hp_rights own;
	uint64_t capabilities, space = hp_rights_namespace(AT_FDCWD, "/proc/self/ns/user");

	/* The folder comes last: its process has not ended, so that the pid meant it before, too. */
	bool are_shared = space && hp_rights_own(&own) && ids_are_shared(&own) &&
			  capabilities_of(pid, &capabilities) && capabilities == own.capabilities &&
			  hp_rights_namespace(folder, "ns/user") == space;

	return are_shared ? space : 0;
}
