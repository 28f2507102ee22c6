/* SPDX-License-Identifier: MIT */
/*
 * live_find.h - finds sockets with names like those of sessions, and their
 * owners.
 *
 * Anybody may give a socket such a name. No socket is contacted here.
 */
#ifndef HP_REPORT_STORE_LIVE_FIND_H
#define HP_REPORT_STORE_LIVE_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "segment/session.h"

struct hp_live_door {
	char token[HP_TOKEN_SIZE + 1];
	uid_t owner;
	bool has_owner;	/* it is known */
};

/* A fresh array of *count. */
struct hp_live_door *hp_live_find(size_t *count);

/* True if this user owns it or may own it. */
bool hp_live_is_own(const struct hp_live_door *door);

#endif
