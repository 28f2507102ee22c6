/* SPDX-License-Identifier: MIT */
/*
 * metrics.h - GET /metrics: the figures for Prometheus.
 *
 * Text format 0.0.4, or OpenMetrics 1.0 for clients that accept it.  Families and
 * labels are those of the Rust crate hotpath; seconds and bytes are the units.  A
 * family has at most HP_METRICS_SERIES series, those with the largest totals, so
 * that a program with 10 000 functions does not flood a database.
 *
 * Folder: live/export - answers in the formats of other tools: Prometheus,
 *   pprof
 * May use: live/answer report/base report/export report/read report/section
 *   report/section/core report/section/cpu report/section/loop report/section/memory
 *   report/section/value report/section/thread report/section/wait segment segment/layout util
 */
#ifndef HP_LIVE_EXPORT_METRICS_H
#define HP_LIVE_EXPORT_METRICS_H

#include "live/answer/route.h"

#define HP_METRICS_SERIES 100

struct hp_answer *hp_metrics_render(struct hp_snapshot *snapshot, const struct hp_request *request);

#endif
