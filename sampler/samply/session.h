/* SPDX-License-Identifier: MIT */
/*
 * session.h - a session of samply: a folder through which the starter, stopper
 * and reader communicate.
 *
 * Folder: sampler/samply - hotpath-samply: a program under the sampler samply,
 *   as a session of its own
 * May use: sampler/sample segment segment/layout util
 *
 *   hp.json.gz       samply's profile, when it has ended
 *   samply.log       samply's output
 *   stop-profiling created by the process that wants the profile: samply must end
 *   done created by the worker: finished. Empty = the profile exists, else why
 *   not
 *
 * Files, mode and deadlines are those of the crate hotpath, whose programs may
 * use this wrapper (HOTPATH_SAMPLY_WRAPPER_BIN).
 */
#ifndef HP_SAMPLER_SAMPLY_SESSION_H
#define HP_SAMPLER_SAMPLY_SESSION_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define HP_SAMPLY_PROFILE "hp.json.gz"
#define HP_SAMPLY_LOG "samply.log"
#define HP_SAMPLY_STOP "stop-profiling"
#define HP_SAMPLY_DONE "done"
#define HP_SAMPLY_TEXT 1024	/* of an error */

/* The path of a file of the session; false = it is too long. */
bool hp_samply_path(char path[PATH_MAX], const char *folder, const char *name);

/* `done`, complete or not at all.  Returns 0 or -errno. */
int hp_samply_done(const char *folder, const char *text);

/* Runs samply on a process until it is asked to stop; writes `done`. Returns an exit status. */
int hp_samply_work(const char *pid, const char *folder);

/*
 * Asks the worker to stop and waits for it.  True = there is a profile; else
 * `error` says why not.
 */
bool hp_samply_stop(const char *folder, char error[HP_SAMPLY_TEXT]);

#endif
