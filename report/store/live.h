/* SPDX-License-Identifier: MIT */
/*
 * live.h - running sessions, found by the names of their sockets.
 */
#ifndef HP_REPORT_STORE_LIVE_H
#define HP_REPORT_STORE_LIVE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "segment/session.h"

struct hp_live {
	char token[HP_TOKEN_SIZE + 1];
	char comm[20];	/* of the root; "" = not known */
	uint32_t pid;	/* of the root, as the session says */
	uid_t owner;	/* of its segment */
	uint16_t port;	/* of its figures over HTTP; 0 = none */
	int64_t started_unix_ns;
	uint64_t elapsed_ns;
};

/* This user's sessions, unordered: a fresh array of *count. */
struct hp_live *hp_live_list(size_t *count);

/* For root: the sessions of all users. Data from other users may be wrong. */
struct hp_live *hp_live_list_all(size_t *count);

/* Number of other users' sockets with names like those of sessions. */
size_t hp_live_others(void);

/*
 * Moves those that `id` means to the start of the list, and returns how many they are.  It is a token or
 * its start, the pid of a root, or of a root's parent, as that of `hotpath run`.
 */
size_t hp_live_choose(struct hp_live *live, size_t count, const char *id);

/* The segment of the session that `id` means.  Returns a descriptor, or -ENOENT (none), -EEXIST (several), -errno. */
int hp_live_open(const char *id);

#endif
