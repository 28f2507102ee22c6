/* SPDX-License-Identifier: MIT */
/*
 * routes.c - see routes.h.
 */
#include "live/routes/routes.h"

#include <pthread.h>

#include "live/answer/callers.h"
#include "live/answer/functions_cpu.h"
#include "live/answer/lists.h"
#include "live/answer/logs.h"
#include "live/export/metrics.h"
#include "live/answer/page.h"
#include "live/export/pprof.h"
#include "live/answer/stacks.h"
#include "live/answer/status.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/sections.h"

/* Without a section: a route. With one: its list, or a route whose path begins with the list's. */
struct entry {
	const struct hp_section *section;
	struct hp_route route;
	bool is_rest;	/* lists of all other sections */
};

#define LIST(name) \
	{ \
		.section = &hp_##name##_section \
	}
#define OF(name, path_, render_, help_) \
	{ \
		.section = &hp_##name##_section, .route = { \
			.path = path_, \
			.render = render_, \
			.help = help_ \
		} \
	}
#define NO_LOGS(name, path_, noun_) \
	{ \
		.section = &hp_##name##_section, .route = { \
			.path = path_, \
			.render = hp_logs_none, \
			.help = "log of one of them", \
			.noun = noun_ \
		} \
	}
#define ANSWER(path_, render_, help_) \
	{ \
		.route = {.path = path_, .render = render_, .help = help_ } \
	}

/* In the order that clients expect: those of the Rust crate first. */
static const struct entry entries[] = {
	LIST(functions),
	OF(functions, "/{id}/logs", hp_logs_timing, "last and slowest calls of a function"),
	OF(functions, "/{id}/callers", hp_callers_render, "callers of a function, over all paths"),
	OF(functions, "/{id}/callees", hp_callees_render, "callees of a function, over all paths"),
	LIST(alloc_functions),
	OF(alloc_functions, "/{id}/logs", hp_logs_alloc, "calls of one"),
	{ .section = &hp_cpu_section, .route = { .render = hp_cpu_snapshot_show } },
	{ .section = &hp_cpu_section,
	  .route = { .method = "POST",
		     .path = "/snapshot",
		     .help = "take a snapshot of the samples",
		     .end = hp_cpu_snapshot_end } },
	LIST(threads),
	LIST(channels),
	OF(channels, "/{id}/logs", hp_logs_channel, "last messages of one"),
	LIST(streams),
	OF(streams, "/{id}/logs", hp_logs_stream, "last items of one"),
	LIST(futures),
	OF(futures, "/{id}/logs", hp_logs_future, "last calls of one"),
	LIST(rw_locks),
	LIST(mutexes),
	LIST(sql),
	NO_LOGS(sql, "/{id}/logs", "query"),
	LIST(http),
	NO_LOGS(http, "/{id}/logs", "endpoint"),
	LIST(server),
	NO_LOGS(server, "/{id}/logs", "route"),
	LIST(io),
	LIST(debug),
	OF(debug, "/dbg", hp_values_dbg, "expressions that the program shows"),
	OF(debug, "/val", hp_values_val, "values that it shows by key"),
	OF(debug, "/gauge", hp_values_gauge, "gauges"),
	OF(debug, "/dbg/{id}/logs", hp_logs_dbg, "last values of one expression"),
	OF(debug, "/val/{id}/logs", hp_logs_val, "last values of one key"),
	OF(debug, "/gauge/{id}/logs", hp_logs_gauge, "last values of one gauge"),
	{ .section = &hp_loops_section, .route = { .render = hp_runtime_render } },
	ANSWER("/profiler_status", hp_status_render, "the program and its profiler"),
	LIST(calltree),
	LIST(alloc_callers),
	LIST(alloc_sites),
	LIST(leaks),
	LIST(alloc_sizes),
	LIST(alloc_lives),
	LIST(direct_maps),
	LIST(offcpu),
	LIST(bound),
	LIST(thread_states),
	{ .is_rest = true },
	{ .route = { .path = "/debug/pprof/profile",
		     .help = "CPU samples for pprof; ?seconds=N from now",
		     .span_ns = hp_pprof_span_ns,
		     .begin = hp_pprof_cpu_begin,
		     .end = hp_pprof_cpu_end } },
	ANSWER("/debug/pprof/heap", hp_pprof_heap, "allocations for pprof, held memory first"),
	ANSWER("/debug/pprof/allocs", hp_pprof_allocs, "the same, allocated memory first"),
	ANSWER("/debug/pprof/mutex", hp_pprof_mutex, "waits for locks for pprof"),
	ANSWER("/metrics", hp_metrics_render, "metrics for Prometheus"),
	ANSWER("/answers", hp_answers_render, "the default report as lines; ?columns=N"),
	ANSWER("/report.txt", hp_answers_text, "the default report; ?columns=N"),
	ANSWER("/overview", hp_overview_render, "the whole run, and the contents of each section"),
	ANSWER("/flame", hp_flame_render, "call trees for flame graphs: time, CPU, waits, bytes"),
	ANSWER("/timeline", hp_timeline_render,
	       "thread activity over time; ?seconds=N: the last N"),
	ANSWER("/report.html", hp_page_render, "the page with its data, as a file"),
	ANSWER("/report", hp_report_render, "the whole report in JSON"),
	{ .route = { .path = "/stacks",
		     .render = hp_stacks_render,
		     .needs_token = true,
		     .help = "what each thread does now; ?pid=N of another process; needs a token" } },
	ANSWER("/sessions", hp_sessions_render, "running profiled programs of this user"),
	ANSWER("/routes", hp_routes_render, "this list"),
};

#define ENTRIES (sizeof(entries) / sizeof(entries[0]))

static struct hp_route *list;
static struct hp_routes routes;

static void route_add(const struct hp_section *section, struct hp_route route)
{
	if (!route.method)
		route.method = "GET";
	if (section && !route.path) {
		route.render = route.render ? route.render : hp_list_render;
		route.help = section->help;
	}
	if (section) {
		route.section = section;
		route.path = hp_xprintf("/%s%s", section->json, route.path ? route.path : "");
	}
	list[routes.count++] = route;
}

static bool has_entry(const struct hp_section *section)
{
	for (size_t i = 0; i < ENTRIES; i++)
		if (entries[i].section == section)
			return true;
	return false;
}

static void rest_add(void)
{
	for (size_t i = 0; i < hp_section_count; i++)
		if (hp_sections[i]->json[0] && !has_entry(hp_sections[i]))
			route_add(hp_sections[i], (struct hp_route){ .method = NULL });
}

static void routes_make(void)
{
	list = hp_xcalloc(ENTRIES + hp_section_count, sizeof(*list));
	for (size_t i = 0; i < ENTRIES; i++) {
		if (entries[i].is_rest)
			rest_add();
		else
			route_add(entries[i].section, entries[i].route);
	}
	routes.list = list;
}

const struct hp_routes *hp_routes(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, routes_make);
	return &routes;
}
