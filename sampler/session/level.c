/* SPDX-License-Identifier: MIT */
/*
 * level.c - see level.h.
 */
#include "sampler/session/level.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "sampler/base/proc.h"

#define CAPABILITY_SETGID (UINT64_C(1) << 6)
#define CAPABILITY_SETUID (UINT64_C(1) << 7)
#define CAPABILITY_PTRACE (UINT64_C(1) << 19)

static void swap_to_order(uint32_t *a, uint32_t *b)
{
	uint32_t less = *a < *b ? *a : *b;

	*b = *a < *b ? *b : *a;
	*a = less;
}

/* Which id is the real one makes no difference: each can become any of the others. */
static void to_set(uint32_t ids[3])
{
	swap_to_order(&ids[0], &ids[1]);
	swap_to_order(&ids[1], &ids[2]);
	swap_to_order(&ids[0], &ids[1]);
	if (ids[0] == ids[1])
		ids[1] = ids[2];
}

static bool read_ids(const char *text, const char *label, uint32_t ids[3])
{
	const char *at = strstr(text, label);

	return at && sscanf(at + strlen(label), "%" SCNu32 "%" SCNu32 "%" SCNu32, &ids[0], &ids[1],
			    &ids[2]) == 3;
}

bool hp_level_read(struct hp_level *level, uint32_t pid, uint32_t *parent)
{
	char path[64], text[4096];
	const char *capabilities;
	struct stat namespace;

	*level = (struct hp_level){ .capabilities = 0 };
	hp_proc_path(path, pid, "status");
	if (hp_proc_read(path, text, sizeof(text)) < 0)
		return false;
	/* With its newline: a process's name, which comes first, may be anything but that. */
	capabilities = strstr(text, "\nCapPrm:");
	if (!read_ids(text, "\nUid:", level->uids) || !read_ids(text, "\nGid:", level->gids) ||
	    !capabilities || sscanf(capabilities + 8, "%" SCNx64, &level->capabilities) != 1)
		return false;
	level->user = level->uids[1];
	level->group = level->gids[1];
	to_set(level->uids);
	to_set(level->gids);
	if (level->capabilities & CAPABILITY_SETUID)
		memset(level->uids, 0, sizeof(level->uids));
	if (level->capabilities & CAPABILITY_SETGID)
		memset(level->gids, 0, sizeof(level->gids));
	hp_proc_path(path, pid, "ns/user");
	if (stat(path, &namespace) == 0)
		level->user_namespace = namespace.st_ino;
	if (parent)
		*parent = (uint32_t)hp_proc_number(text, "\nPPid:");
	return true;
}

/* Where we may not ask, it is ours or one that is below ours. */
static bool is_same_namespace(const struct hp_level *a, const struct hp_level *b)
{
	return a->user_namespace == b->user_namespace || !a->user_namespace || !b->user_namespace;
}

static bool has_same_ids(const struct hp_level *a, const struct hp_level *b)
{
	return memcmp(a->uids, b->uids, sizeof(a->uids)) == 0 &&
	       memcmp(a->gids, b->gids, sizeof(a->gids)) == 0;
}

bool hp_level_is_same(const struct hp_level *a, const struct hp_level *b)
{
	return has_same_ids(a, b) && a->capabilities == b->capabilities && is_same_namespace(a, b);
}

bool hp_level_rules(const struct hp_level *above, const struct hp_level *below)
{
	uint64_t becomes = CAPABILITY_SETUID | CAPABILITY_SETGID;
	bool is_here = is_same_namespace(above, below);

	if (above->capabilities & CAPABILITY_PTRACE)
		return true;
	/* Who makes a user namespace has all capabilities in it, and whoever has the same ids has made it. */
	if (!is_here)
		return above->user == below->user;
	if (below->capabilities & ~above->capabilities)
		return false;
	return has_same_ids(above, below) || (above->capabilities & becomes) == becomes;
}
