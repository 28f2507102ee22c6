/* SPDX-License-Identifier: MIT */
/*
 * setting_foreign.c - variables of the Rust crate that mean nothing here.
 */
#include <string.h>

#include "segment/setting.h"

#define UPLOAD "nothing is uploaded; HOTPATH_OUTPUT_FORMAT=json writes the report"
#define ABSENT "this version does not record it"

/* Without HOTPATH_; `*` is any text, and the first entry that fits counts. */
static const struct {
	const char *pattern;
	const char *why;
} table[] = {
	{ "*TIME_SAMPLING_RATE",
	  "hotpath chooses the rate of timed calls itself; HOTPATH_TIMING=exact times all" },
	{ "KEEP_INLINE", "inlined functions are counted like others" },
	{ "DRAIN_INTERVAL", "no queue needs draining" },
	{ "SHOW_INTERNAL_THREADS", "the profiler has no thread in the program" },
	{ "ALLOC_SELF", "this is the default; HOTPATH_ALLOC_CUMULATIVE=1 adds callees" },
	{ "ALLOC_MAX_DEPTH", "the depth of calls is not limited" },
	{ "UNSAFE_ASYNC_ALLOC", "allocations are recorded on every thread" },
	{ "CPU_BASELINE_OFF", "no baseline is measured" },
	{ "UPLOAD*", UPLOAD },
	{ "API_URL", UPLOAD },
	{ "API_TOKEN", UPLOAD },
	{ "BENCHMARK", UPLOAD "; HOTPATH_REPORT_LABEL names it" },
	{ "POLICY_PATH", UPLOAD "; hotpath compare --policy reads a policy" },
	{ "JSON", "use HOTPATH_OUTPUT_FORMAT=json" },
	{ "RECENT_LOGS", "use HOTPATH_LOGS_LIMIT" },
	{ "THREADS_INTERVAL", "use HOTPATH_THREADS_INTERVAL_MS" },
	{ "HTTP_PORT", "use HOTPATH_METRICS_PORT" },
	{ "METRICS_SERVER_ON",
	  "this is the default; HOTPATH_METRICS_SERVER_OFF=1 closes the ports" },
	{ "PROMETHEUS", "this is the default; HOTPATH_METRICS_SERVER_OFF=1 closes the ports" },
	{ "PROMETHEUS_ADDR", "use HOTPATH_PROMETHEUS_HOST and HOTPATH_PROMETHEUS_PORT" },
	{ "SQL_LIMIT", ABSENT },
	{ "HTTP_LIMIT", ABSENT },
	{ "SERVER_LIMIT", ABSENT },
	{ "IO_LIMIT", ABSENT },
	{ "SQL_RAW_LOGS", ABSENT },
	{ "ROUTE_SCOPE", ABSENT },
};

static bool does_fit(const char *pattern, const char *name, size_t length)
{
	size_t size = strlen(pattern);

	if (pattern[0] == '*')
		return length >= size - 1 &&
		       memcmp(name + length - (size - 1), pattern + 1, size - 1) == 0;
	if (pattern[size - 1] == '*')
		return length >= size - 1 && memcmp(name, pattern, size - 1) == 0;
	return length == size && memcmp(name, pattern, size) == 0;
}

const char *hp_setting_foreign(const char *name, size_t length)
{
	const size_t start = strlen("HOTPATH_");

	if (length <= start)
		return NULL;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (does_fit(table[i].pattern, name + start, length - start))
			return table[i].why;
	return NULL;
}
