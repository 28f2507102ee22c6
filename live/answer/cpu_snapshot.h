/* SPDX-License-Identifier: MIT */
/*
 * cpu_snapshot.h - snapshots of CPU samples for clients of the Rust crate:
 * requested by POST, then idle -> capturing -> ready | error.
 *
 * Our sampler samples all the time, so a snapshot is a frozen table, while the
 * routes of the other sections continue to update. functions_cpu.c takes and
 * shows it.
 */
#ifndef HP_LIVE_ANSWER_CPU_SNAPSHOT_H
#define HP_LIVE_ANSWER_CPU_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;
struct hp_report;

enum hp_cpu_snapshot_status {
	HP_CPU_SNAPSHOT_IDLE = 0,
	HP_CPU_SNAPSHOT_RUNS,
	HP_CPU_SNAPSHOT_READY,
	HP_CPU_SNAPSHOT_ERROR
};

struct hp_cpu_snapshot {
	enum hp_cpu_snapshot_status status;
	uint64_t began_ns;	/* CLOCK_MONOTONIC_RAW */
	uint64_t due_ns;	/* when it is due; 0 = none pending */
	uint64_t captured_at_ms;	/* since the Unix epoch */
	uint64_t duration_ms;
	struct cJSON *report;
	char *error;
	char *folder; /* of the profile that the last one wrote; NULL = none */
	struct hp_cpu_seen *seen; /* at the last one; NULL = it is the first */
};

/* What had been sampled at a moment. Free it with free(). */
struct hp_cpu_seen {
	uint64_t elapsed_ns; /* since the start */
	uint64_t samples;
	size_t count;
	struct {
		uint64_t samples;
		uint64_t cpu_ns;
	} stacks[];
};

struct hp_cpu_seen *hp_cpu_seen_new(const struct hp_report *report);

/*
 * Leaves what came since, in a report that has computed nothing yet (hp_snapshot_renew). Afterwards the
 * report can serve only this answer.
 */
void hp_cpu_seen_take_off(struct hp_report *report, const struct hp_cpu_seen *seen);

void hp_cpu_snapshot_release(struct hp_cpu_snapshot *capture);

#endif
