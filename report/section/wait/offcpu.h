/* SPDX-License-Identifier: MIT */
/*
 * offcpu.h - where threads waited, and why.
 */
#ifndef HP_REPORT_SECTION_WAIT_OFFCPU_H
#define HP_REPORT_SECTION_WAIT_OFFCPU_H

#include "report/section/core/section.h"
#include "report/section/wait/lock_path.h"

struct cJSON;

#define HP_NO_STACK "<no stack>"	/* the owner of the wait is unknown */
#define HP_ON_STOP "stop"	/* the cause of a thread that a signal stopped */

/* Time in which a lock was held that was acquired at that place. */
struct hp_offcpu_held {
	uint32_t lock;	/* place in hp_locks.rows */
	struct hp_lock_place at;
	double ns;
};

/* Waits of one function for one kind of thing. */
struct hp_offcpu_row {
	uint32_t function;	/* place in hp_cpu.functions; HP_NONE = the stack is not known */
	const char *on;
	uint64_t waits;
	uint64_t blocked_ns;
	double error_ns;	/* half of a 95 % interval; 0 = exact */
	struct hp_offcpu_held *held;	/* most first: locks held meanwhile */
	size_t held_count;
	size_t held_room;
};

struct hp_offcpu {
	struct hp_offcpu_row *rows;
	size_t count;
	size_t room;
	uint64_t profiler_ns;	/* in no row */
	uint64_t stopped_ns;	/* by a signal; in no row */
	bool *is_profiler;	/* by stack */
};

/* The library waits there for its helper, to join its session and to end it. */
bool hp_offcpu_is_helper(const struct hp_report *report, uint32_t stack);

/* The cause of a stack's wait, from its kernel functions. */
const char *hp_offcpu_cause(const struct hp_report *report, uint32_t stack);

/* Is it the cause of a thread that a signal stopped? That is not a wait. */
bool hp_offcpu_is_stop(const char *on);

/* How long threads were stopped by a signal, in total. */
uint64_t hp_offcpu_stopped_ns(struct hp_report *report);

/* The owner of a wait: place in hp_cpu.functions, HP_NONE = unknown. */
uint32_t hp_offcpu_function(const struct hp_report *report, uint32_t stack);

/* The library waited for its helper on the program's behalf: not true for stand-ins. */
bool hp_offcpu_is_profiler(struct hp_report *report, uint32_t stack);

/* The C library's, its loader's, or ours. */
bool hp_offcpu_is_libc(const struct hp_report *report, uint32_t object);

/* Its functions, except the kernel's own, do what their callers want. */
bool hp_offcpu_is_servant(const struct hp_report *report, uint32_t object);

/* --- offcpu_held.c: the locks of all rows, and of one in a table and in JSON --- */

void hp_offcpu_held_make(struct hp_report *report, struct hp_offcpu *offcpu);
void hp_offcpu_held_cell(const struct hp_cell *cell, struct hp_value *value);
void hp_offcpu_held_write(struct hp_report *report, const struct hp_offcpu_row *row,
			  struct cJSON *entry);

/* For how long short waits are missing: the run ended before the first burst. */
uint64_t hp_offcpu_missed_ns(const struct hp_report *report);

bool hp_offcpu_has_data(const struct hp_report *report);
const char *hp_offcpu_empty(struct hp_report *report);

#endif
