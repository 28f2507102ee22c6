/* SPDX-License-Identifier: MIT */
/*
 * route.h - one question that can be asked, and how it is found in the table of
 * all: over HTTP, by MCP's tools, by the console.
 *
 * The table itself is in live/routes/routes.c, where a new route is a line.
 * `render` makes an answer of the scene as it is, and live/cache/picture.c keeps it
 * for a moment.  A route with `begin` takes its time: begin, span_ns later `end`; it
 * is not kept.
 */
#ifndef HP_LIVE_ANSWER_ROUTE_H
#define HP_LIVE_ANSWER_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/answer/answer.h"

#define HP_QUERY_MOST 512	/* bytes of what is behind the question mark */

struct hp_request;
struct hp_scene;
struct hp_section;

struct hp_route {
	const char *method;
	const char *path;	/* {id} stands for a whole number */
	const struct hp_section *section;	/* whose list or rows it shows; NULL = none */
	struct hp_answer *(*render)(struct hp_scene *scene, const struct hp_request *request);
	const char *help;
	const char *noun;	/* what one row is, where there is none yet; NULL = there are some */

	uint64_t (*span_ns)(const struct hp_request *request);
	void *(*begin)(struct hp_scene *scene, const struct hp_request *request);
	struct hp_answer *(*end)(struct hp_scene *scene, const struct hp_request *request,
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
	const char *query;	/* behind the question mark; NULL = none */
};

struct hp_request {
	const struct hp_route *route;
	uint32_t id;	/* of {id} */
	bool is_openmetrics;	/* the client takes application/openmetrics-text */
	bool is_once;	/* who asks would rather wait for names than ask again */
	char query[HP_QUERY_MOST];	/* as it came, decoded by hp_request_get; "" = none */
};

/*
 * Finds the route of a question.  NULL = it is in *request; else the answer to give: 404,
 * 405 with what is allowed in *allowed, 414.
 */
struct hp_answer *hp_route_find(const struct hp_routes *routes, const struct hp_question *question,
				struct hp_request *request, const char **allowed);

/* An argument behind the question mark, decoded into `room`; NULL = it is not there. */
const char *hp_request_get(const struct hp_request *request, const char *name, char *room,
			   size_t size);

/* The same as a number; `usual` if it is not there or none from 0 to `most`. */
uint64_t hp_request_number(const struct hp_request *request, const char *name, uint64_t usual,
			   uint64_t most);

#endif
