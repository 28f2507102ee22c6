/* SPDX-License-Identifier: MIT */
/*
 * answer.h - what is said to one question: a status, a type, a body.
 *
 * Folder: live/answer - what is said to one question: lists, metrics,
 *   profiles, all from one look at a program
 * May use: report/base report/export report/name report/read report/section
 *   report/section/channel report/section/core report/section/cpu
 *   report/section/memory report/section/thread report/section/timing report/section/wait
 *   report/store report/view segment segment/layout util
 *
 * Made once and never changed, so that many connections and threads may hold
 * it; the last one that lets go of it frees it.
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
	uint64_t taken_ns;	/* CLOCK_MONOTONIC_RAW: when the segment was read; 0 = it was not */
};

/* Takes over `body`, which is of malloc. */
struct hp_answer *hp_answer_new(int status, const char *type, char *body, size_t size);

/* Prints and frees `json`. */
struct hp_answer *hp_answer_json(int status, struct cJSON *json);

/* {"error": ..., "hint": ...}; the hint may be NULL.  Printf for the error. */
struct hp_answer *hp_answer_error(int status, const char *hint, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* One user more; returns it. */
struct hp_answer *hp_answer_hold(struct hp_answer *answer);

/* One user less; accepts NULL. */
void hp_answer_drop(struct hp_answer *answer);

#endif
