/* SPDX-License-Identifier: MIT */
/*
 * report_snapshot.h - the snapshot that answers are made from: the report of one moment,
 * and the state that outlives it. Only the worker of live/cache/cache.c uses
 * it.
 */
#ifndef HP_LIVE_ANSWER_REPORT_SNAPSHOT_H
#define HP_LIVE_ANSWER_REPORT_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "live/answer/ids.h"
#include "live/answer/route.h"
#include "live/answer/cpu_snapshot.h"
#include "live/answer/target.h"
#include "report/section/core/report.h"

struct hp_snapshot {
	const struct hp_routes *routes;	/* the routes; never change, any thread may read them */
	struct hp_target target;
	struct hp_settings settings;
	char defaults[HP_DEFAULTS_MAX];	/* of the program, and */
	char default_values[HP_DEFAULTS_MAX];	/* their words */
	bool has_report;
	struct hp_report report;
	struct hp_carry carry;	/* the state that outlives a refresh */
	struct hp_ids ids;	/* of rows, stable across refreshes */
	uint32_t *function_ids;	/* ids of the report's functions */
	uint64_t taken_ns;	/* when its segment was read, CLOCK_MONOTONIC_RAW */
	uint64_t cost_ns;	/* duration of a refresh, moving average */
	uint64_t missing;	/* names missing in the refresh itself */
	uint64_t missing_before;	/* hp_snapshot_missing before the refresh */
	struct hp_cpu_snapshot cpu_snapshot;	/* of the CPU's samples */
	struct hp_answer *runtime; /* on event loops, kept for HOTPATH_TOKIO_RUNTIME_INTERVAL_MS */
	uint64_t runtime_ns; /* when that was made, CLOCK_MONOTONIC_RAW */
};

/*
 * Takes over the target. The caller keeps the routes. `settings` come from
 * flags and environment; the program's defaults are added.
 */
void hp_snapshot_init(struct hp_snapshot *snapshot, const struct hp_target *target,
		      const struct hp_settings *settings, const struct hp_routes *routes);

/* Refreshes. False = no data; for an ended run: nothing new. */
bool hp_snapshot_refresh(struct hp_snapshot *snapshot);
/* The same from scratch, so that nothing was computed of it yet: for an answer that changes the model. */
bool hp_snapshot_renew(struct hp_snapshot *snapshot);

/*
 * A background thread resolves names (report/name/resolver.h). Returns the
 * total of names that were missing: if it grew during an answer or the refresh,
 * names are still to come.
 */
uint64_t hp_snapshot_missing(const struct hp_snapshot *snapshot);

/* Frees the report, which may use much memory. */
void hp_snapshot_drop(struct hp_snapshot *snapshot);
void hp_snapshot_release(struct hp_snapshot *snapshot);

#endif
