/* SPDX-License-Identifier: MIT */
/*
 * http.h - HTTP on a listening socket, using libmicrohttpd: one thread per
 * socket checks access, finds the route and waits for the cache.
 *
 * Folder: live/http - HTTP: connections, access control, the files of the page
 * May use: live/answer live/cache report/base report/view segment
 *
 * Bounds: connections, the size of a request's head and body, the time without a
 * byte.  Excess is refused; other clients do not wait for it.
 */
#ifndef HP_LIVE_HTTP_HTTP_H
#define HP_LIVE_HTTP_HTTP_H

#include <stdbool.h>

#include "live/cache/cache.h"

#define HP_BODY_MAX (1 << 20)	/* bytes of a request's body */

struct hp_http;

/* A request that another module answers: MCP, pages. */
struct hp_exchange;

/* Paths that a server answers besides, or instead of, the routes. */
struct hp_http_site {
	const char *path;	/* whole */
	/*
	 * Called with the complete body. Answers with hp_exchange_answer, now
	 * or later, from any thread.
	 */
	void (*serve)(void *context, struct hp_exchange *exchange);
	void *context;
	bool is_public;	/* contains no data of the program: no token needed */
};

struct hp_http_wish {
	int socket;	/* listening; taken over */
	const char *token;	/* NULL = access for the user */
	const char *token_name;	/* the variable that set it */
	struct hp_cache *cache;
	const char *only;	/* the only path that is served; NULL = all routes */
	const struct hp_http_site *sites;
	size_t site_count;
};

/* NULL = cannot be started; sets errno. The caller keeps the texts of the wish. */
struct hp_http *hp_http_new(const struct hp_http_wish *wish);

/* Time of the last request, CLOCK_MONOTONIC_RAW. */
uint64_t hp_http_asked_ns(const struct hp_http *http);

/* --- for sites --- */

const char *hp_exchange_method(const struct hp_exchange *exchange);
const char *hp_exchange_header(const struct hp_exchange *exchange, const char *name);
const char *hp_exchange_body(const struct hp_exchange *exchange, size_t *size);	/* terminated */

/* Adds a header to the response; texts are copied. */
void hp_exchange_add(struct hp_exchange *exchange, const char *name, const char *value);

/* Takes over the answer; do not use the exchange afterwards. */
void hp_exchange_answer(struct hp_exchange *exchange, struct hp_answer *answer);

#endif
