/* SPDX-License-Identifier: MIT */
/*
 * timed.c - which holds are timed, and the sums of their times.
 *
 * Reading the clock twice costs more than the rest of an acquisition, so a thread has a budget
 * for it: a share of the elapsed time. While it lasts, each hold is timed, then one in
 * HP_LOCK_SAMPLED at random. Holds that are long compared with the readings are always timed, and
 * all of them with HOTPATH_TIMING=exact.  While the threads of all processes together spend more
 * than this share of all cores, each has less (budget.h).
 *
 * Few random holds say little about rare long ones.  The sampler finds those: it reads `held` while
 * holds are sampled (sampler/session/look.h).  So before the first hold is sampled, the sampler
 * is asked to scan, and until it does, each hold is timed, up to a limit.
 */
#include <errno.h>
#include <linux/futex.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/guest/budget.h"
#include "preload/guest/confine.h"
#include "preload/guest/guest.h"
#include "preload/lock/lock.h"
#include "segment/histogram.h"
#include "segment/mark.h"
#include "util/random.h"

#define HP_ALWAYS 64	/* this many holds are all timed, before any is left out */
#define HP_LONG_CLOCKS 50	/* holds of this many clock readings are always timed */
#define HP_MEAN_SHIFT 3	/* the running mean follows 1/8 of each difference */
#define HP_COST_CLOCKS 6	/* a timed hold costs about this many clock readings */
#define HP_SHARE_SHIFT 7	/* the budget is 1/128 of the time */
#define HP_SAVED_MAX 1024	/* timed holds earned during a pause, */
#define HP_SAVED_LEAST 4	/* and how many even if all spend too much */
#define HP_TOLD_EACH 16	/* a thread adds this many timed holds to the sum of all at once */
#define HP_OWED_MAX 4	/* and how many a thread may owe */
#define HP_GIVEN 32768	/* timed holds that the threads of a process have in advance, */
#define HP_GIVEN_MAX 8192	/* and one of them */
#define HP_UNSEEN_MAX 16384	/* timed holds of a thread while the sampler does not scan yet */
#define HP_LATE_GAPS 64	/* after this many gaps without a scan, there will be none */

static _Atomic int64_t given = HP_GIVEN;

/* --- sums --- */

static struct hp_spread *spread_at(struct hp_waiter_local *me, uint32_t place)
{
	return (struct hp_spread *)(me->base + (uint64_t)place * HP_LINE);
}

static void value_add(struct hp_waiter_local *me, struct hp_spread *spread, uint64_t ticks,
		      uint64_t weight)
{
	unsigned group = hp_bucket_group(ticks);
	uint64_t *counters;

	if (!spread->groups[group]) {
		counters = hp_lock_take(me, HP_GROUP_SIZE * sizeof(*counters));
		if (!counters)
			return;
		spread->groups[group] =
			(uint32_t)((uint64_t)((char *)counters - me->base) / HP_LINE);
	}
	counters = (uint64_t *)(me->base + (uint64_t)spread->groups[group] * HP_LINE);
	counters[hp_bucket_place(ticks, group)] += weight;
}

/* Those that the sums told so far. */
static void few_add(struct hp_waiter_local *me, struct hp_spread *spread, struct hp_told told)
{
	if (told.count >= 1 && told.count <= HP_FEW)
		value_add(me, spread, told.most, 1);
	if (told.count == HP_FEW)
		value_add(me, spread, hp_clock_between(told.most, told.ticks), 1);
}

/* Readers find it with all values before this one, or not at all. */
static HP_COLD struct hp_spread *spread_new(struct hp_waiter_local *me, uint32_t *place,
					    struct hp_told told)
{
	struct hp_spread *spread = hp_lock_take(me, sizeof(*spread));

	if (!spread)
		return NULL;
	few_add(me, spread, told);
	__atomic_store_n(place, (uint32_t)((uint64_t)((char *)spread - me->base) / HP_LINE),
			 __ATOMIC_RELEASE);
	return spread;
}

void hp_hold_spread_more(struct hp_waiter_local *me, uint32_t place, uint64_t ticks,
			 uint64_t weight)
{
	value_add(me, spread_at(me, place), ticks, weight);
}

HP_COLD void hp_hold_spread_first(struct hp_waiter_local *me, uint32_t *place, struct hp_told told,
				  uint64_t ticks, uint64_t weight)
{
	struct hp_spread *spread;

	if (told.count < HP_FEW && weight == 1)
		return;
	spread = spread_new(me, place, told);
	if (spread)
		value_add(me, spread, ticks, weight);
}

static struct hp_told holds_of(const struct hp_use *use)
{
	/* With sampled ones, the longest may be one of those. */
	return (struct hp_told){ use->sampled ? HP_FEW + 1 : use->timed, use->timed_ticks,
				 use->hold_most };
}

/* NULL = no room. */
static struct hp_hold_sums *sums_get(struct hp_waiter_local *me, struct hp_use *use)
{
	struct hp_spread *spread = HP_LIKELY(use->holds)
					   ? spread_at(me, use->holds)
					   : spread_new(me, &use->holds, holds_of(use));
	struct hp_hold_sums *sums;

	if (!spread)
		return NULL;
	if (spread->sums)
		return (struct hp_hold_sums *)(me->base + (uint64_t)spread->sums * HP_LINE);
	sums = hp_lock_take(me, sizeof(*sums));
	if (sums)
		spread->sums = (uint32_t)((uint64_t)((char *)sums - me->base) / HP_LINE);
	return sums;
}

/* --- checks by the sampler --- */

static struct hp_looks *looks(void)
{
	return hp_segment_looks(&hp_segment);
}

static bool is_looked_at(uint64_t now)
{
	const struct hp_looks *l = looks();

	return atomic_load_explicit(&l->is_on, memory_order_relaxed) &&
	       hp_clock_between(atomic_load_explicit(&l->last, memory_order_relaxed), now) <
		       HP_LATE_GAPS * atomic_load_explicit(&l->gap, memory_order_relaxed);
}

/* A thread that may not make system calls is noticed a bit later. */
static void ask_for_looks(void)
{
	_Atomic uint32_t *asked = &looks()->asked;
	int saved = errno;

	if (atomic_load_explicit(asked, memory_order_relaxed) ||
	    atomic_exchange_explicit(asked, 1, memory_order_release) || hp_is_confined())
		return;
	syscall(SYS_futex, asked, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	errno = saved;
}

/* A sampled hold: records how dense scans are at present, or that there are none. */
static void note_looks(struct hp_hold_sums *sums, uint64_t end)
{
	const struct hp_looks *l = looks();
	uint64_t since = atomic_load_explicit(&l->since, memory_order_relaxed);
	uint64_t most = atomic_load_explicit(&l->gap_most, memory_order_relaxed);

	if (!is_looked_at(end)) {
		sums->blind_ticks += sums->at ? hp_clock_between(sums->at, end) : 0;
		return;
	}
	if (sums->at)
		sums->blind_ticks += hp_clock_between(sums->at, since);
	sums->looks++;
	sums->looks_gaps += atomic_load_explicit(&l->gap, memory_order_relaxed);
	sums->looks_most = most > sums->looks_most ? most : sums->looks_most;
}

/* --- which holds are timed --- */

int64_t hp_lock_advance(void)
{
	int64_t left = atomic_load_explicit(&given, memory_order_relaxed);
	int64_t mine = left < HP_GIVEN_MAX ? left : HP_GIVEN_MAX;

	if (mine <= HP_ALWAYS)
		return HP_ALWAYS;
	atomic_fetch_sub_explicit(&given, mine, memory_order_relaxed);
	return mine;
}

int64_t hp_lock_timed_cost(const struct hp_waiter_local *me)
{
	return (int64_t)me->clock_cost * HP_COST_CLOCKS;
}

/* Uniform in 1 .. 2 * mean - 1, with `mean` twice as likely, so that it is the mean; a power of
 * two. */
static uint32_t random_gap(struct hp_waiter_local *me, uint32_t mean)
{
	uint32_t gap;

	gap = (uint32_t)(hp_random_next(&me->random) >> 32) & (2 * mean - 1);
	return gap ? gap : mean;
}

static uint32_t weight_of(const struct hp_use *use)
{
	return use->count < HP_LOCK_OFTEN ? HP_LOCK_SAMPLED : HP_LOCK_RARE;
}

void hp_lock_draw(struct hp_waiter_local *me, struct hp_use *use, struct hp_held *held)
{
	/* The sampler has stopped scanning, so later holds are timed. */
	if (!use->next_timed)
		use->is_sampled = 0;
	held->weight = use->is_sampled ? weight_of(use) : 1;
	use->next_timed = use->count + (use->is_sampled ? random_gap(me, held->weight) : 1);
	held->waited = 0;
	held->contest = 0;
	held->start = hp_lock_clock(me);
}

/* All threads together have a limit, too: see budget.h. */
static void tell_paid(struct hp_waiter_local *me, uint64_t start)
{
	if (++me->untold < HP_TOLD_EACH)
		return;
	hp_budget_spend_each(&hp_segment_credit(&hp_segment)->holds,
			     (uint64_t)hp_lock_timed_cost(me) * me->untold, start,
			     UINT64_C(1) << HP_SHARE_SHIFT);
	me->untold = 0;
}

/* Pays for a timed hold.  True = there is something left. */
static bool pay(struct hp_waiter_local *me, uint64_t start)
{
	const struct hp_budget *budget = &hp_segment_credit(&hp_segment)->holds;
	int64_t cost = hp_lock_timed_cost(me), least = -cost * HP_OWED_MAX;
	int64_t most = (int64_t)hp_budget_part(budget, (uint64_t)cost * HP_SAVED_MAX, start);
	uint64_t share = hp_clock_between(me->timed_at, start) >> HP_SHARE_SHIFT;
	int64_t gain = (int64_t)hp_budget_part(budget, share, start);

	if (most < cost * HP_SAVED_LEAST)
		most = cost * HP_SAVED_LEAST;
	tell_paid(me, start);
	me->timed_at = start;
	if (me->credit < most)
		me->credit = gain < most - me->credit ? me->credit + gain : most;
	me->credit -= cost;
	if (me->credit < least)
		me->credit = least;
	return me->credit > 0;
}

static bool may_draw(struct hp_waiter_local *me, uint64_t now)
{
	if (is_looked_at(now)) {
		me->unseen = 0;
		return true;
	}
	ask_for_looks();
	return me->unseen++ >= HP_UNSEEN_MAX;
}

/* After a timed hold: are the next ones all timed, or at random? */
static void policy_look(struct hp_waiter_local *me, struct hp_use *use, uint64_t start,
			uint64_t ticks)
{
	int64_t most = (int64_t)(me->clock_cost * HP_LONG_CLOCKS);
	int64_t far = (int64_t)(ticks < (uint64_t)most * 8 ? ticks : (uint64_t)most * 8) -
		      (int64_t)use->mean;
	bool is_paid = pay(me, start);
	uint32_t is_sampled;

	use->mean = (uint32_t)((int64_t)use->mean + far / (1 << HP_MEAN_SHIFT));
	is_sampled = !is_paid && !me->is_exact && use->count >= HP_ALWAYS &&
		     (int64_t)use->mean < most && may_draw(me, start + ticks);
	if (is_sampled && use->is_sampled)
		return;
	use->is_sampled = is_sampled;
	use->next_timed = use->count + (is_sampled ? random_gap(me, weight_of(use)) : 1);
}

/* --- holds that have ended --- */

/* Where a hold's first part ends, as ticks before the hold's own end. */
static uint64_t known_part(const struct hp_release *release)
{
	return release->since ? hp_mark_until(release->since, release->end) : 0;
}

static void sampled_add(struct hp_waiter_local *me, struct hp_use *use,
			const struct hp_release *release, uint64_t ticks)
{
	uint64_t weight = release->held.weight / HP_LOCK_SAMPLED;
	uint64_t first = hp_clock_between(known_part(release), ticks);
	struct hp_hold_sums *sums = sums_get(me, use);

	use->sampled += weight;
	use->sampled_ticks += ticks * weight;
	atomic_store_explicit(&me->waiter->samples,
			      atomic_load_explicit(&me->waiter->samples, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	if (!sums)
		return;
	first = first < HP_LOCK_SHORT ? first : HP_LOCK_SHORT;
	sums->each_ticks += ticks;
	sums->short_ticks += first * weight;
	sums->short_squares += first * first * weight;
	note_looks(sums, release->end);
	sums->at = release->end;
}

static void timed_add(struct hp_waiter_local *me, struct hp_use *use,
		      const struct hp_release *release)
{
	uint64_t start = release->held.start;
	uint64_t ticks = hp_clock_between(start, release->end);

	ticks = hp_clock_between(me->hold_cost, ticks);
	hp_hold_spread_add(me, &use->holds, holds_of(use), ticks, release->held.weight);
	if (release->held.weight == 1) {
		use->timed++;
		use->timed_ticks += ticks;
		if (use->holds && spread_at(me, use->holds)->sums)
			sums_get(me, use)->at = release->end;
	} else {
		sampled_add(me, use, release, ticks);
	}
	use->hold_most = ticks > use->hold_most ? ticks : use->hold_most;
	if (release->held.weight == HP_LOCK_RARE && use->holds)
		spread_at(me, use->holds)->rare_carry += ++spread_at(me, use->holds)->rare == 0;
	policy_look(me, use, start, ticks);
}

/* The scan found the hold in progress, and it lasted for longer than HP_LOCK_SHORT after that. */
static void hit_add(struct hp_hold_sums *sums, uint64_t tail, uint64_t gap)
{
	sums->hits++;
	sums->gap_ticks += gap;
	sums->more_ticks += gap ? tail / gap * gap : tail;
	sums->tail_ticks += tail;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The hold was not timed, but marked. */
static void marked_add(struct hp_waiter_local *me, struct hp_use *use,
		       const struct hp_release *release)
{
	struct hp_hold_sums *sums = sums_get(me, use);
	uint64_t known = known_part(release), seen, most;

	if (!sums || (!release->since && !release->seen_at))
		return;
	seen = release->seen_at ? hp_clock_between(release->seen_at, release->end) : 0;
	most = seen > known
		       ? seen + release->gap
		       : known + atomic_load_explicit(&looks()->gap_most, memory_order_relaxed);
	sums->known++;
	sums->known_ticks += known;
	sums->least_most = larger(sums->least_most, larger(known, seen));
	sums->most_most = larger(sums->most_most, most);
	if (seen > known + HP_LOCK_SHORT)
		hit_add(sums, seen - known - HP_LOCK_SHORT, release->gap);
}

void hp_lock_hold_add(struct hp_waiter_local *me, struct hp_use *use,
		      const struct hp_release *release)
{
	if (release->held.start)
		timed_add(me, use, release);
	else
		marked_add(me, use, release);
	hp_lock_span_add(me, use, release);
}
