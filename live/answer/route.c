/* SPDX-License-Identifier: MIT */
/*
 * route.c - see route.h: matching a request, and its arguments.
 */
#include "live/answer/route.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- finding --- */

/* A number of {id}, from digits only. */
static bool id_read(const char **path, uint32_t *id)
{
	uint64_t number = 0;
	const char *at = *path;

	for (; isdigit((unsigned char)*at) && number <= UINT32_MAX; at++)
		number = number * 10 + (uint64_t)(*at - '0');
	if (at == *path || number > UINT32_MAX)
		return false;
	*path = at;
	*id = (uint32_t)number;
	return true;
}

static bool fits(const char *pattern, const char *path, uint32_t *id)
{
	*id = 0;
	while (*pattern) {
		if (strncmp(pattern, "{id}", 4) == 0) {
			if (!id_read(&path, id))
				return false;
			pattern += 4;
		} else if (*pattern++ != *path++) {
			return false;
		}
	}
	return *path == 0;
}

static struct hp_answer *not_found(void)
{
	return hp_answer_error(404, "GET /routes lists all routes", "Not found");
}

struct hp_answer *hp_route_find(const struct hp_routes *routes, const struct hp_question *question,
				struct hp_request *request, const char **allowed)
{
	const char *wanted = strcmp(question->method, "HEAD") == 0 ? "GET" : question->method;
	const char *query = question->query ? question->query : "";

	*request = (struct hp_request){ .route = NULL };
	*allowed = NULL;
	if (strlen(query) >= sizeof(request->query))
		return hp_answer_error(414, NULL, "The query is longer than %d bytes",
				       HP_QUERY_MAX - 1);
	strcpy(request->query, query);
	for (size_t i = 0; i < routes->count; i++) {
		const struct hp_route *route = &routes->list[i];

		if (!fits(route->path, question->path, &request->id))
			continue;
		request->route = route;
		if (strcmp(route->method, wanted) == 0)
			return NULL;
		*allowed = route->method;
	}
	return *allowed ? hp_answer_error(405, NULL, "Method not allowed - use %s", *allowed)
			: not_found();
}

/* --- arguments --- */

static int hex_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One byte of a value; moves on. */
static char decode(const char **at)
{
	const char *c = *at;

	(*at)++;
	if (*c == '+')
		return ' ';
	if (*c != '%' || hex_of(c[1]) < 0 || hex_of(c[2]) < 0)
		return *c;
	*at += 2;
	return (char)(hex_of(c[1]) << 4 | hex_of(c[2]));
}

const char *hp_request_get(const struct hp_request *request, const char *name, char *room,
			   size_t size)
{
	size_t length = strlen(name), done = 0;
	const char *at = request->query;

	while (*at && (strncmp(at, name, length) != 0 || !strchr("=&", at[length]))) {
		at += strcspn(at, "&");
		at += *at == '&';
	}
	if (!*at)
		return NULL;
	at += length;
	at += *at == '=';
	while (*at && *at != '&' && done + 1 < size)
		room[done++] = decode(&at);
	room[done] = 0;
	return room;
}

uint64_t hp_request_number(const struct hp_request *request, const char *name, uint64_t usual,
			   uint64_t most)
{
	char room[32], *end;
	const char *value = hp_request_get(request, name, room, sizeof(room));
	unsigned long long number;

	if (!value || !isdigit((unsigned char)*value))
		return usual;
	number = strtoull(value, &end, 10);
	return *end || number > most ? usual : number;
}
