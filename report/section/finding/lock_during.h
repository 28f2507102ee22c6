/* SPDX-License-Identifier: MIT */
/*
 * lock_during.h - what threads did while they held a lock of a group, from report/section/wait/during.h.
 */
#ifndef HP_REPORT_SECTION_FINDING_LOCK_DURING_H
#define HP_REPORT_SECTION_FINDING_LOCK_DURING_H

#include "report/section/finding/lock_group.h"

/* Times of most holds of the group are known, and so are the samples and waits in them. */
bool hp_lock_during_is_known(struct hp_survey *survey, const struct hp_lock_group *group);

/* Waits of one kind with the lock held that was acquired at one place. */
struct hp_lock_blocked {
	double ns;	/* 0 = there were none */
	const char *on;
	uint32_t function;	/* where it waited longest: place in hp_cpu.functions */
	double sync_ns;	/* of that: in fsync and the like */
	struct hp_lock_place at;
	bool is_write;	/* it is the exclusive side of a rwlock */
};

/* The longest in all, of these kinds. */
struct hp_lock_blocked hp_lock_during_blocked(struct hp_survey *survey,
					      const struct hp_lock_group *group,
					      const char *const *kinds, size_t kind_count);

/* Where the group's holder spends most of its CPU time with the lock. */
struct hp_lock_work {
	char *name;	/* of a function that it calls, fresh; NULL = nowhere mostly, or not known */
	uint32_t function;	/* the same, place in hp_cpu.functions */
	double share;	/* of its samples with the lock */
	uint64_t samples;	/* these */
};

struct hp_lock_work hp_lock_during_work(struct hp_survey *survey,
					const struct hp_lock_group *group);

#endif
