/* SPDX-License-Identifier: MIT */
/*
 * export.c - see export.h.
 */
#include "report/export/export.h"

#include <string.h>

#include "report/section/memory/section.h"
#include "report/section/wait/lock_section.h"

const char hp_export_formats[] =
	"firefox|flamegraph|folded|pprof, of locks pprof-mutex, of memory "
	"folded-bytes|folded-count|folded-live|folded-peak|folded-temporary|pprof-heap";

static const char *samples_missing(struct hp_report *report)
{
	return report->model.sampling.record.samples ? NULL : hp_cpu_empty(report);
}

static const char *alloc_missing(struct hp_report *report)
{
	const struct hp_alloc *alloc = hp_alloc_of(report);

	return alloc && alloc->all.count ? NULL : hp_alloc_empty(report);
}

static const char *waits_missing(struct hp_report *report)
{
	const struct hp_locks *locks = hp_lock_view_locks(hp_lock_view(report));

	return locks && locks->contest_count ? NULL : "no thread waited for a lock";
}

/* A program that only waited still has a track. */
static const char *track_missing(struct hp_report *report)
{
	return report->model.sampling.record.blocked_ns ? NULL : samples_missing(report);
}

/* Time, samples, waits or bytes: one of them is enough. */
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
		{ "firefox", hp_export_firefox, track_missing },
		{ "flamegraph", hp_export_flamegraph, all_missing },
		{ "folded", hp_export_folded, samples_missing },
		{ "folded-bytes", hp_export_folded_bytes, alloc_missing },
		{ "folded-count", hp_export_folded_count, alloc_missing },
		{ "folded-live", hp_export_folded_live, alloc_missing },
		{ "folded-peak", hp_export_folded_peak, alloc_missing },
		{ "folded-temporary", hp_export_folded_temporary, alloc_missing },
		{ "pprof", hp_export_pprof, samples_missing },
		{ "pprof-heap", hp_export_pprof_heap, alloc_missing },
		{ "pprof-mutex", hp_export_pprof_mutex, waits_missing },
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(formats[i].name, format) == 0)
			return &formats[i];
	return NULL;
}
