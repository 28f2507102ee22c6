/* SPDX-License-Identifier: MIT */
/*
 * connecting.h - sockets whose connect has not finished: waits report that they have become writable.
 *
 * The list has those that the program connects now, so it is mostly empty, and then a wait only
 * loads the count.  It has room for a few; the recorder of connects learns of the others' end from
 * other calls (preload/future/hook_connect.c).
 */
#ifndef HP_PRELOAD_LOOP_CONNECTING_H
#define HP_PRELOAD_LOOP_CONNECTING_H

#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "preload/guest/guest.h"

/* Of all sockets that are connecting, listed or not. */
extern HP_HIDDEN _Atomic uint32_t hp_connecting_count;

void hp_connecting_add(int fd);
void hp_connecting_remove(int fd);

/* A forked child, or another segment: none. */
void hp_connecting_forget(void);

/* After waits that returned some. They preserve errno. */
void hp_connecting_polled(const struct pollfd *fds, nfds_t count);
void hp_connecting_selected(const fd_set *writes, int count);
void hp_connecting_epolled(int epoll_fd, const struct epoll_event *events, int count);

#endif
