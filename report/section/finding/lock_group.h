/* SPDX-License-Identifier: MIT */
/*
 * lock_group.h - locks as seen by rules: one, or all that one place in the program creates.
 */
#ifndef HP_REPORT_SECTION_FINDING_LOCK_GROUP_H
#define HP_REPORT_SECTION_FINDING_LOCK_GROUP_H

#include "report/section/finding/rule.h"
#include "report/section/wait/lock.h"

struct hp_lock_group {
	uint32_t first;	/* place of one of them in hp_locks.rows */
	size_t locks;
	uint64_t count;	/* acquisitions */
	uint64_t contended;
	double wait_ns;
	double most_ns;
	double hold_ns;
	bool is_hold_estimated;
	bool is_rwlock;
	double write_ns;	/* of that: exclusive; 0 = it is not a rwlock */
	double longest_ns;	/* the longest total wait of a thread */
	struct hp_lock_contest
		holder;	/* waits for the place that made others wait most; address 0 = not known */
	double holder_ns;	/* that others waited for it */
};

/* Fresh; the longest waits first. */
struct hp_lock_group *hp_lock_groups(struct hp_survey *survey, size_t *count);

/* "lock log_lock", "the 16 locks Account::m"; fresh. */
char *hp_lock_group_name(struct hp_survey *survey, const struct hp_lock_group *group);

/* The function that held it: "log_write (log.c:10)"; fresh. */
char *hp_lock_group_holder(struct hp_survey *survey, const struct hp_lock_group *group);

/* An upper bound of the time that the run would save without waits for it. */
double hp_lock_group_gain(const struct hp_survey *survey, const struct hp_lock_group *group);

/* Waits are frequent, long and significant; and its holder is known. */
bool hp_lock_group_is_worth(const struct hp_survey *survey, const struct hp_lock_group *group);

/* The same where locks only wait for each other, as in two threads that merge. */
bool hp_lock_group_is_worth_alone(const struct hp_survey *survey,
				  const struct hp_lock_group *group);

/* "1,458 waits of 4,800 acquisitions, 14.9 s in all, the longest 203 ms"; fresh. */
char *hp_lock_group_facts(const struct hp_lock_group *group);

/* "held for 53% of the time", or the sum if holds overlap and add up to more; "~" before an
 * estimate; fresh. */
char *hp_lock_group_held(const struct hp_survey *survey, const struct hp_lock_group *group);

/* Adds the row of the lock to the evidence. */
void hp_lock_group_evidence(struct hp_survey *survey, const struct hp_lock_group *group,
			    struct hp_finding *finding);

/* Waits for the same place that held it. */
bool hp_lock_contest_is_like(const struct hp_lock_contest *a, const struct hp_lock_contest *b);

/* A lock, by its place in hp_locks.rows, is one of them. */
bool hp_lock_group_has(struct hp_survey *survey, const struct hp_lock_group *group, uint32_t lock);

#endif
