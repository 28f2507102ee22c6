/* SPDX-License-Identifier: MIT */
/*
 * export.c - see export.h.
 */
#include "report/export.h"

#include <string.h>

#include "report/alloc_section.h"

const char hp_export_formats[] = "firefox|flamegraph|folded|pprof";

static const char *samples_missing(struct hp_report *report)
{
	return report->model.sampling.record.samples ? NULL : hp_cpu_empty(report);
}

/* Time, samples, waits or bytes: one of them will do. */
static const char *all_missing(struct hp_report *report)
{
	if (report->has_functions || hp_alloc_of(report) ||
	    report->model.sampling.record.blocked_ns)
		return NULL;
	return samples_missing(report);
}

const struct hp_export *hp_export_find(const char *format)
{
	static const struct hp_export formats[] = {
		{ "firefox", hp_export_firefox, samples_missing },
		{ "flamegraph", hp_export_flamegraph, all_missing },
		{ "folded", hp_export_folded, samples_missing },
		{ "pprof", hp_export_pprof, samples_missing },
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(formats[i].name, format) == 0)
			return &formats[i];
	return NULL;
}
