/* SPDX-License-Identifier: MIT */
/*
 * crowd.h - the connections that a server has: who gets a place, and for how long.
 *
 * A third of the places is for whoever comes first.  Beyond it the kernel is asked whose the
 * connection is: the owner and root have another third of their own, which nobody else can fill.
 * The rest is for those who are told to come again; when that is taken, too, a connection is closed
 * at once.  With a token all count as the owner, since the token may be known by anybody.
 *
 * Each connection has a time by which its request must be there, or its answer fetched, however
 * many bytes it sends meanwhile.
 *
 * Connections are known by their descriptors.  A lock keeps one from being shut down after another
 * one has its number.
 */
#ifndef HP_LIVE_HTTP_CROWD_H
#define HP_LIVE_HTTP_CROWD_H

#include <stdbool.h>

struct hp_crowd;

/* Room for `most` connections at once. */
struct hp_crowd *hp_crowd_new(unsigned most, bool has_token);
void hp_crowd_free(struct hp_crowd *crowd);

/* A new connection, by one thread.  False = there is no place; it is still the caller's. */
bool hp_crowd_enter(struct hp_crowd *crowd, int fd);

/* It is about to be closed. */
void hp_crowd_leave(struct hp_crowd *crowd, int fd);

/* It is only to be told to come again. */
bool hp_crowd_is_late(struct hp_crowd *crowd, int fd);

/* As hp_guard_is_own_peer, which is asked once. */
int hp_crowd_is_own(struct hp_crowd *crowd, int fd);

/* It has so many seconds from now on; 0 = as many as it takes. */
void hp_crowd_give(struct hp_crowd *crowd, int fd, unsigned seconds);

/* Shuts down those whose time is over. */
void hp_crowd_sweep(struct hp_crowd *crowd);

#endif
