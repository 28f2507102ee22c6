/* SPDX-License-Identifier: MIT */
/*
 * begin.h - starts the library once per process, in the first hook of any
 * thread.
 */
#ifndef HP_PRELOAD_GUEST_BEGIN_H
#define HP_PRELOAD_GUEST_BEGIN_H

#include <stdbool.h>

/*
 * Starts the library in this process if necessary: joins the session named in
 * the environment, or creates one. Returns false if this process is not or
 * cannot be recorded, or while this very thread is starting it.
 */
bool hp_start(void);

/* True while `hp_start` runs in any thread. */
bool hp_start_is_running(void);

/* True until the C library is initialised: it has no environment yet. */
bool hp_start_is_early(void);

#endif
