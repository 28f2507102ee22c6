/* SPDX-License-Identifier: MIT */
/*
 * level.c - see level.h.
 */
#include "sampler/session/level.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/proc.h"

static bool read_ids(const char *text, const char *label, uint32_t ids[3])
{
	const char *at = strstr(text, label);

	return at && sscanf(at + strlen(label), "%" SCNu32 "%" SCNu32 "%" SCNu32, &ids[0], &ids[1],
			    &ids[2]) == 3;
}

bool hp_level_read(struct hp_level *level, uint32_t pid, uint32_t *parent)
{
	char path[64];

	hp_proc_path(path, pid, "status");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool is_read = hp_level_again(level, fd, pid, parent);
	if (fd >= 0)
		close(fd);
	return is_read;
}

bool hp_level_again(struct hp_level *level, int status, uint32_t pid, uint32_t *parent)
{
	char path[64], text[4096];
	const char *capabilities;
	struct hp_rights *rights = &level->rights;
	struct stat namespace;

	*level = (struct hp_level){ .user = 0 };
	if (hp_proc_again(status, text, sizeof(text)) < 0)
		return false;
	/* With its newline: a process's name, which comes first, may contain anything except
	 * that. */
	capabilities = strstr(text, "\nCapPrm:");
	if (!read_ids(text, "\nUid:", rights->uids) || !read_ids(text, "\nGid:", rights->gids) ||
	    !capabilities || sscanf(capabilities + 8, "%" SCNx64, &rights->capabilities) != 1)
		return false;
	level->user = rights->uids[1];
	level->group = rights->gids[1];
	hp_rights_settle(rights);
	hp_proc_path(path, pid, "ns/user");
	/* If we may not ask, it is ours or one below ours. */
	if (stat(path, &namespace) == 0)
		rights->user_namespace = namespace.st_ino;
	if (parent)
		*parent = (uint32_t)hp_proc_number(text, "\nPPid:");
	return true;
}

bool hp_level_is_same(const struct hp_level *a, const struct hp_level *b)
{
	return hp_rights_are_same(&a->rights, &b->rights);
}

bool hp_level_rules(const struct hp_level *above, const struct hp_level *below)
{
	uint64_t becomes = HP_RIGHT_SETUID | HP_RIGHT_SETGID;
	const struct hp_rights *a = &above->rights, *b = &below->rights;

	if (a->capabilities & HP_RIGHT_PTRACE)
		return true;
	/*
	 * The creator of a user namespace has all capabilities in it, and a process with the
	 * same ids counts as its creator.
	 */
	if (!hp_rights_have_same_namespace(a, b))
		return above->user == below->user;
	if (b->capabilities & ~a->capabilities)
		return false;
	return hp_rights_have_same_ids(a, b) || (a->capabilities & becomes) == becomes;
}
