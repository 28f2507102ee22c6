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
	struct hp_cpu_seen *seen; /* stacks at the last one; NULL = it is the first */
	size_t seen_count;
	uint64_t seen_samples; /* of all stacks */
	uint64_t seen_ns; /* when that was, since the start */
};

struct hp_cpu_seen {
	uint64_t samples;
	uint64_t cpu_ns;
};

void hp_cpu_snapshot_release(struct hp_cpu_snapshot *capture);

#endif
