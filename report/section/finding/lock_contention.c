/* SPDX-License-Identifier: MIT */
/*
 * lock_contention.c - threads wait for a lock that another thread holds.
 */
#include <stdlib.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/core/list.h"
#include "report/section/finding/lock_during.h"
#include "report/section/finding/rules.h"

static void group_add(struct hp_survey *survey, const struct hp_lock_group *group)
{
	char *name = hp_lock_group_name(survey, group);
	char *holder = hp_lock_group_holder(survey, group);
	char *facts = hp_lock_group_facts(group), *held = hp_lock_group_held(survey, group);
	struct hp_finding *finding =
		hp_finding_add(survey, &hp_rule_lock_contention, hp_xstrdup(name));
	struct hp_lock_work work = hp_lock_during_work(survey, group);
	struct hp_text_cell time, count;

	finding->advice = hp_xprintf("Hold %s for less time, or split it: %s holds it%s%s%s while "
				     "other threads wait.",
				     name, holder, work.name ? ", mostly in " : "",
				     work.name ? work.name : "", work.name ? "," : "");
	finding->facts = hp_xprintf("%s; %s", facts, held);
	finding->gain_ns = hp_lock_group_gain(survey, group);
	finding->confidence = HP_MEASURED;
	hp_lock_group_evidence(survey, group, finding);
	hp_finding_evidence(finding, &hp_waits_section, hp_xstrdup(holder),
			    hp_xprintf("others waited %s while it held the lock",
				       hp_format_time(&time, group->holder_ns)));
	if (work.name)
		hp_finding_evidence(finding, &hp_cpu_section, hp_survey_row(survey, work.function),
				    hp_xprintf("has %.0f%% of the %s samples with the lock held",
					       100 * work.share,
					       hp_format_count(&count, work.samples)));
	free(work.name);
	free(name);
	free(holder);
	free(facts);
	free(held);
}

static void find(struct hp_survey *survey)
{
	size_t count;
	struct hp_lock_group *groups = hp_lock_groups(survey, &count);

	for (size_t i = 0; i < count; i++)
		if (hp_lock_group_is_worth_alone(survey, &groups[i]))
			group_add(survey, &groups[i]);
	free(groups);
}

static const struct hp_rule_over over[] = { { "oversubscribed", false },
					    { "imbalance", false },
					    { NULL, false } };

const struct hp_rule hp_rule_lock_contention = {
	.key = "lock-contention",
	.find = find,
	.over = over,
	.pattern =
		"Waits for a lock, or for all locks that one place makes, are at least 5% of the "
		"threads' lives, at least 20 acquisitions had to wait (or some of 50, and the lock is "
		"held for half of the wall time), and the gain is at least 15% of the wall time.  The "
		"gain is the wait of the thread that waited longest, with its share of the CPU time "
		"to sleep and to wake up others; at most the wall time less the busiest thread's own "
		"work (a thread that sleeps and hardly waits for locks has none), and less the CPU time "
		"spread over all cores, both without that switching.  The advice says what the holder "
		"mostly does if at least 60% of its samples with the lock held, and 20 of them, are in "
		"one function that it calls.",
	.wrong =
		"The threads would compete for a core, a disk or another lock instead; or the work "
		"under the lock cannot be done in parallel.",
	.verify = "Do less under the lock, or use one lock for each part of the data, and compare "
		  "both with hotpath compare; hotpath report --report mutexes,waits shows who held "
		  "it.",
};
