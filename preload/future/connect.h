/* SPDX-License-Identifier: MIT */
/*
 * connect.h - connections that are not made at once (EINPROGRESS) as futures, by the caller of
 * connect.
 *
 * One ends when the program learns of it: by a wait that reports it writable, by SO_ERROR, or by
 * another connect; a failure is a result, too.  Nothing here asks for SO_ERROR, which would clear
 * it.  What is closed before that is cancelled, unless it was connected and only nobody asked.
 *
 * It begins after the real call, since most connects do not get here. A thread that learns of its
 * end in between is too early; then the end is found when it is closed.
 */
#ifndef HP_PRELOAD_FUTURE_CONNECT_H
#define HP_PRELOAD_FUTURE_CONNECT_H

#include <stdint.h>
#include <sys/socket.h>

#include "preload/guest/above.h"
#include "preload/guest/guest.h"

extern const struct hp_recorder hp_connect_recorder;

/* connect returned this error; 0 = it went well. */
void hp_connect_returned(int fd, int error, uintptr_t caller);

/* getsockopt returned SO_ERROR. */
void hp_connect_asked(int fd, const void *value, const socklen_t *length);

#endif
