/* SPDX-License-Identifier: MIT */
/*
 * start.h - start and end of the library in a process.
 *
 * Folder: preload/hook - the start and end of the library, and interposed
 *   functions that concern all recorders: the only files that depend on all of
 *   them.
 * May use: preload/future preload/value preload/stream preload/loop preload/channel preload/lock preload/wait preload/heap
 *   preload/call preload/thread
 *   preload/guest segment segment/layout unwind include
 */
#ifndef HP_PRELOAD_HOOK_START_H
#define HP_PRELOAD_HOOK_START_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Joins or creates the session and configures all recorders: for hp_start
 * (preload/guest/begin.h).
 */
bool hp_start_session(void);

/* Called when the library is loaded and unloaded; the loader passes the environment. */
void hp_start_load(char **from_loader);
void hp_start_unload(void);

/* Does not return while another thread of this process is in exit(), waiting for the report. */
void hp_start_wait_for_finish(void);

/*
 * quick_exit begins. The program's handlers run first; then the end is recorded
 * and the report awaited.
 */
void hp_start_quick_exit(int code);

/* _exit and quick_exit of the root: requests the report and waits for it, like exit(). */
void hp_start_finish_quick(void);

/*
 * An environment built by the program may preload us without naming the
 * session. Returns the size of a corrected copy, 0 = not needed; and makes the
 * copy, or returns `environment` itself if size is 0.
 */
size_t hp_start_environment_size(char *const *environment);
char *const *hp_start_environment(char **copy, char *const *environment, size_t size);

/* Enters the segment of the process's current level (preload/thread/level.h). 0 or -errno. */
int hp_start_enter(void);

#endif
