/* SPDX-License-Identifier: MIT */
/*
 * cache.h - a cache of answers about a target, at most one second old, filled
 * by a worker thread.
 *
 * Folder: live/cache - the answer cache and the worker that fills it
 * May use: live/answer report/base report/name report/section/cpu segment
 *
 * One worker thread reads the segment and makes the answers. Recently requested
 * answers are remade at each refresh, so a client that asks every second gets
 * its answer at once, without waiting for a refresh. Without requests the
 * worker sleeps.
 *
 *   client's thread    hp_cache_peek: returns a cached answer; or
 *                      hp_cache_ask: the worker calls `done` with the answer
 */
#ifndef HP_LIVE_CACHE_CACHE_H
#define HP_LIVE_CACHE_CACHE_H

#include <stdint.h>

#include "live/answer/route.h"
#include "live/answer/target.h"

struct hp_cache;

/* Called once, in the worker's thread; the callee drops the answer. */
typedef void (*hp_cache_done)(void *context, struct hp_answer *answer);

/*
 * Takes over the target and its `routes`. Starts the worker; NULL = no thread.
 */
struct hp_cache *hp_cache_new(const struct hp_target *target, const struct hp_settings *settings,
			      const struct hp_routes *routes);
void hp_cache_free(struct hp_cache *cache);

/* The routes. */
const struct hp_routes *hp_cache_routes(const struct hp_cache *cache);

/* The session has ended: hp_target_stop. Any thread. */
void hp_cache_stop(struct hp_cache *cache);

/* A fresh cached answer, which the caller drops; NULL = ask. */
struct hp_answer *hp_cache_peek(struct hp_cache *cache, const struct hp_request *request);

/* Requests an answer. */
void hp_cache_ask(struct hp_cache *cache, const struct hp_request *request, hp_cache_done done,
		  void *context);

/* Requests and waits. `path` may have arguments. Never returns NULL; see the status. */
struct hp_answer *hp_cache_get(struct hp_cache *cache, const char *method, const char *path);

#endif
