/* SPDX-License-Identifier: MIT */
/*
 * start.h - the order of start and end of the library in a process.
 */
#ifndef HP_PRELOAD_HOOK_START_H
#define HP_PRELOAD_HOOK_START_H

#include <stddef.h>

#include "preload/call/local.h"

/*
 * Starts the library in this process unless that is done: joins the session of
 * the environment, or makes one.  Returns false if this process is not to be
 * recorded, or cannot be; or while it is being started by this very thread.
 */
bool hp_start(void);

/* True while `hp_start` is at work, in this thread or another one. */
bool hp_start_is_running(void);

/* What the library does when it is loaded and unloaded; the loader tells the environment. */
void hp_start_load(char **from_loader);
void hp_start_unload(void);

/* True as long as the C library is not ready: it has no environment yet. */
bool hp_start_is_early(void);

/* True while some thread, perhaps this one, starts the library. */
bool hp_start_is_running(void);

/* Has hp_local_close called when the thread ends. */
void hp_start_thread_key(struct hp_local *me);

/* Does not return while another thread of this process is in exit(), waiting for the report. */
void hp_start_wait_for_finish(void);

/* quick_exit begins.  The program's handlers are still to run: the end is noted, and the report waited for, after them. */
void hp_start_quick_exit(int code);

/* _exit and quick_exit of the root: asks for the report, and waits for it as exit() does. */
void hp_start_finish_quick(void);

/*
 * An environment that a program made itself may load us without saying which
 * session.  The size of the copy that says it, 0 =
 * none is needed; and the copy, or `environment` itself if size is 0.
 */
size_t hp_start_environment_size(char *const *environment);
char *const *hp_start_environment(char **copy, char *const *environment, size_t size);

#endif
