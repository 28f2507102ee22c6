/* SPDX-License-Identifier: MIT */
/*
 * datagram.h - UNIX datagram sockets other than pairs.
 *
 * A bound socket has a lane, into which every sender to its name sends. Besides,
 * a socket has its own lane for datagrams to names outside the session: it is
 * *open* while it has no peer.
 */
#ifndef HP_PRELOAD_CHANNEL_DATAGRAM_H
#define HP_PRELOAD_CHANNEL_DATAGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "preload/channel/channel.h"

#define HP_WAY_NAMED 2	/* hp_channel.way: neither direction of a pair */

/* One was made. */
void hp_datagram_made(int fd, uintptr_t caller);

/*
 * Before connect(): is it one of these, and is it connected already? Keeps errno. And after
 * it has got another peer.
 */
bool hp_datagram_connects(int fd, bool *had_peer);
void hp_datagram_connected(int fd, const struct sockaddr *address, socklen_t length, bool had_peer,
			   uintptr_t caller);

/* It has been bound at this place: no effect unless it is one of these. */
void hp_datagram_bound(int fd, uintptr_t caller);

/* Names that were found must be looked up again. */
void hp_datagram_forget(void);

/* A socket is used for the first time: creates its missing lanes. */
void hp_datagram_meet(int fd, const struct stat *stat, struct hp_lane **out, struct hp_lane **in);

/* Datagrams sent without an address go nowhere. */
bool hp_datagram_is_open(const struct hp_lane *lane);

/* Where a message from `fd` to such an address goes; `lane` without one; NULL = not known. */
struct hp_lane *hp_datagram_to(struct hp_lane *lane, int fd, const void *to, socklen_t length);

/* The same before the call: only memory that the kernel reports as readable is read. */
struct hp_lane *hp_datagram_to_message(struct hp_lane *lane, int fd, const struct msghdr *message);

#endif
