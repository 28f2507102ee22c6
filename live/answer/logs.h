/* SPDX-License-Identifier: MIT */
/*
 * logs.h - the last calls of one function.
 */
#ifndef HP_LIVE_ANSWER_LOGS_H
#define HP_LIVE_ANSWER_LOGS_H

#include "live/answer/route.h"

struct hp_answer *hp_logs_timing(struct hp_snapshot *snapshot, const struct hp_request *request);
struct hp_answer *hp_logs_alloc(struct hp_snapshot *snapshot, const struct hp_request *request);

struct hp_answer *hp_logs_channel(struct hp_snapshot *snapshot, const struct hp_request *request);
struct hp_answer *hp_logs_future(struct hp_snapshot *snapshot, const struct hp_request *request);

struct hp_answer *hp_logs_stream(struct hp_snapshot *snapshot, const struct hp_request *request);

/* /debug: the last changes of one value; the values of one kind. */
struct hp_answer *hp_logs_dbg(struct hp_snapshot *snapshot, const struct hp_request *request);
struct hp_answer *hp_logs_val(struct hp_snapshot *snapshot, const struct hp_request *request);
struct hp_answer *hp_logs_gauge(struct hp_snapshot *snapshot, const struct hp_request *request);
struct hp_answer *hp_values_dbg(struct hp_snapshot *snapshot, const struct hp_request *request);
struct hp_answer *hp_values_val(struct hp_snapshot *snapshot, const struct hp_request *request);
struct hp_answer *hp_values_gauge(struct hp_snapshot *snapshot, const struct hp_request *request);

/* The function with that id in /functions_timing; NULL = none. */
const struct hp_model_function *hp_logs_function(struct hp_snapshot *snapshot, uint32_t id);

/* now, 5s ago, 3m ago, 2h ago: written into `room`. */
const char *hp_ago_text(char *room, size_t size, uint64_t ns);

/* Logs of sections that are not recorded: 404 with a reason. */
struct hp_answer *hp_logs_none(struct hp_snapshot *snapshot, const struct hp_request *request);

#endif
