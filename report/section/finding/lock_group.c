/* SPDX-License-Identifier: MIT */
/*
 * lock_group.c - see lock_group.h.
 */
#include "report/section/core/list.h"
#include "report/section/finding/lock_group.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "report/base/format.h"
#include "report/base/memory.h"
#include "report/section/wait/lock_section.h"
#include "report/section/wait/lock_view.h"

#define WAITS_MIN 20 /* contended acquisitions, */
#define COUNT_MIN 50 /* or some of these */
#define HELD_MIN \
	0.5 /* of the wall time: then fewer waits suffice, as its last owner takes it again */
#define LIVES_MIN 0.05 /* of the threads' lifetimes: waits for it */
#define GROUPS_MAX 256 /* a damaged segment may have any number; the same for holders and waiters */
#define WAITER_MIN 0.01 /* of its life: a thread waits for locks */
#define SLEEPER_MIN 0.1 /* of its life: a thread sleeps again and again */
#define GAIN_MIN 0.1 /* of the wall time, */
#define ALONE_MIN 0.15 /* without another wait: sort with two threads has 0.11 to 0.15 */

static bool is_lock(const struct hp_lock_row *row)
{
	enum hp_lock_family family = hp_lock_family(row->kind);

	return family == HP_LOCK_FAMILY_MUTEX || family == HP_LOCK_FAMILY_RWLOCK;
}

/* Created at one place, and as the same member. */
static bool is_same(const struct hp_lock_row *a, const struct hp_lock_row *b)
{
	return a == b || (a->kind == b->kind && !a->at.address && !b->at.address &&
			  a->site.object == b->site.object && a->site.address == b->site.address &&
			  a->inside == b->inside);
}

bool hp_lock_group_has(struct hp_survey *survey, const struct hp_lock_group *group, uint32_t lock)
{
	const struct hp_locks *locks = &hp_lock_view(survey->report)->locks;

	return is_same(&locks->rows[group->first], &locks->rows[lock]);
}

static struct hp_lock_group *group_of(struct hp_lock_group *groups, size_t count,
				      const struct hp_locks *locks, const struct hp_lock_row *row)
{
	for (size_t i = 0; i < count; i++)
		if (is_same(&locks->rows[groups[i].first], row))
			return &groups[i];
	return NULL;
}

/* As in the tables, which mark it. */
static bool is_hold_estimated(const struct hp_lock_sum *sum)
{
	return sum->is_estimated &&
	       (sum->hold_high < 0 ||
		sum->hold_high - sum->hold_ticks > HP_MARKED * sum->hold_ticks ||
		sum->hold_ticks - sum->hold_low > HP_MARKED * sum->hold_ticks);
}

static void row_add(struct hp_lock_group *group, const struct hp_lock_row *row, double tick_ns)
{
	group->locks += row->objects ? row->objects : 1;
	group->is_rwlock = hp_lock_family(row->kind) == HP_LOCK_FAMILY_RWLOCK;
	for (int side = 0; side < HP_SIDES; side++) {
		const struct hp_lock_sum *sum = &row->sums[side];

		group->count += sum->count;
		group->contended += sum->contended;
		group->wait_ns += sum->wait_ticks * tick_ns;
		group->hold_ns += sum->hold_ticks * tick_ns;
		group->is_hold_estimated |= is_hold_estimated(sum);
		if (group->is_rwlock && side == HP_SIDE_WRITE)
			group->write_ns += sum->hold_ticks * tick_ns;
		if ((double)sum->wait_most * tick_ns > group->most_ns)
			group->most_ns = (double)sum->wait_most * tick_ns;
	}
}

/* --- waiters and holders --- */

struct sum {
	const struct hp_lock_contest *first;
	double ns;
};

/* Waits with an unknown holder count as one group. */
bool hp_lock_contest_is_like(const struct hp_lock_contest *a, const struct hp_lock_contest *b)
{
	return a->holder.object == b->holder.object && a->holder.address == b->holder.address;
}

static bool is_one_waiter(const struct hp_lock_contest *a, const struct hp_lock_contest *b)
{
	return a->pid == b->pid && a->tid == b->tid;
}

/* The largest sum of a group's waits by holder or by waiter. */
static struct sum largest(const struct hp_locks *locks, const struct hp_lock_group *group,
			  double tick_ns,
			  bool (*is_one)(const struct hp_lock_contest *,
					 const struct hp_lock_contest *))
{
	struct sum most = { NULL, 0 }, *sums = hp_xcalloc(GROUPS_MAX, sizeof(*sums));
	size_t count = 0;

	for (size_t i = 0; i < locks->contest_count; i++) {
		const struct hp_lock_contest *contest = &locks->contests[i];
		size_t at = 0;

		if (!is_same(&locks->rows[group->first], &locks->rows[contest->lock]) ||
		    (is_one == hp_lock_contest_is_like && !contest->holder.address))
			continue;
		while (at < count && !is_one(sums[at].first, contest))
			at++;
		if (at == GROUPS_MAX)
			continue;
		if (at == count)
			sums[count++].first = contest;
		sums[at].ns += (double)contest->ticks * tick_ns;
		if (sums[at].ns > most.ns)
			most = sums[at];
	}
	free(sums);
	return most;
}

static void waits_set(struct hp_lock_group *group, const struct hp_locks *locks, double tick_ns)
{
	struct sum holder = largest(locks, group, tick_ns, hp_lock_contest_is_like);

	group->longest_ns = largest(locks, group, tick_ns, is_one_waiter).ns;
	if (holder.first) {
		group->holder = *holder.first;
		group->holder_ns = holder.ns;
	}
}

static int compare(const void *left, const void *right)
{
	const struct hp_lock_group *a = left, *b = right;

	if (a->wait_ns > b->wait_ns || a->wait_ns < b->wait_ns)
		return a->wait_ns > b->wait_ns ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/*
 * Many acquisitions waited, or few did because the lock is unfair: the thread that has just
 * released it takes it again, and the others wait for many of its holds at once.
 */
static bool is_contended(const struct hp_survey *survey, const struct hp_lock_group *group)
{
	return group->contended >= WAITS_MIN ||
	       (group->contended && group->count >= COUNT_MIN &&
		group->hold_ns >= HELD_MIN * survey->wall_ns * (double)group->locks);
}

struct hp_lock_group *hp_lock_groups(struct hp_survey *survey, size_t *count)
{
	const struct hp_locks *locks = &hp_lock_view(survey->report)->locks;
	struct hp_lock_group *groups = hp_xcalloc(GROUPS_MAX, sizeof(*groups)), *group;
	double tick_ns = survey->report->model.ns_per_tick;

	*count = 0;
	for (uint32_t i = 0; i < locks->count; i++) {
		const struct hp_lock_row *row = &locks->rows[i];

		if (!is_lock(row) || !hp_lock_is_used(locks, row))
			continue;
		group = group_of(groups, *count, locks, row);
		if (!group && *count == GROUPS_MAX)
			continue;
		if (!group) {
			group = &groups[(*count)++];
			group->first = i;
		}
		row_add(group, row, tick_ns);
	}
	for (size_t i = 0; i < *count; i++)
		if (is_contended(survey, &groups[i]))
			waits_set(&groups[i], locks, tick_ns);
	if (*count)
		qsort(groups, *count, sizeof(*groups), compare);
	return groups;
}

/* --- its cost --- */

/*
 * A thread's work without a lock that no other thread can take over.  A thread that sleeps and
 * hardly waits for locks has none: as a rule it does something from time to time until the others
 * have ended, so it lasts as long as they do.
 */
static double own_ns(const struct hp_thread_row *row)
{
	double asleep = row->waits_ns[HP_THREAD_SLEEP];

	if (row->waits_ns[HP_WAIT_LOCK] < WAITER_MIN * row->life_ns &&
	    asleep >= SLEEPER_MIN * row->life_ns)
		return 0;
	return row->ran_ns + row->waits_ns[HP_THREAD_DISK] + asleep;
}

/*
 * CPU time to sleep and to wake up others, at most, with its part of the time that has no sample.
 */
static double switching_ns(const struct hp_survey *survey)
{
	double ns = 0;

	for (size_t i = 0; i < survey->cost_count; i++)
		ns += (double)survey->costs[i].marked_ns[HP_SIGN_LOCK];
	ns += hp_survey_error(survey, ns);
	return survey->cpu_ns > 0 && survey->ran_ns > survey->cpu_ns
		       ? ns * survey->ran_ns / survey->cpu_ns
		       : ns;
}

/* The threads that share it. */
static double threads_of(const struct hp_survey *survey)
{
	double threads =
		(double)survey->busy < survey->cores ? (double)survey->busy : survey->cores;

	return threads > 1 ? threads : 1;
}

double hp_lock_group_gain(const struct hp_survey *survey, const struct hp_lock_group *group)
{
	/* Without the waits there is no switching. */
	double switching = switching_ns(survey), each = switching / threads_of(survey);
	double needed = (survey->ran_ns - switching) / survey->cores, gain;

	for (size_t i = 0; i < survey->threads->count; i++)
		if (own_ns(&survey->threads->rows[i]) - each > needed)
			needed = own_ns(&survey->threads->rows[i]) - each;
	gain = survey->wall_ns - needed;
	if (group->longest_ns + each < gain)
		gain = group->longest_ns + each;
	return gain > 0 ? gain : 0;
}

bool hp_lock_group_is_worth(const struct hp_survey *survey, const struct hp_lock_group *group)
{
	double gain = hp_lock_group_gain(survey, group);

	return is_contended(survey, group) && group->holder.holder.address &&
	       group->wait_ns >= LIVES_MIN * survey->life_ns &&
	       gain >= GAIN_MIN * survey->wall_ns && hp_survey_is_worth(survey, gain);
}

bool hp_lock_group_is_worth_alone(const struct hp_survey *survey, const struct hp_lock_group *group)
{
	return hp_lock_group_is_worth(survey, group) &&
	       hp_lock_group_gain(survey, group) >= ALONE_MIN * survey->wall_ns;
}

/* --- texts --- */

static const struct hp_lock_row *row_of(struct hp_survey *survey, const struct hp_lock_group *group)
{
	return &hp_lock_view(survey->report)->locks.rows[group->first];
}

/* One lock's number in the group, " [1 of 3]"; without symbols a program's name is in brackets, too. */
static char *number_in(char *name)
{
	char *open = strrchr(name, '[');

	return open && open > name && open[-1] == ' ' && isdigit((unsigned char)open[1]) &&
			       strstr(open, " of ") && name[strlen(name) - 1] == ']'
		       ? open - 1
		       : NULL;
}

char *hp_lock_group_name(struct hp_survey *survey, const struct hp_lock_group *group)
{
	char *name = hp_answer_lock(survey->report, row_of(survey, group));
	char *end = group->locks > 1 ? number_in(name) : NULL, *text;

	if (end)
		*end = 0;
	text = group->locks > 1 ? hp_xprintf("one of %zu locks %s", group->locks, name)
				: hp_xprintf("lock %s", name);
	free(name);
	return text;
}

char *hp_lock_group_holder(struct hp_survey *survey, const struct hp_lock_group *group)
{
	char *whole =
		hp_lock_holder_text(survey->report, &group->holder.holder, group->holder.from);
	char *text = hp_answer_path(survey->report, whole);

	free(whole);
	return text;
}

char *hp_lock_group_facts(const struct hp_lock_group *group)
{
	struct hp_text_cell waits, all, time, most;

	return hp_xprintf("%s waits of %s acquisitions, %s in all, the longest %s",
			  hp_format_count(&waits, group->contended),
			  hp_format_count(&all, group->count),
			  hp_format_time(&time, group->wait_ns),
			  hp_format_time(&most, group->most_ns));
}

char *hp_lock_group_held(const struct hp_survey *survey, const struct hp_lock_group *group)
{
	const char *mark = group->is_hold_estimated ? "~" : "";
	double share = group->hold_ns / survey->wall_ns;
	struct hp_text_cell time;

	/* Holds of several locks, or of readers, can overlap. */
	if (share > 1 && (group->locks > 1 || group->is_rwlock))
		return hp_xprintf("held for %s%s in all", mark,
				  hp_format_time(&time, group->hold_ns));
	return hp_xprintf("held for %s%.0f%% of the time", mark, 100 * (share < 1 ? share : 1));
}

void hp_lock_group_evidence(struct hp_survey *survey, const struct hp_lock_group *group,
			    struct hp_finding *finding)
{
	const struct hp_lock_row *row = row_of(survey, group);

	hp_finding_evidence(finding,
			    row->kind == HP_LOCK_RWLOCK || row->kind == HP_LOCK_GRWLOCK
				    ? &hp_rw_locks_section
				    : &hp_mutexes_section,
			    hp_xstrdup(hp_lock_name(survey->report, row)),
			    hp_lock_group_facts(group));
}
