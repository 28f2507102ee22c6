/* SPDX-License-Identifier: MIT */
/*
 * route.h - the questions that can be asked, as a table: over HTTP, by MCP's
 * tools, by the console.
 *
 * A new route is a line in route.c.  `render` makes an answer of the scene as it
 * is, and live/cache/picture.c keeps it for a moment.  A route with `begin` takes its time:
 * begin, span_ns later `end`; it is not kept.
 */
#ifndef HP_LIVE_ANSWER_ROUTE_H
#define HP_LIVE_ANSWER_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/answer/answer.h"
#include "live/answer/scene.h"

#define HP_QUERY_MOST 512	/* bytes of what is behind the question mark */

struct hp_request;

struct hp_route {
	const char *method;
	const char *path;	/* {id} stands for a whole number */
	const char *section;	/* key of the section in JSON that `render` shows; may be NULL */
	struct hp_answer *(*render)(struct hp_scene *scene, const struct hp_request *request);
	const char *help;

	uint64_t (*span_ns)(const struct hp_request *request);
	void *(*begin)(struct hp_scene *scene, const struct hp_request *request);
	struct hp_answer *(*end)(struct hp_scene *scene, const struct hp_request *request,
				 void *begun);	/* frees `begun` */
};

struct hp_request {
	const struct hp_route *route;
	uint32_t id;	/* of {id} */
	bool is_openmetrics;	/* the client takes application/openmetrics-text */
	bool is_once;	/* who asks would rather wait for names than ask again */
	char query[HP_QUERY_MOST];	/* as it came, decoded by hp_request_get; "" = none */
};

extern const struct hp_route hp_routes[];
extern const size_t hp_route_count;

/*
 * Finds the route.  `query` may be NULL.  False: *error is the answer to give
 * (404, 405 with what is allowed in *allowed, 414).
 */
bool hp_route_find(const char *method, const char *path, const char *query,
		   struct hp_request *request, struct hp_answer **error, const char **allowed);

/* An argument behind the question mark, decoded into `room`; NULL = it is not there. */
const char *hp_request_get(const struct hp_request *request, const char *name, char *room,
			   size_t size);

/* The same as a number; `usual` if it is not there or none from 0 to `most`. */
uint64_t hp_request_number(const struct hp_request *request, const char *name, uint64_t usual,
			   uint64_t most);

#endif
