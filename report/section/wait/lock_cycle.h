/* SPDX-License-Identifier: MIT */
/*
 * lock_cycle.h - locks that were taken in orders that contradict each other: two
 * in both orders, or more in a circle.
 */
#ifndef HP_REPORT_SECTION_WAIT_LOCK_CYCLE_H
#define HP_REPORT_SECTION_WAIT_LOCK_CYCLE_H

#include <stddef.h>

#include "report/section/wait/lock.h"

#define HP_CYCLE_MAX 8	/* locks of a circle; longer ones are not searched for */

/* edges[i] took the lock that edges[i + 1] held; the last one took that of the first. */
struct hp_lock_cycle {
	const struct hp_lock_order *edges[HP_CYCLE_MAX];
	size_t count;
};

/*
 * Each pair once, and each circle of three and more without a pair in it: the
 * shortest one through each of its orders.  Returns a fresh array.
 */
struct hp_lock_cycle *hp_lock_cycles(const struct hp_locks *locks, size_t *count);

#endif
