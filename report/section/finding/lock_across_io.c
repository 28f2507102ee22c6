/* SPDX-License-Identifier: MIT */
/*
 * lock_across_io.c - a thread waits for the disk, a peer or a timer while others wait for its lock.
 */
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/cpu/cpu.h"
#include "report/section/core/list.h"
#include "report/section/finding/lock_during.h"
#include "report/section/finding/lock_held.h"
#include "report/section/finding/rules.h"
#include "report/section/wait/lock_section.h"
#include "report/section/wait/lock_view.h"
#include "report/section/wait/offcpu.h"

#define HOLD_MIN 0.3 /* of the wall time */
#define BLOCKED_MIN 0.3 /* of the holds */
#define SEEN_MIN 0.3 /* of the longest waits: their holders were seen blocked meanwhile */
#define RARE_MIN 0.2 /* the same, of a place that is not the one others waited for longest */
#define RARE_LOOKS 16 /* such waits that are looked at */
#define SYNC_MIN 0.2 /* of the waits for the disk: short ones have no system call */

static const char *const kinds[] = { "disk", "sleep", "socket", "pipe", "poll", "child", "lock" };

#define DISK 0
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))
#define KINDS_BY_NAME (KINDS - 1) /* a function's waits for a lock may be for this one */

/* "f" of "f (file.c:12)". */
static void place_cut(char *text)
{
	char *end = NULL;

	for (char *at = text; (at = strstr(at, " (")) != NULL; at++)
		end = at;
	if (end)
		*end = 0;
}

/* A function's stacks, by its short name, since clones of one function have other full names. */
struct search {
	struct hp_survey *survey;
	const char *function;
	uint8_t *is_it;	/* by function of hp_cpu: 0 = not known yet, 1 = no, 2 = yes */
};

static bool is_function(struct search *search, uint32_t function)
{
	uint8_t *is_it = &search->is_it[function];

	if (!*is_it) {
		char *name = hp_answer_function(search->survey->report, function);

		*is_it = strcmp(name, search->function) == 0 ? 2 : 1;
		free(name);
	}
	return *is_it == 2;
}

static bool is_on_stack(struct search *search, uint32_t stack)
{
	const struct hp_report *report = search->survey->report;
	const struct hp_cpu *cpu = hp_report_cpu(report);

	for (; stack; stack = report->model.sampling.stacks[stack].parent) {
		const struct hp_cpu_place *place = &cpu->places[cpu->of_stack[stack]];

		for (uint32_t i = 0; i < place->count; i++)
			if (is_function(search, cpu->frames[place->first + i].function))
				return true;
	}
	return false;
}

/* A function's blocking calls. */
struct blocked {
	double ns[KINDS];
	double sync_ns;	/* of the disk's: in fsync and the like */
};

static struct blocked blocked_sum(struct hp_survey *survey, const char *function)
{
	const struct hp_owners *owners = hp_owners_of(survey->report);
	const struct hp_model_sampling *sampling = &survey->report->model.sampling;
	struct search search = { survey, function,
				 hp_xcalloc(hp_report_cpu(survey->report)->function_count,
					    sizeof(uint8_t)) };
	struct blocked blocked = { .sync_ns = 0 };

	for (uint32_t i = 1; i < sampling->stack_count; i++) {
		const char *on;

		if (!sampling->stacks[i].waits)
			continue;
		on = hp_offcpu_cause(survey->report, i);
		for (size_t k = 0; k < KINDS_BY_NAME; k++) {
			double ns = (double)sampling->stacks[i].blocked_ns;

			if (strcmp(on, kinds[k]) != 0 || !is_on_stack(&search, i))
				continue;
			blocked.ns[k] += ns;
			blocked.sync_ns += k == DISK && owners->of_stack[i].is_sync ? ns : 0;
		}
	}
	free(search.is_it);
	return blocked;
}

/* The part of all CPU time that is spent in fsync and the like, and in waits for locks. */
static double part_of_sync(const struct hp_survey *survey)
{
	double ns = 0;

	for (size_t i = 0; i < survey->cost_count; i++)
		ns += (double)survey->costs[i].marked_ns[HP_SIGN_SYNC] +
		      (double)survey->costs[i].marked_ns[HP_SIGN_LOCK];
	return survey->cpu_ns > 0 && ns < survey->cpu_ns ? ns / survey->cpu_ns : 0;
}

/*
 * Fewer writes to the disk instead of shorter holds (O_SYNC waits without fsync): this also removes
 * all waits for the disk, those for a core after each, and the CPU time of the calls.
 */
static double gain_without_disk(const struct hp_survey *survey)
{
	static const enum hp_thread_wait others[] = { HP_THREAD_CHANNEL, HP_THREAD_POLL,
						      HP_THREAD_SLEEP };
	double rest = 1 - part_of_sync(survey);
	double needed = rest * survey->ran_ns / survey->cores;

	for (size_t i = 0; i < survey->threads->count; i++) {
		const struct hp_thread_row *row = &survey->threads->rows[i];
		double own = rest * row->ran_ns;

		for (size_t j = 0; j < sizeof(others) / sizeof(others[0]); j++)
			own += row->waits_ns[others[j]];
		needed = own > needed ? own : needed;
	}
	return survey->wall_ns > needed ? survey->wall_ns - needed : 0;
}

static const char *kind_text(const char *kind)
{
	static const char *const texts[KINDS][2] = {
		{ "disk", "the disk" },
		{ "sleep", "a timer" },
		{ "socket", "a socket" },
		{ "pipe", "a pipe" },
		{ "poll", "a descriptor" },
		{ "child", "a child process" },
		{ "lock", "another lock or condition" },
	};

	for (size_t i = 0; i < KINDS; i++)
		if (strcmp(texts[i][0], kind) == 0)
			return texts[i][1];
	return kind;
}

/* Waits of the holder itself, while others waited for its lock. */
static void held_add(struct hp_survey *survey, const struct hp_lock_group *group,
		     struct hp_finding *finding, const char *function)
{
	struct hp_lock_held held = hp_lock_held(survey, group, false);
	struct hp_text_cell blocked, waited;

	if (held.waited_ns <= 0 || held.blocked_ns < SEEN_MIN * held.waited_ns)
		return;
	finding->confidence = HP_MEASURED;
	hp_finding_evidence(finding, &hp_offcpu_section, hp_xstrdup(function),
			    hp_xprintf("in the longest wait of each thread the holder was blocked "
				       "for %s of %s",
				       hp_format_time(&blocked, held.blocked_ns),
				       hp_format_time(&waited, held.waited_ns)));
}

static void group_add(struct hp_survey *survey, const struct hp_lock_group *group,
		      const struct hp_lock_blocked *blocked, const char *function, bool is_seen)
{
	bool is_disk = strcmp(blocked->on, kinds[DISK]) == 0;
	bool is_sync = is_disk && blocked->sync_ns >= SYNC_MIN * blocked->ns;
	char *name = hp_lock_group_name(survey, group);
	char *holder = hp_lock_group_holder(survey, group);
	char *facts = hp_lock_group_facts(group), *held = hp_lock_group_held(survey, group);
	struct hp_finding *finding =
		hp_finding_add(survey, &hp_rule_lock_across_io, hp_xstrdup(name));
	struct hp_text_cell time;

	finding->advice = hp_xprintf("Take the wait for %s out of %s%s: %s holds it meanwhile.",
				     kind_text(blocked->on), name,
				     is_sync ? ", or sync several records at once" : "", holder);
	finding->facts = hp_xprintf("%s; %s; %s waits %s for %s%s", facts, held, function,
				    hp_format_time(&time, blocked->ns), kind_text(blocked->on),
				    is_seen ? " with it" : "");
	finding->gain_ns = hp_lock_group_gain(survey, group);
	if (is_disk && gain_without_disk(survey) > finding->gain_ns)
		finding->gain_ns = gain_without_disk(survey);
	finding->confidence = is_seen ? HP_MEASURED : HP_LIKELY;
	hp_lock_group_evidence(survey, group, finding);
	hp_finding_evidence(finding, &hp_offcpu_section, hp_xstrdup(function),
			    hp_xprintf("blocked on %s for %s%s", blocked->on,
				       hp_format_time(&time, blocked->ns),
				       is_seen ? " with the lock held" : ""));
	if (!is_seen)
		held_add(survey, group, finding, function);
	free(name);
	free(holder);
	free(facts);
	free(held);
}

static char *holder_name(struct hp_survey *survey, const struct hp_lock_group *group)
{
	char *place =
		hp_lock_holder_text(survey->report, &group->holder.holder, group->holder.from);
	char *name;

	place_cut(place);
	name = hp_answer_name(survey->report, place);
	free(place);
	return name;
}

/* How long the group's holder held it, as far as its side is known: a reader waits for a writer. */
static double hold_ns(const struct hp_lock_group *group)
{
	return group->write_ns > 0 && group->holder.side == HP_SIDE_READ ? group->write_ns
									 : group->hold_ns;
}

/* By the name of the holder's function.  `is_rare`: others waited longer for another place, so it must have been seen blocked. */
static bool holder_look(struct hp_survey *survey, const struct hp_lock_group *group, bool is_rare)
{
	char *function = holder_name(survey, group);
	struct blocked blocked = blocked_sum(survey, function);
	struct hp_lock_blocked most = { .sync_ns = blocked.sync_ns };
	double all = 0;
	bool is_it;

	for (size_t i = 0; i < KINDS; i++) {
		all += blocked.ns[i];
		if (!most.on || blocked.ns[i] > most.ns) {
			most.on = kinds[i];
			most.ns = blocked.ns[i];
		}
	}
	is_it = all >= BLOCKED_MIN * hold_ns(group);
	if (is_it && is_rare) {
		struct hp_lock_held held = hp_lock_held(survey, group, true);

		is_it = held.waited_ns > 0 && held.blocked_ns >= RARE_MIN * held.waited_ns;
	}
	if (is_it)
		group_add(survey, group, &most, function, false);
	free(function);
	return is_it;
}

/* Waits for the place that made others wait most may only be a symptom: a queue behind another. */
static void names_look(struct hp_survey *survey, const struct hp_lock_group *group)
{
	const struct hp_locks *locks = &hp_lock_view(survey->report)->locks;
	struct hp_lock_group other = *group;

	if (holder_look(survey, group, false))
		return;
	for (size_t i = 0, looks = 0; i < locks->contest_count && looks < RARE_LOOKS; i++) {
		if (!locks->contests[i].holder.address ||
		    !hp_lock_group_has(survey, group, locks->contests[i].lock) ||
		    hp_lock_contest_is_like(&locks->contests[i], &group->holder))
			continue;
		other.holder = locks->contests[i];
		looks++;
		if (holder_look(survey, &other, true))
			return;
	}
}

/* By waits that were seen with the lock held. */
static void seen_look(struct hp_survey *survey, const struct hp_lock_group *group)
{
	struct hp_lock_blocked blocked = hp_lock_during_blocked(survey, group, kinds, KINDS);
	struct hp_lock_group other = *group;
	char *function;

	if (blocked.function == HP_NONE || blocked.ns <= 0)
		return;
	if (blocked.at.object != group->holder.holder.object ||
	    blocked.at.address != group->holder.holder.address)
		other.holder.from = HP_NONE;
	other.holder.holder = blocked.at;
	/* Readers wait for a writer, so what they hold themselves does not count. */
	if (strcmp(blocked.on, "lock") == 0 && !hp_lock_group_is_worth_alone(survey, group))
		return;
	if (blocked.ns < BLOCKED_MIN * (blocked.is_write ? group->write_ns : group->hold_ns))
		return;
	function = hp_answer_function(survey->report, blocked.function);
	group_add(survey, &other, &blocked, function, true);
	free(function);
}

static void group_look(struct hp_survey *survey, const struct hp_lock_group *group)
{
	if (!hp_lock_group_is_worth(survey, group) || group->hold_ns < HOLD_MIN * survey->wall_ns)
		return;
	if (hp_lock_during_is_known(survey, group))
		seen_look(survey, group);
	else
		names_look(survey, group);
}

static void find(struct hp_survey *survey)
{
	size_t count;
	struct hp_lock_group *groups = hp_lock_groups(survey, &count);

	if (survey->report->model.sampling.is_there &&
	    survey->report->model.sampling.record.blocked_ns)
		for (size_t i = 0; i < count; i++)
			group_look(survey, &groups[i]);
	free(groups);
}

static const struct hp_rule_over over[] = { { "lock-contention", true },
					    { "oversubscribed", false },
					    { "imbalance", false },
					    { "disk-per-record", false },
					    { NULL, false } };

const struct hp_rule hp_rule_lock_across_io = {
	.key = "lock-across-io",
	.find = find,
	.over = over,
	.pattern =
		"Threads wait for a lock (the rule lock-contention, with a gain of 10%, or 15% if its "
		"holder waits for another lock); it is held for at least 30% "
		"of the wall time, and its holder waited for a disk, a timer, a socket, a pipe, a "
		"descriptor, a child or another lock for at least 30% of the time that it was held.  "
		"Which waits had the lock is measured; only where the times of holds are not known, "
		"the waits of the function that held it count, and the finding is likely.  If that "
		"was the disk, the gain is as with no waits for it, and no CPU time "
		"in fsync and locks, at all.",
	.wrong = "If it is only likely: the function waits before it takes the lock or after it "
		 "releases it.  Or the data must be on disk before another thread may continue.",
	.verify =
		"Prepare the data under the lock and write them without it, and compare both with "
		"hotpath compare.",
};
