/* SPDX-License-Identifier: MIT */
/*
 * leave.c - see leave.h.
 *
 * Repair instead of trust.  A function may be left without its exit hook:
 * longjmp, C++ exceptions through clang's code, pthread_exit, a coroutine that
 * is never resumed.  Each frame holds the stack pointer of its entry.  A later
 * entry from a higher stack pointer, or the exit of a frame further down, shows
 * that the frames above it are gone.
 */
#include "preload/call/leave.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>

#include "preload/call/cost.h"
#include "preload/call/gap.h"
#include "preload/call/stack.h"
#include "preload/call/tally.h"
#include "preload/call/truth.h"
#include "preload/guest/confine.h"
#include "preload/guest/early.h"
#include "preload/guest/self.h"
#include "preload/thread/state.h"
#include "util/count.h"

#define HP_SHORT_CLOCKS 20	/* short: its own time is below this many clock readings, */
#define HP_VERY_SHORT_CLOCKS 10	/* and above this many, only after 16 checks */
#define HP_OUTER_CLOCKS 32	/* a recursive function's outermost calls are timed from here on */
#define HP_SHORTEST_CLOCKS 3	/* and below this many, a quarter of the samples is enough */
#define HP_SHORTEST_ONE_IN 4	/* hp_gist.one_in of these */
#define HP_RECALIBRATE 256	/* slow exits between two checks of the hooks' cost */
#define HP_TAIL_MIN 32	/* ticks: below it the mean of a short function counts as this */
#define HP_LONG_PART 8	/* timed calls after which the long ones are usual, too */
#define HP_PACE_CALLS 8	/* calls in a gap that reveal the pace */
#define HP_MEDIAN_STEP 16	/* of a median */
#define HP_EVENT_CLOCKS 100	/* a gap this many clock readings longer than usual, and */
#define HP_EVENT_FAR 12	/* this many median deviations (8 standard ones) is an event */
#define HP_MEAN_MAX 128	/* the running mean follows 1/128 of each difference, */
#define HP_MEAN_FIRST 4	/* at first more: the warm-up weighs as much as this many samples */
#define HP_MEAN_SETTLED 32	/* sampled calls after which the mean is only of these */

/* Counts `weight` more values like `ticks`. */
static void histogram_add(struct hp_local *me, struct hp_function *function, uint64_t ticks,
			  uint32_t weight)
{
	unsigned group = hp_bucket_group(ticks);
	uint32_t *counter;

	if (!function->groups[group] && !hp_row_group(me, &function->groups[group]))
		return;
	counter = hp_leave_counter(me, function, group, ticks);
	*counter += weight;
	if (HP_UNLIKELY(*counter >= HP_CARRY))
		hp_row_carry(me, function, group);
}

/* Anything up to this length is not an event. */
static inline uint64_t event_least(const struct hp_local *me)
{
	return (me->clock_cost * HP_EVENT_CLOCKS) >> HP_FINE_BITS;
}

/*
 * Sets the range of durations that exit_timed takes: neither among the slowest
 * nor new extremes, and counted in groups that exist, without a hole.  A hole
 * costs time, and filling it memory, so it is filled gradually, at `dice` == 0.
 */
static void usual_range(struct hp_local *me, struct hp_function *function, unsigned dice)
{
	unsigned last = hp_bucket_group(function->slow_floor);
	unsigned group = hp_bucket_group(function->least);

	while (group <= last && function->groups[group])
		group++;
	if (dice == 0 && group < last)
		hp_row_group(me, &function->groups[group]);
	function->usual_most = group ? hp_bucket_least(group, 0) - 1 : 0;
	if (group > last || function->usual_most > function->slow_floor)
		function->usual_most = function->slow_floor;
	/* From now on, calls below it may have been an event. */
	if (!me->is_exact && function->usual_most > event_least(me))
		function->usual_most = event_least(me);
}

/* Keeps the call if it is one of the slowest. */
static HP_COLD void slowest_add(struct hp_function *function, uint64_t start, uint64_t ticks,
				uint32_t tid)
{
	struct hp_call *least = &function->slowest[0];
	uint64_t floor = UINT64_MAX;

	for (int i = 1; i < HP_SLOWEST; i++)
		if (function->slowest[i].ticks < least->ticks)
			least = &function->slowest[i];
	hp_call_put(least, &(struct hp_call){ .start = start, .ticks = ticks, .tid = tid });
	for (int i = 0; i < HP_SLOWEST; i++)
		if (function->slowest[i].ticks < floor)
			floor = function->slowest[i].ticks;
	function->slow_floor = floor;
}

static inline void extremes_add(struct hp_function *function, uint64_t ticks)
{
	if (HP_UNLIKELY(ticks < function->least))
		function->least = ticks;
	if (HP_UNLIKELY(ticks > function->most))
		function->most = ticks;
}

/* The call's number for its result (preload/hook/hook_api.c); 0 = none. */
static inline uint32_t result_take(struct hp_frame *f)
{
	if (HP_LIKELY(!(f->weight & HP_WEIGHT_RESULT)))
		return 0;
	f->weight &= ~HP_WEIGHT_RESULT;
	return (uint32_t)f->result;
}

/*
 * Mean own time of the calls so far, without the few that took far longer: one
 * call that was preempted would make a short function look long.
 */
static int64_t usual_self(const struct hp_function *function)
{
	int64_t calls = (int64_t)function->timed;

	if (function->long_calls > function->timed / HP_LONG_PART)
		return function->timed_self / calls;
	return (function->timed_self - function->long_self) / (calls - function->long_calls);
}

/* A call, long enough to be an event, of a function whose every call is timed. */
static inline void long_add(const struct hp_local *me, struct hp_function *function, int64_t self)
{
	if (self <= (int64_t)(event_least(me) << HP_FINE_BITS))
		return;
	function->long_self += self;
	hp_count_up(&function->long_calls);
}

/* For the first gap, only its function's timed calls are known; the estimate is rather too long. */
static void pace_guess(struct hp_local *me, int64_t mean)
{
	if (me->pace)
		return;
	me->pace = 2 * ((uint64_t)(mean > 0 ? mean : 0) + me->cost_counted) + 1;
	me->slow_least = event_least(me);
}

/*
 * The first gaps, slow calls or not, must not set a pace that takes thousands of calls to correct:
 * so the pace starts at their lower quartile.
 */
static void pace_begin(struct hp_local *me, uint64_t each)
{
	unsigned i = me->pace_count++;

	for (; i > 0 && me->pace_first[i - 1] > each; i--)
		me->pace_first[i] = me->pace_first[i - 1];
	me->pace_first[i] = each;
	me->pace = me->pace_first[me->pace_count / 4];
}

/*
 * Checks if the function has become hot and short: then its calls are sampled.
 * "Short" is its own time: time in callees is known from them.  The cheaper
 * timing is relative to the function, the more calls are timed first.  A recursive
 * function keeps its outermost calls timed if they take long, so that its total
 * stays measured: `recursive` is the share of nested ones.
 */
static HP_COLD void policy_look(struct hp_local *me, struct hp_function *function,
				struct hp_gist *gist)
{
	int64_t mean = usual_self(function);
	int64_t clock = (int64_t)me->clock_cost;
	uint32_t one_in;

	if (me->is_exact || mean >= clock * HP_SHORT_CLOCKS)
		return;
	if (mean >= clock * HP_VERY_SHORT_CLOCKS && function->timed < HP_LOOK_EVERY * 16)
		return;
	gist->mean_self = mean ? (int32_t)mean : 1;	/* 0 = never sampled, see recursion_note */
	pace_guess(me, mean);
	one_in = mean < clock * HP_SHORTEST_CLOCKS ? HP_SHORTEST_ONE_IN : 1;
	function->slow_least = (uint32_t)event_least(me) + 1;
	if (function->recursive)
		function->recursive = 1 + one_in;
	if (!function->recursive || gist->active)
		gist->one_in = one_in;
}

/*
 * An outermost call of a recursive function was measured.  If each is short,
 * there are many, and timing them all would cost more than they do.
 */
static void outer_follow(const struct hp_local *me, struct hp_function *function,
			 struct hp_gist *gist, uint64_t ticks)
{
	uint64_t most = (me->clock_cost * HP_OUTER_CLOCKS) >> HP_FINE_BITS;
	int64_t far = (int64_t)(ticks < most * 16 ? ticks : most * 16) - function->outer_mean;

	function->outer_mean += (int32_t)(far / 16);
	gist->one_in = (uint64_t)function->outer_mean < most ? function->recursive - 1 : 0;
}

/* For functions that take nowhere near a thousand clock readings. */
static inline void mean_follow(struct hp_function *function, struct hp_gist *gist, int64_t self)
{
	int64_t of = HP_MEAN_FIRST + function->followed;
	int64_t mean = gist->mean_self + (self - gist->mean_self) / of;

	function->followed += of < HP_MEAN_MAX;
	gist->mean_self = (int32_t)(mean < INT32_MAX ? mean : INT32_MAX);
}

/*
 * The first 64 calls of a function miss the caches, and in a recursion carry the errors of the timed
 * calls below them.  So some functions look longer than they are, and sampling one call in 32 of the
 * shortest ones costs more than they do.  Only while few calls were sampled: a mean over two rates
 * overweights the calls of the higher one.
 */
static inline void draws_look(const struct hp_local *me, struct hp_function *function,
			      struct hp_gist *gist)
{
	if (gist->one_in != 1 || function->followed < HP_MEAN_SETTLED ||
	    function->followed >= HP_MEAN_MAX - HP_MEAN_FIRST ||
	    gist->mean_self >= (int64_t)me->clock_cost * HP_SHORTEST_CLOCKS)
		return;
	gist->one_in = HP_SHORTEST_ONE_IN;
	if (function->recursive)
		function->recursive = 1 + HP_SHORTEST_ONE_IN;
}

/* Follows the median of the values: one step up or down, a fraction of its value. */
static inline void median_follow(uint64_t *median, uint64_t value)
{
	uint64_t step = *median / HP_MEDIAN_STEP + 1;

	if (value > *median)
		*median += step;
	else
		*median -= step < *median ? step : *median;
}

/*
 * The usual time of a counted call with the code around it: this much of the time since the last
 * clock reading is neither loss (switch_note) nor event (gap.h).  Medians, since a tenth of the
 * gaps may be events.  Checked when a sampled call ends; at its start a division would be part
 * of its time.
 */
static inline void pace_follow(struct hp_local *me)
{
	uint64_t usual, far, each;

	if (me->pace_calls < HP_PACE_CALLS)
		return;
	each = (me->pace_ticks << HP_FINE_BITS) / (uint64_t)me->pace_calls;
	usual = me->pace * (uint64_t)me->pace_calls >> HP_FINE_BITS;
	far = me->pace_ticks > usual ? me->pace_ticks - usual : usual - me->pace_ticks;
	if (me->pace_count)
		median_follow(&me->pace_far, far);
	if (me->pace_count < HP_PACE_FIRST)
		pace_begin(me, each);
	else
		median_follow(&me->pace, each);
	me->slow_least =
		((me->clock_cost * HP_EVENT_CLOCKS) >> HP_FINE_BITS) + HP_EVENT_FAR * me->pace_far;
}

/* The own time from which on a call is an event, as a gap with it would have been. */
static inline int64_t slow_from(const struct hp_local *me, const struct hp_gist *gist)
{
	return (gist->mean_self > 0 ? gist->mean_self : 0) +
	       (int64_t)(me->slow_least << HP_FINE_BITS);
}

/* A call sampled at random ended. */
static inline void sampled_add(struct hp_local *me, struct hp_function *function,
			       struct hp_gist *gist, struct hp_row *row, int64_t self,
			       uint64_t child)
{
	int64_t most = slow_from(me, gist);
	double ticks;

	/*
	 * In a recursion the own time is a small difference of large estimates.
	 * A wrong value here means that counted calls below were charged too
	 * little or too much: so it is added as it is, and own times sum to
	 * the outermost call's measured time.  The mean follows calls with
	 * little below them.
	 */
	if (gist->active) {
		row->nested++;
		row->self_timed += self;
		if ((int64_t)child < most && self < most)
			mean_follow(function, gist, self);
		return;
	}
	row->below += (int64_t)child;
	row->sampled++;
	if (self > most) {
		row->tail_carry += ++row->tail_count == 0;
		row->tail_ticks += (uint64_t)self >> HP_FINE_BITS;
		hp_gap_pay(me, (uint64_t)self >> HP_FINE_BITS);
		return;
	}
	ticks = (double)self / (1 << HP_FINE_BITS);
	row->self_sampled += self;
	row->square_sampled += ticks * ticks;
	mean_follow(function, gist, self);
}

/* Not on a signal stack: it may be small. */
static inline void cost_look(struct hp_local *me)
{
	if (HP_UNLIKELY((++me->leaves & (HP_RECALIBRATE - 1)) == 0) && me->stack == me->home &&
	    me->base == (char *)hp_segment.header)
		hp_cost_renew(me);
}

/* A timed call whose duration is new for its function, or that has more to do for another reason. */
static __attribute__((noinline)) void leave_unusual(struct hp_local *me, struct hp_frame *f,
						    uint64_t now)
{
	struct hp_row *row = hp_frame_row(f);
	struct hp_gist *gist = hp_row_gist(row);
	struct hp_function *function = hp_row_function(me, row);
	uint32_t result = result_take(f);
	bool is_boosted = (f->weight & HP_WEIGHT_BOOST) != 0;
	bool is_range_new;
	int64_t less = f->weight == 1 ? me->less_timed : me->less_sampled;
	int64_t exact = hp_leave_duration(me, f->start, now, less);
	uint64_t ticks = hp_leave_at_least_1(exact);
	int64_t self = (int64_t)((uint64_t)exact << HP_FINE_BITS) - (int64_t)f->child;

	if (gist->one_in == 0)
		now = hp_gap_end(me, f, now, me->gap_mode);
	hp_truth_leave(me, f, exact);
	gist->active--;
	is_range_new = f->weight == 1 || ticks < function->least;
	extremes_add(function, ticks);
	if (ticks > function->slow_floor)
		slowest_add(function, now - ticks, ticks, me->tid);
	histogram_add(me, function, ticks, (uint32_t)f->weight);
	/* Sampled calls do not use it, but a new shortest one may leave a hole above it. */
	if (is_range_new)
		usual_range(me, function, now & 63);
	hp_leave_log(me, function, now - ticks, ticks, result);
	/* A call timed after an event counts as sampled if it is an event itself; otherwise it
	 * counts only once. */
	if (f->weight == 1 || (is_boosted && (gist->active || self <= slow_from(me, gist))))
		hp_leave_add(function, gist, row, self, exact);
	else
		sampled_add(me, function, gist, row, self, f->child);
	if (f->weight != 1) {
		pace_follow(me);
		draws_look(me, function, gist);
	} else {
		long_add(me, function, self);
	}
	if ((function->timed & me->look_mask) == 0 && f->weight == 1)
		policy_look(me, function, gist);
	if ((function->timed & (HP_CARRY - 1)) == 0)
		hp_row_carry_all(me, function);
	if (function->recursive > 1 && gist->active == 0)
		outer_follow(me, function, gist, ticks);
	hp_leave_end(me, f, now, exact);
	cost_look(me);
}

/* True if leave_unusual must handle the end of this call. */
static inline bool is_unusual(const struct hp_local *me, uint64_t weight,
			      const struct hp_function *function, const struct hp_gist *gist,
			      uint64_t ticks)
{
	if (ticks < function->least || ticks > function->slow_floor)
		return true;
	return weight == 1 ? ((function->timed + 1) & me->look_mask) == 0 : gist->one_in == 0;
}

/*
 * Most of them are sampled calls, and outermost ones of recursive functions, since exit_timed handles
 * the others. They are short enough for a path of their own.
 */
__attribute__((noinline)) void hp_leave_timed(struct hp_local *me, struct hp_frame *f, uint64_t now)
{
	struct hp_row *row = hp_frame_row(f);
	struct hp_gist *gist = hp_row_gist(row);
	struct hp_function *function = hp_row_function(me, row);
	uint64_t weight = f->weight, ticks;
	int64_t exact, self;
	uint32_t *counter;
	unsigned group;

	if (me->is_exact || (weight & (HP_WEIGHT_FLAGS | HP_WEIGHT_BOOST))) {
		leave_unusual(me, f, now);
		return;
	}
	exact = hp_leave_duration(me, f->start, now,
				  weight == 1 ? me->less_timed : me->less_sampled);
	ticks = hp_leave_at_least_1(exact);
	self = (int64_t)((uint64_t)exact << HP_FINE_BITS) - (int64_t)f->child;
	group = hp_bucket_group(ticks);
	/* One in 64 calls above a hole in the histogram may fill it, see usual_range. */
	if (HP_UNLIKELY(is_unusual(me, weight, function, gist, ticks) || !function->groups[group] ||
			(ticks > function->usual_most && weight == 1 && (now & 63) == 0))) {
		leave_unusual(me, f, now);
		return;
	}
	/* It is often in no cache, so it is on its way while the rest is added. */
	counter = hp_leave_counter(me, function, group, ticks);
	__builtin_prefetch(counter, 1);
	if (gist->one_in == 0)
		now = hp_gap_end(me, f, now, me->gap_mode);
	hp_truth_leave(me, f, exact);
	gist->active--;
	hp_leave_log(me, function, now - ticks, ticks, 0);
	if (weight == 1) {
		hp_leave_add(function, gist, row, self, exact);
		long_add(me, function, self);
	} else {
		sampled_add(me, function, gist, row, self, f->child);
		pace_follow(me);
		draws_look(me, function, gist);
	}
	if (function->recursive > 1 && gist->active == 0)
		outer_follow(me, function, gist, ticks);
	*counter += (uint32_t)weight;
	if (HP_UNLIKELY(*counter >= HP_CARRY))
		hp_row_carry(me, function, group);
	hp_leave_end(me, f, now, exact);
	cost_look(me);
}

__attribute__((noinline)) void hp_leave_tallied(struct hp_local *me, struct hp_frame *f,
						struct hp_row *row)
{
	bool is_timed = HP_TRUTH_ALL || (f->weight & ~HP_WEIGHT_TALLY) != 0;
	uint64_t now = is_timed ? hp_clock_timed(me) : 0;
	uint64_t cost = hp_tally_end(me, f, now);

	if (HP_TRUTH_ALL && f->weight == 0)
		hp_truth_leave(me, f, hp_leave_duration(me, f->reserved[0], now, me->less_sampled));
	if (f->weight != 0)
		hp_leave_timed(me, f, now);
	else
		hp_leave_counted(me, f, row, hp_row_gist(row));
	/* It happened after the end of the call, so its callers' time excludes it. */
	me->overhead += cost;
}

void hp_leave(struct hp_local *me, struct hp_frame *f)
{
	struct hp_row *row = hp_frame_row(f);

	/* Claimed, and left by a jump before it was filled, or while it was being left. */
	if (row == me->root || hp_row_gist(row)->active == 0) {
		if (f->weight & HP_WEIGHT_TALLY)
			hp_tally_drop(me, f);
		me->top = f;
	} else if (f->weight & HP_WEIGHT_TALLY)
		hp_leave_tallied(me, f, row);
	else if (f->weight != 0)
		hp_leave_timed(me, f, hp_clock_timed(me));
	else {
		if (HP_TRUTH_ALL)
			hp_truth_leave(me, f,
				       hp_leave_duration(me, f->reserved[0], hp_clock_timed(me),
							 me->less_sampled));
		hp_leave_counted(me, f, row, hp_row_gist(row));
	}
}

void hp_leave_down_to(struct hp_local *me, const struct hp_frame *end)
{
	while (me->top > end && hp_frame_is_call(me, me->top - 1)) {
		me->block->unwound++;
		hp_leave(me, me->top - 1);
	}
}

/*
 * A jump to `cfa` leaves the slow path that a signal handler interrupted, if it
 * goes further up than that and not to a place on the handler's own stack.
 */
static bool is_slow_path_left(const struct hp_local *me, uintptr_t cfa)
{
	stack_t own;

	if (me->state != HP_THREAD_BUSY || cfa <= me->shut_at)
		return false;
	return hp_is_confined() || sigaltstack(NULL, &own) != 0 || !(own.ss_flags & SS_ONSTACK) ||
	       cfa - (uintptr_t)own.ss_sp > own.ss_size;
}

/*
 * A slow path was left halfway.  Its tables hold complete entries: every
 * record is filled before it is linked or put into a table.
 */
void hp_leave_recover(struct hp_local *me)
{
	hp_row_recover(me);
	hp_stack_recover(me);
	hp_stack_return(me);
	hp_gate_open(me, hp_clock(me));
}

static void leave_below(struct hp_local *me, uintptr_t cfa)
{
	do
		while (hp_frame_is_call(me, me->top - 1) && me->top[-1].cfa < cfa)
			hp_leave_down_to(me, me->top - 1);
	while (!hp_frame_is_call(me, me->top - 1) && me->top[-1].cfa < cfa && hp_stack_shrink(me));
}

/* The jump may go to another stack than that of the last hook: back from a coroutine, for instance. */
void hp_leave_below(uintptr_t cfa)
{
	const struct hp_stack *stack;
	struct hp_local *me;
	uint64_t since;
	int saved;

	if (!cfa || hp_is_early())
		return;
	saved = errno;
	me = hp_local();
	if (is_slow_path_left(me, cfa))
		hp_leave_recover(me);
	if (me->state != HP_THREAD_OPEN)
		return;
	stack = me->stack;
	if (cfa >= stack->low && cfa <= stack->high && me->top[-1].cfa >= cfa)
		return;
	since = hp_clock(me);
	hp_gate_shut(me);
	if (hp_stack_select_known(me, cfa))
		leave_below(me, cfa);
	if (me->stack == stack)
		since = hp_gap_cut(me, since);
	hp_stack_return(me);
	hp_gate_open(me, since);
	errno = saved;
}

void hp_leave_late(struct hp_local *me)
{
	++*me->late_counter;
	me->late_counter = &me->no_counter;
}

void hp_leave_all(struct hp_local *me)
{
	hp_leave_late(me);
	do
		hp_leave_down_to(me, me->stack->part->frames);
	while (hp_stack_shrink(me));
}
