/* SPDX-License-Identifier: MIT */
/*
 * start.h - the order of start and end of the library in a process.
 *
 * Folder: preload/hook - the start and end of the library, and stand-ins that concern all
 *   recorders: the only files that know all of them.
 * May use: preload/channel preload/lock preload/wait preload/heap preload/call preload/thread
 *   preload/guest segment segment/layout unwind include
 */
#ifndef HP_PRELOAD_HOOK_START_H
#define HP_PRELOAD_HOOK_START_H

#include <stdbool.h>
#include <stddef.h>

/* Joins or makes the session, and has everybody configured: for hp_start (preload/guest/begin.h). */
bool hp_start_session(void);

/* What the library does when it is loaded and unloaded; the loader tells the environment. */
void hp_start_load(char **from_loader);
void hp_start_unload(void);

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

/* Enters the segment of the level that the process is of now (preload/thread/level.h).  0 or -errno. */
int hp_start_enter(void);

#endif
