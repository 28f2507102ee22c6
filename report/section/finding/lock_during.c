/* SPDX-License-Identifier: MIT */
/*
 * lock_during.c - see lock_during.h.
 */
#include "report/section/finding/lock_during.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "report/section/wait/during.h"
#include "report/section/wait/lock_view.h"
#include "report/section/wait/offcpu.h"

#define KNOWN_MIN 0.7	/* of the time that the locks were held */
#define MOSTLY_MIN 0.6	/* of the holder's samples */

bool hp_lock_during_is_known(struct hp_survey *survey, const struct hp_lock_group *group)
{
	const struct hp_during *during = hp_during_of(survey->report);
	const struct hp_locks *locks = &hp_lock_view(survey->report)->locks;
	double held_ns = 0;

	for (uint32_t i = 0; during && i < locks->count; i++)
		if (during->held_ns[i] > 0 && hp_lock_group_has(survey, group, i))
			held_ns += during->held_ns[i];
	return held_ns > 0 && held_ns >= KNOWN_MIN * group->hold_ns;
}

/* --- waits --- */

static bool is_one(const struct hp_lock_blocked *blocked, const char *on,
		   const struct hp_lock_place *at)
{
	return strcmp(blocked->on, on) == 0 && blocked->at.object == at->object &&
	       blocked->at.address == at->address;
}

static bool is_among(const char *on, const char *const *kinds, size_t kind_count)
{
	for (size_t i = 0; i < kind_count; i++)
		if (strcmp(kinds[i], on) == 0)
			return true;
	return false;
}

struct sums {
	struct hp_lock_blocked *list;
	double *most_ns;	/* of one stack, parallel */
	size_t count;
};

static void sum_add(struct sums *sums, struct hp_report *report, const struct hp_during_row *row,
		    const char *on)
{
	double ns = hp_during_blocked_ns(report, row);
	struct hp_lock_blocked *blocked;
	size_t at = 0;

	while (at < sums->count && !is_one(&sums->list[at], on, &row->at))
		at++;
	blocked = &sums->list[at];
	if (at == sums->count) {
		*blocked = (struct hp_lock_blocked){ .on = on, .at = row->at };
		sums->count++;
	}
	blocked->ns += ns;
	if (hp_owners_of(report)->of_stack[row->stack].is_sync)
		blocked->sync_ns += ns;
	if (ns > sums->most_ns[at]) {
		sums->most_ns[at] = ns;
		blocked->function = hp_offcpu_function(report, row->stack);
	}
}

static bool is_write(struct hp_survey *survey, const struct hp_lock_group *group,
		     const struct hp_lock_place *at)
{
	const struct hp_locks *locks = &hp_lock_view(survey->report)->locks;

	for (size_t i = 0; i < locks->span_count; i++)
		if (locks->spans[i].at.object == at->object &&
		    locks->spans[i].at.address == at->address &&
		    hp_lock_group_has(survey, group, locks->spans[i].lock))
			return locks->spans[i].side == HP_SIDE_WRITE;
	return false;
}

struct hp_lock_blocked hp_lock_during_blocked(struct hp_survey *survey,
					      const struct hp_lock_group *group,
					      const char *const *kinds, size_t kind_count)
{
	struct hp_report *report = survey->report;
	const struct hp_during *during = hp_during_of(report);
	struct hp_lock_blocked most = { .ns = 0 };
	struct sums sums = { .count = 0 };

	if (!during)
		return most;
	sums.list = hp_xcalloc(during->count, sizeof(*sums.list));
	sums.most_ns = hp_xcalloc(during->count, sizeof(*sums.most_ns));
	for (size_t i = 0; i < during->count; i++) {
		const struct hp_during_row *row = &during->rows[i];
		const char *on;

		if (!row->is_wait || !row->stack || hp_offcpu_is_profiler(report, row->stack) ||
		    !hp_lock_group_has(survey, group, row->lock))
			continue;
		on = hp_offcpu_cause(report, row->stack);
		if (is_among(on, kinds, kind_count))
			sum_add(&sums, report, row, on);
	}
	for (size_t i = 0; i < sums.count; i++)
		if (sums.list[i].ns > most.ns)
			most = sums.list[i];
	most.is_write = most.ns > 0 && is_write(survey, group, &most.at);
	free(sums.list);
	free(sums.most_ns);
	return most;
}

/* --- work --- */

struct work {
	double *ns;	/* by function of hp_cpu */
	double all_ns;
	double samples;
	uint32_t most;
};

static void work_make(struct work *work, struct hp_survey *survey,
		      const struct hp_lock_group *group)
{
	struct hp_report *report = survey->report;
	const struct hp_during *during = hp_during_of(report);

	for (size_t i = 0; during && i < during->count; i++) {
		const struct hp_during_row *row = &during->rows[i];
		uint32_t function = hp_owners_of(report)->of_stack[row->stack].function;

		if (row->is_wait || !row->stack ||
		    report->model.sampling.stacks[row->stack].is_profiler ||
		    row->at.object != group->holder.holder.object ||
		    row->at.address != group->holder.holder.address ||
		    !hp_lock_group_has(survey, group, row->lock))
			continue;
		work->all_ns += row->ns;
		work->samples += row->count;
		if (function == HP_NONE)
			continue;
		work->ns[function] += row->ns;
		if (work->most == HP_NONE || work->ns[function] > work->ns[work->most])
			work->most = function;
	}
}

/* "insert" of "insert (table.c:12) ← main". */
static bool is_same_function(const char *name, const char *holder)
{
	size_t length = strlen(name);

	return strncmp(holder, name, length) == 0 && (!holder[length] || holder[length] == ' ');
}

struct hp_lock_work hp_lock_during_work(struct hp_survey *survey, const struct hp_lock_group *group)
{
	struct work work = { .most = HP_NONE };
	struct hp_lock_work found = { .name = NULL };
	char *holder = hp_lock_group_holder(survey, group);

	work.ns = hp_xcalloc((size_t)hp_report_cpu(survey->report)->function_count + 1,
			     sizeof(*work.ns));
	work_make(&work, survey, group);
	if (work.samples >= HP_RULE_SAMPLES_OF && work.most != HP_NONE &&
	    work.ns[work.most] >= MOSTLY_MIN * work.all_ns &&
	    hp_owner_is_named(survey->report, work.most)) {
		found.name = hp_answer_function(survey->report, work.most);
		found.function = work.most;
		found.share = work.ns[work.most] / work.all_ns;
		found.samples = (uint64_t)work.samples;
	}
	if (found.name && is_same_function(found.name, holder)) {
		free(found.name);
		found.name = NULL;
	}
	free(holder);
	free(work.ns);
	return found;
}
