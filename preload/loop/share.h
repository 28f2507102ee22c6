/* SPDX-License-Identifier: MIT */
/*
 * share.h - threads that take turns in waiting at one epoll instance.
 *
 * As boost.asio's do: one thread of an io_context waits for descriptors, and the others wait in
 * conditions until it has work for them, or in a semaphore, or for a mutex that is held by the one
 * that waits. So a loop's thread may be idle there, and a busy span ends there and begins anew after
 * it.
 *
 * But a callback that waits for another thread holds up its loop, if no other thread serves it.
 * The instance knows the thread that began the last wait at it. If that is still the one that
 * waits for the condition, nobody has taken its place, and the wait is a part of its busy span.
 * Otherwise the thread was not needed. So of several threads that all wait in conditions, at least
 * one counts as busy.
 */
#ifndef HP_PRELOAD_LOOP_SHARE_H
#define HP_PRELOAD_LOOP_SHARE_H

#include "preload/channel/watch.h"
#include "preload/loop/loop.h"

extern const struct hp_recorder hp_share_recorder;

/* The calling thread begins a wait at the instance; NULL = not known. */
void hp_loop_taken(struct hp_looper *me, struct hp_watch_counts *counts);

#endif
