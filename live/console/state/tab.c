/* SPDX-License-Identifier: MIT */
/*
 * tab.c - see tab.h.  The first six tabs are those of the Rust crate's console;
 * tab_own.c has those for our own server.
 */
#include "live/console/state/tab_part.h"
#include "report/section/core/section.h"

/* --- 1 Functions --- */

static const struct hp_field timing_fields[] = {
	{ "Function", "name", NULL, HP_KIND_NAME, 9, false },
	{ "Calls", "calls", "calls", HP_KIND_COUNT, 8, false },
	{ "Avg", "avg", "avg_ns", HP_KIND_TIME, 5, false },
	{ "P%", "p%", "p%_ns", HP_KIND_TIME, 3, true },
	{ "Self", "@self_ns", "self_ns", HP_KIND_TIME, 4, false },
	{ "Total", "total", "total_ns", HP_KIND_TIME, 7, false },
	{ "% Total", "percent_total", "percent_total", HP_KIND_SHARE, 8, false },
};

static const struct hp_field timing_logs[] = {
	{ "Call", "invocation", NULL, HP_KIND_COUNT, 9, false },
	{ "Time", "duration", NULL, HP_KIND_TIME, 9, false },
	{ "Ago", "ago", NULL, HP_KIND_TEXT, 6, false },
	{ "TID", "thread_id", NULL, HP_KIND_ID, 5, false },
	{ "Result", "result", NULL, HP_KIND_NAME, 9, false },
};

static const struct hp_view timing = {
	.name = "Timing",
	.route = "/functions_timing",
	DATA,
	FIELDS(timing_fields),
	LOGS("/functions_timing/%/logs", timing_logs, "logs"),
	.empty = "no function was called: compile with the flags that `hotpath flags` prints",
};

static const struct hp_field memory_fields[] = {
	{ "Function", "name", NULL, HP_KIND_NAME, 9, false },
	{ "Calls", "calls", "calls", HP_KIND_COUNT, 8, false },
	{ "Avg", "avg", "avg", HP_KIND_BYTES, 5, false },
	{ "P%", "p%", "p%", HP_KIND_BYTES, 3, true },
	{ "Blocks", "@count", "count", HP_KIND_COUNT, 4, false },
	{ "Inclusive", "@inclusive_bytes", "inclusive_bytes", HP_KIND_BYTES, 4, false },
	{ "Total", "total", "total", HP_KIND_BYTES, 7, false },
	{ "% Total", "percent_total", "percent_total", HP_KIND_SHARE, 8, false },
};

static const struct hp_field memory_logs[] = {
	{ "Call", "invocation", NULL, HP_KIND_COUNT, 9, false },
	{ "Bytes", "bytes", NULL, HP_KIND_BYTES, 9, false },
	{ "Objects", "alloc_count", NULL, HP_KIND_COUNT, 6, false },
	{ "Ago", "ago", NULL, HP_KIND_TEXT, 6, false },
	{ "TID", "thread_id", NULL, HP_KIND_ID, 5, false },
	{ "Result", "result", NULL, HP_KIND_NAME, 9, false },
};

static const struct hp_view memory = {
	.name = "Memory",
	.route = "/functions_alloc",
	DATA,
	FIELDS(memory_fields),
	.notes = { { "allocated", "total_allocated", HP_KIND_BYTES },
		   { "live", "live_bytes", HP_KIND_BYTES },
		   { "peak", "peak_bytes", HP_KIND_BYTES } },
	LOGS("/functions_alloc/%/logs", memory_logs, "logs"),
	.empty = "nothing was allocated by instrumented functions",
};

static const struct hp_field cpu_fields[] = {
	{ "Function", "name", NULL, HP_KIND_NAME, 9, false },
	{ "Samples", "samples", "samples_us", HP_KIND_COUNT, 7, false },
	{ "Self", "@self_ns", "self_ns", HP_KIND_TIME, 6, false },
	{ "Inclusive", "@inclusive_ns", "inclusive_ns", HP_KIND_TIME, 5, false },
	{ "% Total", "percent", "percent", HP_KIND_SHARE, 8, false },
};

static const struct hp_view cpu = {
	.name = "CPU",
	.route = "/functions_cpu",
	.rows = { "report/data", "now/data" },
	.raw = { "report/raw", "now/raw" },
	FIELDS(cpu_fields),
	.notes = { { "snapshot", "status", HP_KIND_TEXT },
		   { "samples", "now/sample_count", HP_KIND_COUNT },
		   { "by", "now/source", HP_KIND_TEXT },
		   { "Hz", "now/frequency_hz", HP_KIND_COUNT },
		   { "lost", "now/lost_count", HP_KIND_COUNT } },
	.empty = "no sample yet; c takes a snapshot",
};

static const struct hp_field tree_fields[] = {
	{ "Function", "name", NULL, HP_KIND_NAME, 9, false },
	{ "Calls", "calls", "calls", HP_KIND_COUNT, 7, false },
	{ "Self", "self_ns", "self_ns", HP_KIND_TIME, 6, false },
	{ "Inclusive", "inclusive_ns", "inclusive_ns", HP_KIND_TIME, 8, false },
	{ "% Total", "%total_elapsed_ns", NULL, HP_KIND_SHARE, 8, false },
};

static const struct hp_view calls = {
	.name = "Calls",
	.about = "Call tree: who calls whom, and the time it takes.",
	.route = "/calltree",
	.form = HP_FORM_TREE,
	.rows = { "tree" },
	.raw = { "tree" },
	FIELDS(tree_fields),
	.empty = "no function was called: compile with the flags that `hotpath flags` prints",
};

static const struct hp_field caller_fields[] = {
	{ "Function", "name", NULL, HP_KIND_NAME, 9, false },
	{ "Calls", "calls", "calls", HP_KIND_COUNT, 7, false },
	{ "Self", "self_ns", "self_ns", HP_KIND_TIME, 6, false },
	{ "Inclusive", "inclusive_ns", "inclusive_ns", HP_KIND_TIME, 8, false },
	{ "% of it", "%function_ns", NULL, HP_KIND_SHARE, 8, false },
};

static const struct hp_view callers = {
	.name = "Callers",
	.brief = "By",
	.route = "/functions_timing/%/callers",
	.form = HP_FORM_TREE,
	.rows = { "tree" },
	.raw = { "tree" },
	FIELDS(caller_fields),
	.empty = "u in Timing shows the callers of the selected function",
};

/* --- 2 Data flow --- */

static const struct hp_field channel_fields[] = {
	{ "Channel", "label", NULL, HP_KIND_NAME, 9, false },
	{ "Type", "channel_type", NULL, HP_KIND_TEXT, 4, false },
	{ "Inst", "instances", NULL, HP_KIND_COUNT, 2, false },
	{ "State", "state", NULL, HP_KIND_TEXT, 5, false },
	{ "Sent", "sent_count", "sent_count", HP_KIND_COUNT, 8, false },
	{ "Received", "received_count", "received_count", HP_KIND_COUNT, 8, false },
	{ "Sent/s", "sent_per_sec", "sent_per_sec", HP_KIND_RATE, 6, false },
	{ "Queue", "queue_size", "queue_size", HP_KIND_COUNT, 7, false },
	{ "Max", "max_queue_size", "max_queue_size", HP_KIND_COUNT, 5, false },
	{ "Avg", "delay_avg", "delay_avg_ns", HP_KIND_TIME, 6, false },
	{ "P%", "delay_percentiles/p%", "delay_p%_ns", HP_KIND_TIME, 3, true },
	{ "Blocked", "@blocked_ns", "blocked_ns", HP_KIND_TIME, 4, false },
	{ "Starved", "@starved_ns", "starved_ns", HP_KIND_TIME, 4, false },
};

static const struct hp_field channel_logs[] = {
	{ "Index", "index", NULL, HP_KIND_COUNT, 9, false },
	{ "Delay", "delay", NULL, HP_KIND_TIME, 7, false },
	{ "Ago", "ago", NULL, HP_KIND_TEXT, 6, false },
	{ "TID", "thread_id", NULL, HP_KIND_ID, 4, false },
	{ "Message", "message", NULL, HP_KIND_NAME, 9, false },
};

static const struct hp_view channels = {
	.name = "Channels",
	.brief = "Chan",
	.route = "/channels",
	DATA,
	FIELDS(channel_fields),
	LOGS("/channels/%/logs", channel_logs, "sent_logs", "received_logs"),
	.empty = "no pipe, socket or queue was used between threads or processes of the program",
};

static const struct hp_field stream_fields[] = {
	{ "Stream", "label", NULL, HP_KIND_NAME, 9, false },
	{ "Type", "type_name", NULL, HP_KIND_TEXT, 3, false },
	{ "Inst", "instances", NULL, HP_KIND_COUNT, 4, false },
	{ "State", "state", NULL, HP_KIND_TEXT, 6, false },
	{ "Yielded", "items_yielded", "items_yielded", HP_KIND_COUNT, 8, false },
	{ "Bytes", "bytes", "bytes", HP_KIND_BYTES, 7, false },
	{ "Items/s", "items_per_sec", "items_per_sec", HP_KIND_RATE, 5, false },
	{ "Gap", "gap_avg", "gap_avg_ns", HP_KIND_TIME, 4, false },
};

static const struct hp_field item_logs[] = {
	{ "Index", "index", NULL, HP_KIND_COUNT, 9, false },
	{ "Ago", "ago", NULL, HP_KIND_TEXT, 6, false },
	{ "TID", "thread_id", NULL, HP_KIND_ID, 4, false },
	{ "Message", "message", NULL, HP_KIND_NAME, 9, false },
};

static const struct hp_view streams = {
	.name = "Streams",
	.brief = "Str",
	.route = "/streams",
	DATA,
	FIELDS(stream_fields),
	LOGS("/streams/%/logs", item_logs, "logs"),
	.empty = "the program read no FILE or directory, and marks none with HOTPATH_STREAM",
};

static const struct hp_field future_fields[] = {
	{ "Future", "label", NULL, HP_KIND_NAME, 9, false },
	{ "Calls", "call_count", "call_count", HP_KIND_COUNT, 8, false },
	{ "Polls", "total_polls", "total_polls", HP_KIND_COUNT, 7, false },
	{ "Polled", "total_poll_duration_ns", "total_poll_duration_ns", HP_KIND_TIME, 8, false },
	{ "Allocated", "total_poll_alloc_bytes", NULL, HP_KIND_BYTES, 5, false },
};

static const struct hp_field future_logs[] = {
	{ "Call", "id", NULL, HP_KIND_ID, 9, false },
	{ "State", "state", NULL, HP_KIND_TEXT, 8, false },
	{ "Polls", "poll_count", NULL, HP_KIND_COUNT, 7, false },
	{ "Polled", "total_poll_duration_ns", NULL, HP_KIND_TIME, 7, false },
	{ "Longest", "max_poll_duration_ns", NULL, HP_KIND_TIME, 5, false },
	{ "Result", "result", NULL, HP_KIND_NAME, 9, false },
};

static const struct hp_view futures = {
	.name = "Futures",
	.brief = "Fut",
	.route = "/futures",
	DATA,
	FIELDS(future_fields),
	LOGS("/futures/%/logs", future_logs, "calls"),
	.empty = "the program has none",
};

static const struct hp_field rwlock_fields[] = {
	{ "RwLock", "label", NULL, HP_KIND_NAME, 9, false },
	{ "Reads", "read_count", "read_count", HP_KIND_COUNT, 8, false },
	{ "Wait", "read_wait_avg", "read_wait_avg_ns", HP_KIND_TIME, 7, false },
	{ "P%", "read_wait_percentiles/p%", "read_wait_p%_ns", HP_KIND_TIME, 2, true },
	{ "Held", "read_acquire_avg", "read_acquire_avg_ns", HP_KIND_TIME, 6, false },
	{ "Held P%", "read_acquire_percentiles/p%", "read_acquire_p%_ns", HP_KIND_TIME, 1, true },
	{ "Writes", "write_count", "write_count", HP_KIND_COUNT, 8, false },
	{ "Wait", "write_wait_avg", "write_wait_avg_ns", HP_KIND_TIME, 7, false },
	{ "P%", "write_wait_percentiles/p%", "write_wait_p%_ns", HP_KIND_TIME, 2, true },
	{ "Held", "write_acquire_avg", "write_acquire_avg_ns", HP_KIND_TIME, 6, false },
	{ "Held P%", "write_acquire_percentiles/p%", "write_acquire_p%_ns", HP_KIND_TIME, 1, true },
};

static const struct hp_view rw_locks = {
	.name = "RwLocks",
	.brief = "RwL",
	.route = "/rw_locks",
	DATA,
	FIELDS(rwlock_fields),
	.empty = "the program uses none",
};

static const struct hp_field mutex_fields[] = {
	{ "Mutex", "label", NULL, HP_KIND_NAME, 9, false },
	{ "Locks", "count", "count", HP_KIND_COUNT, 8, false },
	{ "Waits", "@contended", "contended", HP_KIND_COUNT, 7, false },
	{ "Wait", "wait_avg", "wait_avg_ns", HP_KIND_TIME, 6, false },
	{ "P%", "wait_percentiles/p%", "wait_p%_ns", HP_KIND_TIME, 2, true },
	{ "Longest", "@wait_max_ns", "wait_max_ns", HP_KIND_TIME, 5, false },
	{ "Waited", "@wait_total_ns", "wait_total_ns", HP_KIND_TIME, 7, false },
	{ "Held", "acquire_avg", "acquire_avg_ns", HP_KIND_TIME, 6, false },
	{ "Held P%", "acquire_percentiles/p%", "acquire_p%_ns", HP_KIND_TIME, 1, true },
};

static const struct hp_view mutexes = {
	.name = "Mutexes",
	.brief = "Mtx",
	.route = "/mutexes",
	DATA,
	FIELDS(mutex_fields),
	.empty = "the program uses none",
};

/* --- 3 I/O --- */

#define CALL_FIELDS(title, key) \
	{ title, key, NULL, HP_KIND_NAME, 9, false }, \
		{ "Count", "count", "count", HP_KIND_COUNT, 8, false }, \
		{ "Avg", "avg", "avg_ns", HP_KIND_TIME, 5, false }, \
		{ "P%", "percentiles/p%", "p%_ns", HP_KIND_TIME, 3, true }, \
		{ "Total", "total", "total_ns", HP_KIND_TIME, 7, false }, \
	{ \
		"% Total", "percent_total", "percent_total", HP_KIND_SHARE, 8, false \
	}

static const struct hp_field sql_fields[] = {
	CALL_FIELDS("Query", "query"),
	{ "Source", "source", NULL, HP_KIND_TEXT, 2, false },
};

static const struct hp_field http_fields[] = {
	CALL_FIELDS("Endpoint", "endpoint"),
	{ "Errors", "errors", "errors", HP_KIND_COUNT, 6, false },
};

static const struct hp_field server_fields[] = {
	CALL_FIELDS("Route", "route"),
	{ "4xx", "status_4xx", "status_4xx", HP_KIND_COUNT, 6, false },
	{ "5xx", "status_5xx", "status_5xx", HP_KIND_COUNT, 6, false },
	{ "SQL/req", "sql_per_request", NULL, HP_KIND_RATE, 2, false },
	{ "HTTP/req", "http_per_request", NULL, HP_KIND_RATE, 2, false },
	{ "Bytes/req", "alloc/bytes_per_request", NULL, HP_KIND_BYTES, 2, false },
};

static const struct hp_field query_logs[] = {
	{ "Index", "index", NULL, HP_KIND_COUNT, 9, false },
	{ "Time", "duration", NULL, HP_KIND_TIME, 9, false },
	{ "Ago", "ago", NULL, HP_KIND_TEXT, 6, false },
	{ "Query", "query", NULL, HP_KIND_NAME, 9, false },
};

static const struct hp_field request_logs[] = {
	{ "Index", "index", NULL, HP_KIND_COUNT, 9, false },
	{ "Time", "duration", NULL, HP_KIND_TIME, 9, false },
	{ "Ago", "ago", NULL, HP_KIND_TEXT, 6, false },
	{ "Status", "status", NULL, HP_KIND_NAME, 9, false },
};

static const struct hp_field io_fields[] = {
	{ "File", "label", NULL, HP_KIND_NAME, 9, false },
	{ "Inst", "instances", NULL, HP_KIND_COUNT, 2, false },
	{ "Reads", "read/count", NULL, HP_KIND_COUNT, 7, false },
	{ "Bytes", "read/bytes", NULL, HP_KIND_BYTES, 8, false },
	{ "Avg", "read/avg", NULL, HP_KIND_TIME, 4, false },
	{ "Read/s", "read/bytes_per_sec", NULL, HP_KIND_TEXT, 3, false },
	{ "Writes", "write/count", NULL, HP_KIND_COUNT, 7, false },
	{ "Bytes", "write/bytes", NULL, HP_KIND_BYTES, 8, false },
	{ "Avg", "write/avg", NULL, HP_KIND_TIME, 4, false },
	{ "Written/s", "write/bytes_per_sec", NULL, HP_KIND_TEXT, 3, false },
	{ "Flushes", "flush/count", NULL, HP_KIND_COUNT, 1, false },
};

static const struct hp_view sql = {
	.name = "SQL",
	.route = "/sql",
	DATA,
	FIELDS(sql_fields),
	LOGS("/sql/%/logs", query_logs, "logs"),
	.empty = "no query was seen",
};

static const struct hp_view http = {
	.name = "HTTP",
	.route = "/http",
	DATA,
	FIELDS(http_fields),
	LOGS("/http/%/logs", request_logs, "logs"),
	.empty = "no request of the program was seen",
};

static const struct hp_view server = {
	.name = "Server",
	.brief = "Srv",
	.route = "/server",
	DATA,
	FIELDS(server_fields),
	LOGS("/server/%/logs", request_logs, "logs"),
	.empty = "no request to the program was seen",
};

static const struct hp_view io = {
	.name = "Bytes",
	.route = "/io",
	DATA,
	FIELDS(io_fields),
	.empty = "no read or write was seen",
};

/* --- 4 Threads --- */

static const struct hp_field thread_fields[] = {
	{ "Thread", "name", NULL, HP_KIND_NAME, 9, false },
	{ "TID", "os_tid", NULL, HP_KIND_ID, 6, false },
	{ "State", "status", NULL, HP_KIND_TEXT, 7, false },
	{ "CPU", "cpu_percent", NULL, HP_KIND_LOAD, 8, false },
	{ "Max", "cpu_percent_max", NULL, HP_KIND_LOAD, 4, false },
	{ "Avg", "cpu_percent_avg", NULL, HP_KIND_LOAD, 5, false },
	{ "CPU time", "@cpu_ns", "cpu_ns", HP_KIND_TIME, 6, false },
	{ "Alloc", "alloc_bytes", "alloc_bytes", HP_KIND_BYTES, 3, false },
	{ "Dealloc", "dealloc_bytes", "dealloc_bytes", HP_KIND_BYTES, 2, false },
	{ "Diff", "mem_diff", "mem_diff", HP_KIND_BYTES, 4, false },
};

static const struct hp_view threads = {
	.name = "Threads",
	.brief = "Thr",
	.route = "/threads",
	DATA,
	FIELDS(thread_fields),
	.notes = { { "RSS", "rss_bytes", HP_KIND_BYTES },
		   { "max", "rss_bytes_max", HP_KIND_BYTES },
		   { "alloc", "total_alloc_bytes", HP_KIND_BYTES },
		   { "dealloc", "total_dealloc_bytes", HP_KIND_BYTES },
		   { "diff", "alloc_dealloc_diff", HP_KIND_BYTES } },
	.empty = "no thread was seen yet",
};

static const struct hp_field offcpu_fields[] = {
	{ "Function", "name", NULL, HP_KIND_NAME, 9, false },
	{ "On", "on", NULL, HP_KIND_TEXT, 8, false },
	{ "Waits", "waits", "waits", HP_KIND_COUNT, 6, false },
	{ "Avg", "avg", "avg_ns", HP_KIND_TIME, 4, false },
	{ "Blocked", "blocked", "blocked_ns", HP_KIND_TIME, 7, false },
	{ "% Blocked", "percent", "percent", HP_KIND_SHARE, 8, false },
};

static const struct hp_view offcpu = {
	.name = "Off-CPU",
	.brief = "Off",
	.route = "/offcpu",
	DATA,
	FIELDS(offcpu_fields),
	.empty = "no wait was seen: hotpath doctor says what this machine allows",
};

/* --- 5 Debug, 6 Runtime --- */

static const struct hp_field debug_fields[] = {
	{ "Expression", "expression", NULL, HP_KIND_NAME, 9, false },
	{ "Type", "entry_type", NULL, HP_KIND_TEXT, 6, false },
	{ "Value", "last_value", NULL, HP_KIND_TEXT, 8, false },
	{ "Count", "log_count", NULL, HP_KIND_COUNT, 7, false },
	{ "Source", "source_display", NULL, HP_KIND_TEXT, 3, false },
};

static const struct hp_field value_logs[] = {
	{ "Index", "index", NULL, HP_KIND_COUNT, 9, false },
	{ "Ago", "ago", NULL, HP_KIND_TEXT, 6, false },
	{ "TID", "thread_id", NULL, HP_KIND_ID, 4, false },
	{ "Value", "value", NULL, HP_KIND_NAME, 9, false },
};

static const struct hp_view debug = {
	.name = "Values",
	.route = "/debug",
	.rows = { "entries", "data" },
	.raw = { "raw" },
	FIELDS(debug_fields),
	LOGS("/debug/@entry_type/%/logs", value_logs, "logs"),
	.empty = "the program shows no values",
};

static const struct hp_field worker_fields[] = {
	{ "Worker", "index", NULL, HP_KIND_NAME, 9, false },
	{ "Loop", "label", NULL, HP_KIND_NAME, 8, false },
	{ "Parks", "park_count", NULL, HP_KIND_COUNT, 8, false },
	{ "Busy ms", "busy_duration_ms", NULL, HP_KIND_COUNT, 8, false },
	{ "Polls", "poll_count", NULL, HP_KIND_COUNT, 5, false },
	{ "Steals", "steal_count", NULL, HP_KIND_COUNT, 4, false },
	{ "Queue", "local_queue_depth", NULL, HP_KIND_COUNT, 6, false },
	{ "Longest", "busy_max_ns", NULL, HP_KIND_TIME, 7, false },
};

static const struct hp_view runtime = {
	.name = "Workers",
	.route = "/tokio_runtime",
	.rows = { "workers" },
	FIELDS(worker_fields),
	.notes = { { "workers", "num_workers", HP_KIND_COUNT },
		   { "tasks", "num_alive_tasks", HP_KIND_COUNT },
		   { "queued", "global_queue_depth", HP_KIND_COUNT } },
	.empty = "no event loop is recorded in this program",
};

/* --- the tabs --- */

static const struct hp_view *const functions_views[] = { &timing, &memory,  &cpu,
							 &calls,  &callers, NULL };
static const struct hp_view *const flow_views[] = { &channels, &streams, &futures,
						    &rw_locks, &mutexes, NULL };
static const struct hp_view *const io_views[] = { &sql, &http, &server, &io, NULL };
static const struct hp_view *const thread_views[] = { &threads, &offcpu, NULL };
static const struct hp_view *const debug_views[] = { &debug, NULL };
static const struct hp_view *const runtime_views[] = { &runtime, NULL };
#define OF(subject) (1U << HP_SUBJECT_##subject)

const struct hp_tab hp_tab_table[HP_TAB_COUNT] = {
	{ "Functions", "Func", functions_views, OF(TIMING) | OF(CPU) | OF(MIXED) },
	{ "Flow", "Flow", flow_views, OF(CHANNEL) },
	{ "I/O", "I/O", io_views, 0 },
	{ "Threads", "Thr", thread_views, OF(THREAD) },
	{ "Debug", "Dbg", debug_views, 0 },
	{ "Runtime", "Run", runtime_views, 0 },
	{ "Memory", "Mem", hp_memory_views, OF(MEMORY) },
	{ "Waits", "Wait", hp_wait_views, OF(WAIT) },
	{ "Answers", "Ans", hp_answer_views, OF(ANSWER) },
};
