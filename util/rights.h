/* SPDX-License-Identifier: MIT */
/*
 * rights.h - the credentials that the kernel compares when one process traces
 * another.
 *
 * Two processes with equal rights may trace each other. A right that a process
 * can regain counts as held: root that called seteuid() still has 0 as its
 * saved user id.
 */
#ifndef HP_UTIL_RIGHTS_H
#define HP_UTIL_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define HP_RIGHT_SETGID (UINT64_C(1) << 6)	/* capabilities */
#define HP_RIGHT_SETUID (UINT64_C(1) << 7)
#define HP_RIGHT_PTRACE (UINT64_C(1) << 19)

struct hp_rights {
	uint32_t uids[3];	/* real, effective and saved */
	uint32_t gids[3];
	uint64_t capabilities;	/* permitted */
	uint64_t user_namespace;	/* inode; 0 = not known */
};

static inline void hp_rights_order(uint32_t *a, uint32_t *b)
{
	uint32_t less = *a < *b ? *a : *b;

	*b = *a < *b ? *b : *a;
	*a = less;
}

/* Which id is the real one does not matter: each can become any of the others. */
static inline void hp_rights_set_of(uint32_t ids[3])
{
	hp_rights_order(&ids[0], &ids[1]);
	hp_rights_order(&ids[1], &ids[2]);
	hp_rights_order(&ids[0], &ids[1]);
	if (ids[0] == ids[1])
		ids[1] = ids[2];
}

/* Normalises rights read from the kernel so that they can be compared. */
static inline void hp_rights_settle(struct hp_rights *rights)
{
	hp_rights_set_of(rights->uids);
	hp_rights_set_of(rights->gids);
	/* It may take any id. */
	if (rights->capabilities & HP_RIGHT_SETUID)
		memset(rights->uids, 0, sizeof(rights->uids));
	if (rights->capabilities & HP_RIGHT_SETGID)
		memset(rights->gids, 0, sizeof(rights->gids));
}

static inline bool hp_rights_have_same_ids(const struct hp_rights *a, const struct hp_rights *b)
{
	return memcmp(a->uids, b->uids, sizeof(a->uids)) == 0 &&
	       memcmp(a->gids, b->gids, sizeof(a->gids)) == 0;
}

/* An unknown one may be equal. */
static inline bool hp_rights_have_same_namespace(const struct hp_rights *a,
						 const struct hp_rights *b)
{
	return a->user_namespace == b->user_namespace || !a->user_namespace || !b->user_namespace;
}

static inline bool hp_rights_are_same(const struct hp_rights *a, const struct hp_rights *b)
{
	return hp_rights_have_same_ids(a, b) && a->capabilities == b->capabilities &&
	       hp_rights_have_same_namespace(a, b);
}

/* Nothing can be dropped: all ids are equal, and the capabilities are empty. */
static inline bool hp_rights_are_least(const struct hp_rights *rights)
{
	return !rights->capabilities && rights->uids[0] == rights->uids[2] &&
	       rights->gids[0] == rights->gids[2];
}

#endif
