/* SPDX-License-Identifier: MIT */
/*
 * begin.h - the library starts once in a process, in whatever thread and hook is first.
 */
#ifndef HP_PRELOAD_GUEST_BEGIN_H
#define HP_PRELOAD_GUEST_BEGIN_H

#include <stdbool.h>

/*
 * Starts the library in this process unless that is done: joins the session of
 * the environment, or makes one.  Returns false if this process is not to be
 * recorded, or cannot be; or while it is being started by this very thread.
 */
bool hp_start(void);

/* True while `hp_start` is at work, in this thread or another one. */
bool hp_start_is_running(void);

/* True as long as the C library is not ready: it has no environment yet. */
bool hp_start_is_early(void);

#endif
