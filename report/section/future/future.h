/* SPDX-License-Identifier: MIT */
/*
 * future.h - the futures of a segment: work that is started, polled and finished, by the place where it begins.
 *
 * Folder: report/section/future - futures, coroutines and other work that is waited for
 * May use: report/section/wait report/section/core report/name report/read report/base
 *   segment segment/layout util
 */
#ifndef HP_REPORT_SECTION_FUTURE_FUTURE_H
#define HP_REPORT_SECTION_FUTURE_FUTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/read/lock_place.h"
#include "report/section/core/report.h"
#include "segment/layout/future.h"

#define HP_FUTURE_LOGGED 50	/* calls that are shown */

/* One call: ended, or in flight. */
struct hp_future_call {
	struct hp_future_entry entry;	/* `ended` 0 = in flight; `state` is any */
	char *text;	/* its result; NULL = none */
};

struct hp_future_row {
	uint32_t id;
	uint32_t kind;	/* enum hp_future_kind */
	uint32_t line;
	char *label;	/* NULL = none */
	char *file;	/* of a place in the source; NULL = unknown */
	struct hp_lock_place site;	/* of a place in the code */
	char *name;	/* NULL until hp_futures_named */
	char *source;	/* where it begins */
	uint64_t calls;
	uint64_t ready;
	uint64_t cancelled;
	uint64_t in_state[HP_FUTURE_STATES];	/* calls in flight */
	uint64_t open;	/* these, and those whose process ended first */
	uint64_t lost;	/* calls without a flight, or that ended unseen: nothing else is known about them */
	uint64_t polls;
	uint64_t timed;
	uint64_t poll_ticks;
	uint64_t poll_most;
	uint64_t alloc_bytes;
	uint64_t alloc_blocks;
	uint64_t totals;	/* calls with a known time from start to end */
	uint64_t total_ticks;
	uint64_t total_most;
	uint64_t queued;	/* calls with a known time from start to first poll */
	uint64_t queued_ticks;
	bool is_copy;	/* of an earlier row's call site, by the compiler: that row has its counts */
	struct hp_future_call *logs;	/* the newest first */
	size_t log_count;
	size_t log_room;
};

struct hp_futures {
	struct hp_future_row *rows;
	size_t count;
	uint64_t lost;	/* calls without room for a place */
	uint64_t unseen;	/* calls that ended, but not which ones */
};

/* Belongs to the report; freed with it. */
const struct hp_futures *hp_futures_of(const struct hp_report *report);

/*
 * The same, with names and sources: these read symbols, which takes long. Copies of a call site are
 * one row then, and all names of a kind differ.
 */
const struct hp_futures *hp_futures_named(const struct hp_report *report);

/* coroutine, thread, ...: its kind. */
const char *hp_future_kind_name(uint32_t kind);

/* pending, running, suspended, ready, cancelled. */
const char *hp_future_state_name(uint32_t state);

/* Where it begins; NULL = not known, or a place in the source. */
const struct hp_symbol_spot *hp_future_spot(const struct hp_report *report,
					    const struct hp_future_row *row);

#endif
