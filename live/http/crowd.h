/* SPDX-License-Identifier: MIT */
/*
 * crowd.h - a server's connections: admission and time limits.
 *
 * The first third of the places is for everybody. Beyond it, the kernel tells
 * the owner of each connection: the owner of the server and root have another
 * third that nobody else can use. Clients in the last third get 503 with
 * Retry-After; when that is full, too, connections are closed at once. With a
 * token everybody counts as the owner, since anybody may know the token.
 *
 * Each connection has a deadline for sending its request or fetching its
 * response, even if it keeps sending bytes.
 *
 * Connections are identified by their descriptors. A lock keeps one from being
 * shut down after its number was reused.
 */
#ifndef HP_LIVE_HTTP_CROWD_H
#define HP_LIVE_HTTP_CROWD_H

#include <stdbool.h>

struct hp_crowd;

/* Room for `most` connections at once. */
struct hp_crowd *hp_crowd_new(unsigned most, bool has_token);
void hp_crowd_free(struct hp_crowd *crowd);

/* Adds a connection; one thread only. False = no place; the caller keeps it. */
bool hp_crowd_enter(struct hp_crowd *crowd, int fd);

/* Call before closing it. */
void hp_crowd_leave(struct hp_crowd *crowd, int fd);

/* True if it only gets 503 with Retry-After. */
bool hp_crowd_is_late(struct hp_crowd *crowd, int fd);

/* The cached result of hp_guard_is_own_peer. */
int hp_crowd_is_own(struct hp_crowd *crowd, int fd);

/* Sets its deadline to this many seconds from now; 0 = none. */
void hp_crowd_give(struct hp_crowd *crowd, int fd, unsigned seconds);

/* Shuts down connections past their deadline. */
void hp_crowd_sweep(struct hp_crowd *crowd);

#endif
