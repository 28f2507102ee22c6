/* SPDX-License-Identifier: MIT */
/*
 * route.h - a route, and the lookup in the table of routes: for HTTP, MCP tools
 * and the console.
 *
 * The table is in live/routes/routes.c, one line per route. `render` makes an
 * answer from the current snapshot, and live/cache/cache.c caches it briefly.
 * A route with `begin` measures over time: begin, then `end` span_ns later; it
 * is not cached.
 */
#ifndef HP_LIVE_ANSWER_ROUTE_H
#define HP_LIVE_ANSWER_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/answer/answer.h"

#define HP_QUERY_MAX 512	/* most bytes of a query string */

struct hp_request;
struct hp_snapshot;
struct hp_section;

struct hp_route {
	const char *method;
	const char *path;	/* {id} matches an integer */
	const struct hp_section *section;	/* the section that it shows; NULL = none */
	struct hp_answer *(*render)(struct hp_snapshot *snapshot, const struct hp_request *request);
	const char *help;
	bool needs_token; /* over HTTP only where one is set: it does more than read the record */
	const char *noun;	/* describes one row, for empty lists; NULL = not needed */

	uint64_t (*span_ns)(const struct hp_request *request);
	void *(*begin)(struct hp_snapshot *snapshot, const struct hp_request *request);
	struct hp_answer *(*end)(struct hp_snapshot *snapshot, const struct hp_request *request,
				 void *begun);	/* frees `begun` */
};

struct hp_routes {
	const struct hp_route *list;
	size_t count;
};

/* As it comes in. */
struct hp_question {
	const char *method;
	const char *path;
	const char *query;	/* query string; NULL = none */
};

struct hp_request {
	const struct hp_route *route;
	uint32_t id;	/* of {id} */
	bool is_openmetrics;	/* the client accepts application/openmetrics-text */
	bool is_once;	/* the client prefers waiting for names to asking again */
	char query[HP_QUERY_MAX];	/* raw, decoded by hp_request_get; "" = none */
};

/*
 * Finds the route of a request. NULL = stored in *request; else the error
 * answer: 404, 405 with the allowed methods in *allowed, 414.
 */
struct hp_answer *hp_route_find(const struct hp_routes *routes, const struct hp_question *question,
				struct hp_request *request, const char **allowed);

/* An argument of the query string, decoded into `room`; NULL = absent. */
const char *hp_request_get(const struct hp_request *request, const char *name, char *room,
			   size_t size);

/* The same as a number; `usual` if it is absent or not within 0 to `most`. */
uint64_t hp_request_number(const struct hp_request *request, const char *name, uint64_t usual,
			   uint64_t most);

#endif
