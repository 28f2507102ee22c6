/* SPDX-License-Identifier: MIT */
/*
 * lock_held.h - what the holder of a lock did while another thread waited for it.
 *
 * Each waiter's longest wait is recorded with its time and with the thread that had the lock
 * when it began. If that thread waited for anything but a lock at the same time, it waited with
 * the lock held.
 */
#ifndef HP_REPORT_SECTION_FINDING_LOCK_HELD_H
#define HP_REPORT_SECTION_FINDING_LOCK_HELD_H

#include "report/section/finding/lock_group.h"

struct hp_lock_held {
	double waited_ns; /* the longest wait of each waiter; 0 = not known */
	double blocked_ns; /* of that: their holders waited for something else */
};

/* `is_own`: only waits for the place of group->holder. */
struct hp_lock_held hp_lock_held(struct hp_survey *survey, const struct hp_lock_group *group,
				 bool is_own);

#endif
