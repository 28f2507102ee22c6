/* SPDX-License-Identifier: MIT */
/*
 * picture.h - answers about a target, never older than a second, made aside.
 *
 * Folder: live/cache - answers that are kept for a moment, and the worker that
 *   makes them
 * May use: live/answer report/base report/name report/section/cpu segment
 *
 * One worker thread reads the segment and makes the answers.  What was asked for
 * a moment ago is made again by itself with each look, so that a client which
 * asks each second gets its answer at once, without waiting for a look.  When
 * nobody asks, nothing is done.
 *
 *   client's thread    hp_picture_peek: the answer is at hand; or
 *                      hp_picture_ask: the worker calls `done` when it is made
 */
#ifndef HP_LIVE_CACHE_PICTURE_H
#define HP_LIVE_CACHE_PICTURE_H

#include <stdint.h>

#include "live/answer/route.h"
#include "live/answer/target.h"

struct hp_picture;

/* Called once, in the worker's thread, with an answer that is the callee's to drop. */
typedef void (*hp_picture_done)(void *context, struct hp_answer *answer);

/*
 * Takes over the target; `routes` is what can be asked about it.  Starts the worker;
 * NULL = there is no thread for it.
 */
struct hp_picture *hp_picture_new(const struct hp_target *target,
				  const struct hp_settings *settings,
				  const struct hp_routes *routes);
void hp_picture_free(struct hp_picture *picture);

/* What can be asked. */
const struct hp_routes *hp_picture_routes(const struct hp_picture *picture);

/* An answer that is at hand and young enough, to be dropped; NULL = ask. */
struct hp_answer *hp_picture_peek(struct hp_picture *picture, const struct hp_request *request);

/* Has it made. */
void hp_picture_ask(struct hp_picture *picture, const struct hp_request *request,
		    hp_picture_done done, void *context);

/* Asks and waits.  `path` may have arguments; never NULL, see its status. */
struct hp_answer *hp_picture_get(struct hp_picture *picture, const char *method, const char *path);

#endif
