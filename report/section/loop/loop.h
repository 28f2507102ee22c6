/* SPDX-License-Identifier: MIT */
/*
 * loop.h - the event loops of a segment: which waiting threads are loops, and how busy they were.
 *
 * Folder: report/section/loop - event loops and their longest busy spans
 * May use: report/section/wait report/section/cpu report/section/core report/name report/read
 *   report/base segment segment/layout util
 */
#ifndef HP_REPORT_SECTION_LOOP_LOOP_H
#define HP_REPORT_SECTION_LOOP_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/read/lock_place.h"
#include "report/read/lock_sum.h"
#include "report/section/core/section.h"
#include "segment/layout/loop.h"

struct hp_loop_span_row;

struct hp_loop_row {
	struct hp_loop record;
	size_t number;	/* as they are read */
	struct hp_lock_place site;
	uint32_t path;	/* of hp_loops.paths, or HP_NONE */
	char *label;	/* the program's name for it; NULL = none */
	char *name;	/* its name here */
	char *apart;	/* the same if no other row has it, else with what differs */
	const char *kind;	/* "libuv", "epoll", ... */
	struct hp_lock_sum spans;	/* its holds are the busy spans */
	uint64_t wait_ticks;	/* including the current wait */
	uint64_t busy_ticks;	/* including the current span, and */
	uint64_t tail_ticks;	/* this part of it, which no wait followed */
	bool is_waiting;
	bool is_busy;	/* it is running, not waiting */
};

/* One of the longest busy spans of all loops. */
struct hp_loop_span_row {
	const struct hp_loop_row *loop;
	struct hp_loop_span span;
	char *what;	/* the function that ran, or the cause of its wake-up; NULL = not known */
	const char *by;	/* how that is known */
};

struct hp_loops {
	struct hp_loop_row *rows;	/* the busiest first */
	size_t count;
	struct hp_loop_span_row *spans;	/* the longest first */
	size_t span_count;
};

/* Read on first request. */
const struct hp_loops *hp_loops_of(const struct hp_report *report);

#endif
