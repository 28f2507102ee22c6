/* SPDX-License-Identifier: MIT */
/*
 * answer.h - the answer to one request: a status, a type, a body.
 *
 * Folder: live/answer - answers to requests: lists, metrics, profiles, all from one snapshot of a
 *   program
 * May use: report/base report/export report/name report/read report/section report/section/channel
 *   report/section/core report/section/cpu report/section/future report/section/loop report/section/stream report/section/memory
 *   report/section/thread report/section/timing report/section/value report/section/wait
 *   report/store report/view segment segment/layout util
 *
 * Immutable and reference-counted, so that many connections and threads may
 * hold it; the last user frees it.
 */
#ifndef HP_LIVE_ANSWER_ANSWER_H
#define HP_LIVE_ANSWER_ANSWER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct cJSON;

#define HP_TYPE_JSON "application/json"
#define HP_TYPE_BYTES "application/octet-stream"

struct hp_answer {
	_Atomic uint32_t users;
	int status;	/* of HTTP */
	const char *type;	/* a static text */
	char *body;	/* not terminated */
	size_t size;
	uint64_t taken_ns;	/* CLOCK_MONOTONIC_RAW: when the segment was read; 0 = not read */
};

/* Takes over `body`, allocated by malloc. */
struct hp_answer *hp_answer_new(int status, const char *type, char *body, size_t size);

/* Prints and frees `json`. */
struct hp_answer *hp_answer_json(int status, struct cJSON *json);

/* {"error": ..., "hint": ...}; the hint may be NULL.  Printf for the error. */
struct hp_answer *hp_answer_error(int status, const char *hint, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Adds a reference; returns the answer. */
struct hp_answer *hp_answer_hold(struct hp_answer *answer);

/* Drops a reference; accepts NULL. */
void hp_answer_drop(struct hp_answer *answer);

#endif
