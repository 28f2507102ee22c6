/* SPDX-License-Identifier: MIT */
/*
 * level.h - how much a process may do: its trust level.
 *
 * Two processes are of one level if the kernel lets each of them trace the other: user and group
 * ids, permitted capabilities and user namespace.  What a process can take back is no
 * difference: a root that called seteuid() still has 0 as its saved user id.
 */
#ifndef HP_SAMPLER_SESSION_LEVEL_H
#define HP_SAMPLER_SESSION_LEVEL_H

#include <stdbool.h>
#include <stdint.h>

struct hp_level {
	uint32_t uids[3];	/* real, effective and saved, as a set: sorted; all 0 with CAP_SETUID */
	uint32_t gids[3];	/* the same; all 0 with CAP_SETGID */
	uint64_t capabilities;	/* permitted */
	uint64_t user_namespace;	/* inode; 0 = not to be had */
	uint32_t user, group;	/* effective; told, not compared */
};

/* Of a live process, and its parent's pid (NULL = not asked for).  False = it is gone, or there is no /proc. */
bool hp_level_read(struct hp_level *level, uint32_t pid, uint32_t *parent);

bool hp_level_is_same(const struct hp_level *a, const struct hp_level *b);

/* May `above` do to `below` what it likes?  Also true of equal ones. */
bool hp_level_rules(const struct hp_level *above, const struct hp_level *below);

#endif
