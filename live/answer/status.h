/* SPDX-License-Identifier: MIT */
/*
 * status.h - routes about the program and the server.
 */
#ifndef HP_LIVE_ANSWER_STATUS_H
#define HP_LIVE_ANSWER_STATUS_H

#include <stdint.h>

#include "live/answer/route.h"

struct cJSON;

/* /profiler_status */
struct hp_answer *hp_status_render(struct hp_snapshot *snapshot, const struct hp_request *request);

/* /sessions: this user's running sessions. */
struct hp_answer *hp_sessions_render(struct hp_snapshot *snapshot,
				     const struct hp_request *request);

/* The same without a program; `root` is the pid of the current one, 0 = none. */
struct cJSON *hp_sessions_json(uint32_t root);

/* /routes: the list of routes. */
struct hp_answer *hp_routes_render(struct hp_snapshot *snapshot, const struct hp_request *request);

/* /tokio_runtime: the event loops; 404 where none exists. */
struct hp_answer *hp_runtime_render(struct hp_snapshot *snapshot, const struct hp_request *request);

/* /report: the whole report in JSON. */
struct hp_answer *hp_report_render(struct hp_snapshot *snapshot, const struct hp_request *request);

#endif
