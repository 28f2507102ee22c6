/* SPDX-License-Identifier: MIT */
/*
 * routes.c - see routes.h.
 */
#include "live/routes/routes.h"

#include "live/answer/callers.h"
#include "live/answer/functions_cpu.h"
#include "live/answer/lists.h"
#include "live/answer/logs.h"
#include "live/answer/metrics.h"
#include "live/answer/page.h"
#include "live/answer/pprof.h"
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

static const struct hp_route list[] = {
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
	ANSWER("/overview", hp_overview_render, "the run as a whole, and what each section has"),
	ANSWER("/flame", hp_flame_render, "call trees for flame graphs: time, CPU, waits, bytes"),
	ANSWER("/timeline", hp_timeline_render, "what threads did when; ?seconds=N the last ones"),
	ANSWER("/report.html", hp_page_render, "the page with its data inside, to be kept"),
	ANSWER("/report", hp_report_render, "the whole report in JSON"),
	ANSWER("/sessions", hp_sessions_render, "profiled programs of this user that run"),
	ANSWER("/routes", hp_routes_render, "this list"),
};

const struct hp_routes hp_routes = { list, sizeof(list) / sizeof(list[0]) };
