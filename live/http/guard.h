/* SPDX-License-Identifier: MIT */
/*
 * guard.h - access control.
 *
 * Without a token, only the user and root have access, identified by the owner
 * of the peer's socket. With a token, only clients that know it. Browser pages
 * from other sites never have access: their requests carry another Origin, and
 * a rebound DNS name shows as another Host.
 */
#ifndef HP_LIVE_HTTP_GUARD_H
#define HP_LIVE_HTTP_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

struct hp_answer;

/*
 * 1 if the peer of a TCP connection on this machine has access, else 0; -errno
 * = the owner is unknown for lack of descriptors or memory.
 */
int hp_guard_is_own_peer(int socket);

/*
 * The owner of the socket with own endpoint `peer` and remote endpoint `local`;
 * false = not on this machine.
 */
bool hp_guard_user_of(const struct sockaddr *peer, const struct sockaddr *local, uid_t *user);

/*
 * True if `given`, the value of Authorization (may be NULL), is `token`, bare or
 * behind "Bearer ".  Takes constant time.
 */
bool hp_guard_knows_token(const char *given, const char *token);

/* True for localhost and numeric addresses, with or without a port. */
bool hp_guard_is_local_host(const char *host);

/* True if `origin` is the server's own, addressed as `host`. */
bool hp_guard_is_own_origin(const char *origin, const char *host);

/* True if the numeric address is a loopback address. */
bool hp_guard_is_loopback(const char *address);

/* True if it is a valid token: printable ASCII without blanks. */
bool hp_guard_is_token(const char *token);

#endif
