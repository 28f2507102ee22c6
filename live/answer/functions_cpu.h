/* SPDX-License-Identifier: MIT */
/*
 * functions_cpu.h - /functions_cpu: the running samples, and snapshots of them.
 */
#ifndef HP_LIVE_ANSWER_FUNCTIONS_CPU_H
#define HP_LIVE_ANSWER_FUNCTIONS_CPU_H

#include <stdbool.h>

#include "live/answer/route.h"

/* POST /functions_cpu/snapshot */
struct hp_answer *hp_cpu_snapshot_end(struct hp_snapshot *snapshot,
				      const struct hp_request *request, void *begun);

/* GET /functions_cpu */
struct hp_answer *hp_cpu_snapshot_show(struct hp_snapshot *snapshot,
				       const struct hp_request *request);

/* After a refresh: takes a snapshot that is due. True = its status changed. */
bool hp_cpu_snapshot_take(struct hp_snapshot *snapshot);

#endif
