/* SPDX-License-Identifier: MIT */
/*
 * guard.h - who may ask.
 *
 * Without a token: the user himself and root, told by whose socket the other end
 * is; with one, whoever knows it, and nobody else.  And no page in a browser
 * that comes from elsewhere: its requests bear another Origin, and a name that
 * was made to lead here (DNS rebinding) is another Host.
 */
#ifndef HP_LIVE_HTTP_GUARD_H
#define HP_LIVE_HTTP_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

struct hp_answer;

/*
 * 1 if the user behind the other end of a TCP connection of this machine may ask,
 * else 0; -errno = whose it is cannot be told for want of descriptors or memory.
 */
int hp_guard_is_own_peer(int socket);

/* The user of the connection whose own end is `peer` and other end `local`; false = it is not of this machine. */
bool hp_guard_user_of(const struct sockaddr *peer, const struct sockaddr *local, uid_t *user);

/*
 * True if `given`, the value of Authorization (may be NULL), is `token`, bare or
 * behind "Bearer ".  Takes the same time whatever is wrong with it.
 */
bool hp_guard_knows_token(const char *given, const char *token);

/* True for localhost and addresses as numbers, with or without a port. */
bool hp_guard_is_local_host(const char *host);

/* True if a page of `origin` is one of the server that was asked as `host`. */
bool hp_guard_is_own_origin(const char *origin, const char *host);

/* True if the address, as numbers, is of the machine itself. */
bool hp_guard_is_loopback(const char *address);

/* True if it can be a token: printable ASCII without blanks. */
bool hp_guard_is_token(const char *token);

#endif
