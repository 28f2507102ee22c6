/* SPDX-License-Identifier: MIT */
/*
 * route.c - the table of routes, and how a question finds its line.
 */
#include "live/answer/route.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "live/answer/callers.h"
#include "live/answer/snapshot.h"
#include "live/answer/lists.h"
#include "live/answer/logs.h"
#include "live/answer/metrics.h"
#include "live/answer/pprof.h"
#include "live/http/site.h"
#include "live/answer/status.h"

#define LIST(section, help) \
	{ \
		"GET", "/" section, section, hp_list_render, help, NULL, NULL, NULL \
	}
#define ANSWER(path, render, help) \
	{ \
		"GET", path, NULL, render, help, NULL, NULL, NULL \
	}
#define NO_LOGS(path, section) \
	{ \
		"GET", path, section, hp_logs_none, "log of one of them", NULL, NULL, NULL \
	}

const struct hp_route hp_routes[] = {
	LIST("functions_timing", "functions by time"),
	ANSWER("/functions_timing/{id}/logs", hp_logs_timing, "last and slowest calls of one"),
	ANSWER("/functions_timing/{id}/callers", hp_callers_render,
	       "who calls one, over all paths"),
	ANSWER("/functions_timing/{id}/callees", hp_callees_render,
	       "whom one calls, over all paths"),
	LIST("functions_alloc", "functions by what they allocate"),
	ANSWER("/functions_alloc/{id}/logs", hp_logs_alloc, "calls of one"),
	ANSWER("/functions_cpu", hp_snapshot_show, "samples of the CPU by function"),
	{ "POST", "/functions_cpu/snapshot", NULL, NULL, "take a snapshot of the samples", NULL,
	  NULL, hp_snapshot_end },
	LIST("threads", "threads: CPU, state, memory"),
	LIST("channels", "channels"),
	ANSWER("/channels/{id}/logs", hp_logs_channel, "last messages of one"),
	LIST("streams", "streams"),
	NO_LOGS("/streams/{id}/logs", "stream"),
	LIST("futures", "futures"),
	NO_LOGS("/futures/{id}/logs", "future"),
	LIST("rw_locks", "reader-writer locks"),
	LIST("mutexes", "mutexes"),
	LIST("sql", "queries"),
	NO_LOGS("/sql/{id}/logs", "query"),
	LIST("http", "requests that the program makes"),
	NO_LOGS("/http/{id}/logs", "endpoint"),
	LIST("server", "requests that the program serves"),
	NO_LOGS("/server/{id}/logs", "route"),
	LIST("io", "reads and writes"),
	LIST("debug", "values and gauges"),
	NO_LOGS("/debug/dbg/{id}/logs", "dbg entry"),
	NO_LOGS("/debug/val/{id}/logs", "val entry"),
	NO_LOGS("/debug/gauge/{id}/logs", "gauge entry"),
	ANSWER("/tokio_runtime", hp_runtime_render, "the event loop"),
	ANSWER("/profiler_status", hp_status_render, "the program and its profiler"),
	LIST("calltree", "the hot path, and the call tree"),
	LIST("alloc_callers", "functions that allocate, instrumented or not"),
	LIST("alloc_sites", "call paths by what they allocate"),
	LIST("leaks", "call paths by what is left"),
	LIST("alloc_sizes", "how large blocks are"),
	LIST("alloc_lives", "how long blocks live"),
	LIST("direct_maps", "call paths by what they map themselves"),
	LIST("offcpu", "where threads wait"),
	LIST("bound", "what functions spend their time on"),
	LIST("thread_states", "what threads did with their time"),
	LIST("conds", "condition variables"),
	LIST("sems", "semaphores"),
	LIST("barriers", "barriers"),
	LIST("file_locks", "locks on files"),
	LIST("waits", "waits for locks: who, for whom, where"),
	LIST("lock_order", "locks taken while another one was held"),
	LIST("waiting", "who waits now, and for whom"),
	{ "GET", "/debug/pprof/profile", NULL, NULL,
	  "samples of the CPU for pprof; ?seconds=N from now", hp_pprof_span_ns, hp_pprof_cpu_begin,
	  hp_pprof_cpu_end },
	ANSWER("/debug/pprof/heap", hp_pprof_heap, "allocations for pprof, what is held first"),
	ANSWER("/debug/pprof/allocs", hp_pprof_allocs, "the same, what was allocated first"),
	ANSWER("/debug/pprof/mutex", hp_pprof_mutex, "waits for locks for pprof"),
	ANSWER("/metrics", hp_metrics_render, "the figures for Prometheus"),
	ANSWER("/overview", hp_site_overview, "the run as a whole, and what each section has"),
	ANSWER("/flame", hp_site_flame, "call trees for flame graphs: time, CPU, waits, bytes"),
	ANSWER("/timeline", hp_site_timeline, "what threads did when; ?seconds=N the last ones"),
	ANSWER("/report.html", hp_site_saved, "the page with its data inside, to be kept"),
	ANSWER("/report", hp_report_render, "the whole report in JSON"),
	ANSWER("/sessions", hp_sessions_render, "profiled programs of this user that run"),
	ANSWER("/routes", hp_routes_render, "this list"),
};

const size_t hp_route_count = sizeof(hp_routes) / sizeof(hp_routes[0]);

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
	return hp_answer_error(404, "GET /routes lists what there is", "Not found");
}

bool hp_route_find(const char *method, const char *path, const char *query,
		   struct hp_request *request, struct hp_answer **error, const char **allowed)
{
	const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;

	*request = (struct hp_request){ .route = NULL };
	*error = NULL;
	*allowed = NULL;
	if (query && strlen(query) >= sizeof(request->query)) {
		*error = hp_answer_error(414, NULL, "The query is longer than %d bytes",
					 HP_QUERY_MOST - 1);
		return false;
	}
	strcpy(request->query, query ? query : "");
	for (size_t i = 0; i < hp_route_count; i++) {
		if (!fits(hp_routes[i].path, path, &request->id))
			continue;
		request->route = &hp_routes[i];
		if (strcmp(hp_routes[i].method, wanted) == 0)
			return true;
		*allowed = hp_routes[i].method;
	}
	*error = *allowed ? hp_answer_error(405, NULL, "Method not allowed - use %s", *allowed)
			  : not_found();
	return false;
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
