/* SPDX-License-Identifier: MIT */
/*
 * during.h - what threads did while they held a lock.
 *
 * A thread's long holds are recorded with their times, and so are its samples and its waits: those
 * that lie in a hold happened with the lock held. Shorter holds are missing here, so a time is what
 * is certain, not all.
 */
#ifndef HP_REPORT_SECTION_WAIT_DURING_H
#define HP_REPORT_SECTION_WAIT_DURING_H

#include "report/section/core/report.h"
#include "report/section/wait/lock.h"

/* One stack, while the lock was held that was acquired at that place. */
struct hp_during_row {
	uint32_t stack;
	uint32_t lock;	/* place in hp_locks.rows */
	struct hp_lock_place at;
	bool is_wait;	/* else CPU time */
	double count;	/* waits, samples; a hold that stands for others counts as all of them */
	double ns;
};

struct hp_during {
	struct hp_during_row *rows;
	size_t count;
	double *waited_ns;	/* by stack: all of its recorded waits, with a lock or without */
	double *held_ns;	/* by place in hp_locks.rows: all of these holds */
};

/*
 * Made on first request; lives as long as the report. NULL = not known: there are no such holds, or
 * not all samples and waits have their time.
 */
const struct hp_during *hp_during_of(struct hp_report *report);

/* A stack's time off the CPU while that row's lock was held, ns; 0 for CPU time. */
double hp_during_blocked_ns(struct hp_report *report, const struct hp_during_row *row);

#endif
