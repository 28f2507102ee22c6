/* SPDX-License-Identifier: MIT */
/*
 * http.h - HTTP on a listening socket, by libmicrohttpd: a thread of its own for
 * each, which looks who asks, finds the route and waits for the picture.
 *
 * Folder: live/http - HTTP: connections, who may ask, the files of the page
 * May use: live/answer live/cache report/base report/view segment
 *
 * Bounds: connections, the size of a request's head and body, the time without a
 * byte.  What does not fit is refused; nobody else waits for it.
 */
#ifndef HP_LIVE_HTTP_HTTP_H
#define HP_LIVE_HTTP_HTTP_H

#include <stdbool.h>

#include "live/cache/picture.h"

#define HP_BODY_MOST (1 << 20)	/* bytes of a request's body */

struct hp_http;

/* A request that another module answers by itself: MCP, pages. */
struct hp_exchange;

/* What a server answers besides, or instead of, the routes. */
struct hp_http_site {
	const char *path;	/* whole */
	/*
	 * Called when the body is there.  Answers by hp_exchange_answer, now or
	 * later, from any thread.
	 */
	void (*serve)(void *context, struct hp_exchange *exchange);
	void *context;
	bool is_public;	/* holds nothing of the program: no token is needed to see it */
};

struct hp_http_wish {
	int socket;	/* listening; taken over */
	const char *token;	/* NULL = the user himself may ask */
	const char *token_name;	/* the variable that it is from */
	struct hp_picture *picture;
	const char *only;	/* the only path that is served; NULL = all routes */
	const struct hp_http_site *sites;
	size_t site_count;
};

/* NULL = it cannot be started; errno says why.  The wish's texts stay the caller's. */
struct hp_http *hp_http_new(const struct hp_http_wish *wish);

/* When a request came last, CLOCK_MONOTONIC_RAW. */
uint64_t hp_http_asked_ns(const struct hp_http *http);

/* --- for sites --- */

const char *hp_exchange_method(const struct hp_exchange *exchange);
const char *hp_exchange_header(const struct hp_exchange *exchange, const char *name);
const char *hp_exchange_body(const struct hp_exchange *exchange, size_t *size);	/* terminated */

/* A header of the answer to come; texts are copied. */
void hp_exchange_add(struct hp_exchange *exchange, const char *name, const char *value);

/* Takes over the answer; the exchange is not to be touched after it. */
void hp_exchange_answer(struct hp_exchange *exchange, struct hp_answer *answer);

#endif
