/* SPDX-License-Identifier: MIT */
/* marginal.c - see marginal.h. */
#include "preload/call/marginal.h"

#include "preload/call/clock.h"
#include "preload/call/switch.h"
#include "preload/call/truth.h"
#include "preload/guest/bulky.h"

#define HP_CALLS_MAX (UINT64_C(1) << 22)	/* then older values have half the weight */
#define HP_USUAL_STEP 32	/* `seen_usual` moves by this part of itself */
#define HP_LONG_READINGS 8	/* a gap longer than two usual ones and these has slow calls in it */

#define HP_RATIOS 64	/* the median of the first values counts */

/* Of this process; 0 = not known.  Threads may read them at any time. */
static _Atomic int64_t cost_per_more;	/* fine: 1024 = a pair costs as much as one more entry */
static _Atomic int64_t more_around_nothing;	/* fine ticks */

/* The first values, in order. */
struct middle {
	int64_t values[HP_RATIOS];
	unsigned count;
};

/* Adds a value, and returns the median. */
static int64_t middle_add(struct middle *m, int64_t value)
{
	unsigned i = m->count;

	if (i == HP_RATIOS)
		return m->values[i / 2];
	for (; i > 0 && m->values[i - 1] > value; i--)
		m->values[i] = m->values[i - 1];
	m->values[i] = value;
	m->count++;
	return m->values[m->count / 2];
}

/*
 * The processor's speed may change between two rounds, with its load: so the two figures of one
 * round belong together, and the median of many rounds is not a disturbed one.
 *
 * Around code that waits for its own results a pair may cost nothing where one more entry costs as
 * much as elsewhere; around busy code it costs in full. Which of them a program is like is not
 * known, so the mean of both counts.
 */
void hp_marginal_known(enum hp_around around, int64_t cost, int64_t more)
{
	HP_BULKY static struct middle ratios[HP_AROUND_BUSY + 1], mores;
	static int64_t ratio[HP_AROUND_BUSY + 1];

	/* The truth build reads the clock twice a call: a small piece tells nothing about that. */
	if (HP_TRUTH_ALL || more <= 0 || cost > more * 16 || cost < -more)
		return;
	if (around == HP_AROUND_NOTHING)
		atomic_store_explicit(&more_around_nothing, middle_add(&mores, more),
				      memory_order_relaxed);
	ratio[around] = middle_add(&ratios[around], (cost << HP_FINE_BITS) / more);
	if (ratios[HP_AROUND_WAITING].count == 0 || ratios[HP_AROUND_BUSY].count == 0)
		return;
	cost = (ratio[HP_AROUND_WAITING] + ratio[HP_AROUND_BUSY]) / 2;
	atomic_store_explicit(&cost_per_more, cost > 1 ? cost : 1, memory_order_relaxed);
}

void hp_marginal_begin(struct hp_local *me, bool doubled)
{
	me->watched = doubled ? 2 : 1;
	if (doubled)
		me->low = UINTPTR_MAX;
	me->watch_calls = me->calls;
	me->overhead += me->clock_cost;
	me->watch_overhead = me->overhead;
	me->watch_start = hp_clock_ordered(me);
}

/*
 * Slow calls differ by more than the hooks cost, so gaps with such calls are not counted. The
 * lower quartile of gaps has few. The margin is the same for both kinds: if it grew with the time
 * of doubled entries, these would keep more of their slow calls.
 */
static bool is_long(struct hp_local *me, unsigned kind, uint64_t fine, uint64_t calls)
{
	uint64_t *usual = &me->seen_usual[kind];
	uint64_t each = fine / calls, margin;

	if (*usual == 0)
		*usual = each;
	else if (each > *usual)
		*usual += *usual / HP_USUAL_STEP + 1;
	else
		*usual -= 3 * (*usual / HP_USUAL_STEP);
	margin = me->seen_usual[0] ? me->seen_usual[0] : *usual;
	return fine > (*usual + margin) * calls + me->clock_cost * HP_LONG_READINGS;
}

static void keep(struct hp_local *me, unsigned kind, uint64_t ticks, uint64_t calls)
{
	if (calls == 0 || is_long(me, kind, ticks << HP_FINE_BITS, calls))
		return;
	me->seen_ticks[kind] += ticks;
	me->seen_calls[kind] += calls;
	if (me->seen_calls[kind] < HP_CALLS_MAX)
		return;
	for (int i = 0; i < 2; i++) {
		me->seen_ticks[i] /= 2;
		me->seen_calls[i] /= 2;
	}
}

void hp_marginal_end(struct hp_local *me)
{
	uint64_t now = hp_clock_ordered(me);
	uint64_t calls = me->calls - me->watch_calls;
	unsigned kind = me->watched - 1;
	uint64_t spent = me->overhead - me->watch_overhead;
	bool is_whole = (kind == 1) == (me->low == UINTPTR_MAX);

	hp_marginal_stop(me);
	me->overhead += me->clock_cost;
	/* Timed calls, or a slow path, would change the difference. */
	if (!is_whole || hp_switch_seen(me) || spent != calls * me->cost_counted)
		return;
	keep(me, kind, now - me->watch_start, calls);
	if (kind == 1)
		me->overhead += calls * me->more_here;
	hp_marginal_apply(me);
}

static int64_t each(const struct hp_local *me, unsigned kind)
{
	return (int64_t)((me->seen_ticks[kind] << HP_FINE_BITS) / me->seen_calls[kind]);
}

void hp_marginal_apply(struct hp_local *me)
{
	int64_t ratio = atomic_load_explicit(&cost_per_more, memory_order_relaxed);
	int64_t more = atomic_load_explicit(&more_around_nothing, memory_order_relaxed);
	int64_t here;

	if (ratio == 0 || me->seen_calls[0] < HP_CALLS_MIN || me->seen_calls[1] < HP_CALLS_MIN)
		return;
	here = each(me, 1) - each(me, 0);
	if (here < more / 4)
		here = more / 4;
	if (here > more * 4)
		here = more * 4;
	me->more_here = (uint64_t)here;
	me->cost_counted = (uint64_t)((ratio * here) >> HP_FINE_BITS);
}
