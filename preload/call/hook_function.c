/* SPDX-License-Identifier: MIT */
/*
 * hook_function.c - the entry and exit hooks of -finstrument-functions.
 *
 * The compiler calls them around every function body.  Every call is counted.
 * It is timed unless its function is known to be hot and short; then it is
 * timed at random (segment/layout/call.h, struct hp_function).
 *
 * Virtual time.  Durations are taken on a clock that stands still while we
 * work: ticks minus this thread's hook cost so far (hp_local.overhead). So the
 * cost of a million instrumented callees is subtracted from their callers, at
 * every level, by one addition per call.
 *
 * Own time without clocks.  A call that is only counted charges its caller the
 * running mean of its function's own time, plus its callees' time.
 *
 * The exit hook is not called with the stack pointer of the entry (alloca; a tail
 * call to the hook), but almost always at the same distance: hp_gist.exit_delta.
 * For functions left without it, see leave.h.
 */
#include "preload/call/hook_function.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define HOTPATH_DECLARATIONS
#include "include/hotpath.h"
#include "preload/call/block.h"
#include "preload/call/clock.h"
#include "preload/call/gap.h"
#include "preload/call/leave.h"
#include "preload/call/marginal.h"
#include "preload/call/row.h"
#include "preload/call/stack.h"
#include "preload/call/switch.h"
#include "preload/call/tally.h"
#include "preload/call/truth.h"
#include "preload/guest/confine.h"
#include "preload/guest/early.h"
#include "preload/guest/guest.h"
#include "preload/guest/self.h"
#include "preload/thread/level.h"
#include "preload/thread/state.h"
#include "segment/histogram.h"
#include "util/random.h"

/*
 * The same as hp_leave_timed, for the usual call: without function calls, and
 * without a store to an address that depends on the clock: later loads, and so
 * the next clock reading, would wait to know whether they alias it (measured: 8
 * ns).  So the histogram's counter is kept for the next call, and
 * a thread's counts are complete except for its last call.
 */
static __attribute__((noinline)) void exit_timed(struct hp_local *me, struct hp_frame *f)
{
	struct hp_row *row = hp_frame_row(f);
	struct hp_gist *gist = hp_row_gist(row);
	struct hp_function *function = hp_row_function(me, row);
	uint64_t now, ticks;
	int64_t exact;

	if (HP_UNLIKELY(f->weight & HP_WEIGHT_TALLY)) {
		hp_leave_tallied(me, f, row);
		return;
	}
	now = hp_clock_timed(me);
	exact = hp_leave_duration(me, f->start, now, me->less_timed);
	ticks = hp_leave_at_least_1(exact);
	if (HP_TRUTH_ALL && f->weight == 0) {
		hp_truth_leave(me, f, hp_leave_duration(me, f->reserved[0], now, me->less_sampled));
		hp_leave_counted(me, f, row, gist);
		return;
	}
	if (HP_UNLIKELY(f->weight != 1 || function->recursive > 1 ||
			((function->timed + 1) & me->look_mask) == 0 || ticks < function->least ||
			ticks > function->usual_most)) {
		hp_leave_timed(me, f, now);
		return;
	}
	hp_truth_leave(me, f, exact);
	++*me->late_counter;
	me->late_counter = hp_leave_counter(me, function, hp_bucket_group(ticks), ticks);
	gist->active--;
	hp_leave_log(me, function, now - ticks, ticks, 0);
	hp_leave_add(function, gist, row,
		     (int64_t)((uint64_t)exact << HP_FINE_BITS) - (int64_t)f->child, exact);
	hp_leave_end(me, f, now, exact);
}

/*
 * Calls are sampled by counting down: each call that may be sampled, of any
 * function, takes one, and the next gap is random, uniform in 1..2*HP_SAMPLED-1.
 * So no rhythm of the program can coincide with ours, and each call is sampled with the
 * probability 1/HP_SAMPLED.  For the shortest functions, three samples in four
 * are dropped.  The count ends below 0, since the sign costs no comparison. A signal
 * handler may leave this function by longjmp: then the count simply continues below 0.
 */
static inline void gap_begin(struct hp_local *me, uint32_t mean)
{
	me->gap = hp_random_gap(&me->random, mean) - 1;
	me->countdown = me->gap;
}

static inline void gap_count(struct hp_local *me)
{
	me->calls += me->gap + 1;
	me->overhead += ((uint64_t)me->gap + 1) * me->cost_counted;
}

/* The same with all that may happen at the end of a gap. */
static void gap_next(struct hp_local *me)
{
	uint32_t mean = HP_SAMPLED;

	gap_count(me);
	if (HP_UNLIKELY(me->watched))
		hp_marginal_end(me);
	me->ended_mode = me->gap_mode;
	me->gap_mode = HP_GAP_USUAL;
	if (HP_UNLIKELY(me->boost_now != 0)) {
		me->boost_now--;
		me->gap_mode = HP_GAP_ALL;
		mean = 1;
	} else if (HP_UNLIKELY(me->boost_later != 0)) {
		me->boost_later--;
		me->gap_mode = HP_GAP_BOOST;
		mean = HP_BOOST_EVERY;
	}
	gap_begin(me, mean);
}

/* The start of a sampled call, plus the time that the hooks add to the call. */
static inline uint64_t start_sampled(struct hp_local *me)
{
	uint64_t now = hp_clock_ordered(me);

	me->pace_ticks = hp_clock_between(me->last_clock, now);
	me->pace_calls = (int64_t)(hp_calls_now(me) - me->last_calls);
	now = hp_gap_end(me, me->top - 2, now, me->ended_mode);
	hp_calls_clock(me, now);
	return now + me->inside_sampled - (hp_overhead_now(me) >> HP_FINE_BITS);
}

/* A call that is counted only, in the truth build. */
static __attribute__((noinline)) void enter_truth(struct hp_local *me, struct hp_frame *f)
{
	hp_truth_enter(me, f, start_sampled(me));
}

/* Fills the claimed frame, and counts. */
static inline void enter_counted(struct hp_frame *f, struct hp_row *row, struct hp_gist *gist)
{
	row->calls++;
	f->row = (uintptr_t)row;
	f->child = 0;
	f->weight = 0;
	/* A handler that jumps out before this drops the frame: see hp_leave. */
	atomic_signal_fence(memory_order_seq_cst);
	gist->active++;
}

/*
 * After an event, some calls are timed that would not have been sampled. Each counts only once,
 * as if all calls of its function were timed, so no estimate is biased towards calls of this
 * kind.
 */
static uint64_t weight_boosted(struct hp_local *me, const struct hp_gist *gist)
{
	uint32_t usual = gist->one_in * HP_SAMPLED / HP_BOOST_EVERY;

	if (me->ended_mode == HP_GAP_BOOST && (uint32_t)(me->random >> 32) % usual == 0)
		return (uint64_t)gist->one_in * HP_SAMPLED;
	me->overhead -= me->cost_counted;	/* it is a timed call's and nothing else */
	return HP_WEIGHT_BOOST | 1;
}

/*
 * True if a drawn call of a sampled function is timed. Reads nothing of the function but its gist,
 * since three draws in four may be dropped.
 */
static inline bool is_kept(struct hp_local *me, const struct hp_gist *gist)
{
	if (gist->one_in == 1 || me->random >> 62 == 0)
		return true;
	/* No clock reading disturbs the gap that begins here. */
	if (HP_UNLIKELY(hp_marginal_is_due(me)))
		hp_marginal_begin(me, me->random >> 30 & 1);
	return false;
}

/*
 * A call of a function whose calls are all timed. Reads nothing but the gist, if possible: the ordered
 * clock reading that follows would wait for a cache miss. Functions that have been sampled have a mean.
 */
static inline void recursion_note(const struct hp_local *me, const struct hp_row *row,
				  struct hp_gist *gist)
{
	struct hp_function *function;

	if (HP_LIKELY(gist->active <= 1 && gist->mean_self == 0))
		return;
	function = hp_row_function(me, row);
	if (HP_UNLIKELY(gist->active > 1) && !function->recursive)
		function->recursive = 1;
	/* A recursive function's calls below a timed one are sampled. */
	if (HP_UNLIKELY(function->recursive > 1))
		gist->one_in = function->recursive - 1;
}

/*
 * The exit writes to lines that only timed calls touch, so they are often in no cache. They are on
 * their way while the clock is read and the call runs.
 */
static inline void exit_prefetch(const struct hp_local *me, const struct hp_row *row)
{
	const struct hp_function *function = hp_row_function(me, row);

	__builtin_prefetch(&function->gist, 1);
	if (HP_LIKELY(!me->is_exact))
		__builtin_prefetch(&function->next, 1);
	__builtin_prefetch(function->groups, 0);
}

/* A call of a function whose calls are all timed. */
static __attribute__((noinline)) void enter_timed(struct hp_local *me, struct hp_frame *f,
						  struct hp_row *row)
{
	struct hp_gist *gist = hp_row_gist(row);
	uint64_t now;

	enter_counted(f, row, gist);
	f->weight = 1;
	recursion_note(me, row, gist);
	exit_prefetch(me, row);
	now = hp_clock_timed(me);
	if (HP_UNLIKELY(hp_calls_now(me) != me->last_calls))
		now = hp_gap_end(me, f - 1, now, me->gap_mode);
	hp_calls_clock(me, now);
	f->start = now + me->inside_timed - (hp_overhead_now(me) >> HP_FINE_BITS);
	hp_truth_enter(me, f, f->start);
}

/* A call that was drawn, and is timed. */
static __attribute__((noinline)) void enter_sampled(struct hp_local *me, struct hp_frame *f,
						    const struct hp_row *row, uint64_t weight)
{
	f->weight = weight;
	exit_prefetch(me, row);
	f->start = start_sampled(me);
	hp_truth_enter(me, f, f->start);
}

/* The same with all that may happen at the end of a gap. */
static __attribute__((noinline)) void enter_drawn_rarely(struct hp_local *me, struct hp_frame *f,
							 const struct hp_row *row)
{
	const struct hp_gist *gist = hp_row_gist(row);

	gap_next(me);
	if (me->ended_mode != HP_GAP_USUAL)
		enter_sampled(me, f, row, weight_boosted(me, gist));
	else if (is_kept(me, gist))
		enter_sampled(me, f, row, (uint64_t)gist->one_in * HP_SAMPLED);
	else if (HP_TRUTH_ALL)
		enter_truth(me, f);
}

/* A drawn call of a sampled function. Most calls end here, so it calls nothing but at its end. */
static __attribute__((noinline)) void enter_drawn(struct hp_local *me, struct hp_frame *f,
						  struct hp_row *row)
{
	struct hp_gist *gist = hp_row_gist(row);

	enter_counted(f, row, gist);
	if (HP_UNLIKELY(HP_TRUTH_ALL ||
			me->watched | me->gap_mode | me->boost_now | me->boost_later)) {
		enter_drawn_rarely(me, f, row);
		return;
	}
	gap_count(me);
	me->ended_mode = HP_GAP_USUAL;
	gap_begin(me, HP_SAMPLED);
	if (is_kept(me, gist))
		enter_sampled(me, f, row, (uint64_t)gist->one_in * HP_SAMPLED);
}

/*
 * A call of a function whose calls are all timed, or the row is an alias. Separate, since counted calls
 * in a recursion need only this.
 */
static __attribute__((noinline)) void enter_other(struct hp_local *me, struct hp_frame *f,
						  struct hp_row *row)
{
	struct hp_gist *gist = hp_row_gist(row);

	if (HP_LIKELY(gist == &hp_row_alias_gist)) {
		row->calls++;	/* only hp_row_find reads it */
		row = hp_row_meant(row);
		gist = hp_row_gist(row);
		if (HP_LIKELY(gist->one_in != 0)) {
			if (HP_UNLIKELY((int32_t)--me->countdown < 0)) {
				enter_drawn(me, f, row);
				return;
			}
			enter_counted(f, row, gist);
			if (HP_TRUTH_ALL)
				enter_truth(me, f);
			return;
		}
	}
	enter_timed(me, f, row);
}

static inline void enter(struct hp_local *me, struct hp_frame *f, struct hp_row *row)
{
	struct hp_gist *gist = hp_row_gist(row);

	if (HP_UNLIKELY(!gist->one_in)) {
		enter_other(me, f, row);
		return;
	}
	if (HP_UNLIKELY((int32_t)--me->countdown < 0)) {
		enter_drawn(me, f, row);
		return;
	}
	enter_counted(f, row, gist);
	if (HP_TRUTH_ALL)
		enter_truth(me, f);
}

/*
 * Claim, then fill: a signal handler that enters in between takes the next
 * frame.  The stack pointer is stored on both sides of the claim: before, since
 * the handler's hooks compare theirs with it; after, since a handler exactly
 * between has used this very frame, and a recursion would then learn the
 * wrong exit distances, one frame off (this costs nothing: test/bench).
 */
static inline void claim(struct hp_local *me, struct hp_frame *f, uintptr_t cfa)
{
	f->cfa = cfa;
	atomic_signal_fence(memory_order_seq_cst);
	me->top = f + 1;
	atomic_signal_fence(memory_order_seq_cst);
	f->cfa = cfa;
}

/* The frame is claimed, but its row is not in the first place of its hash. */
static __attribute__((noinline)) void enter_find(struct hp_local *me, struct hp_frame *f,
						 uintptr_t fn)
{
	enter(me, f, hp_row_find(me, hp_frame_row(f - 1), fn));
}

/*
 * A handler's call inside our slow path: counted when that ends.  Atomic,
 * since another handler may interrupt this one.
 */
static void pending_add(struct hp_local *me, uintptr_t fn)
{
	_Atomic uint64_t *calls = &me->pending_more;

	me->pending_depth++;
	for (int i = 0; i < HP_PENDING; i++) {
		uintptr_t unused = 0;

		if (atomic_compare_exchange_strong(&me->pending[i].fn, &unused, fn) ||
		    unused == fn) {
			calls = &me->pending[i].calls;
			break;
		}
	}
	atomic_fetch_add(calls, 1);
	atomic_store(&me->has_pending, 1);
}

/*
 * The thread was preempted, or received a signal, since the last hook, in the
 * own time of the top call.  If that one has no clock, or stands for many
 * calls, the lost time is added unchanged: to its own time at once, and to
 * inclusive times like a callee's.
 */
static void switch_note(struct hp_local *me)
{
	struct hp_frame *f = me->top - 1;
	struct hp_row *row = hp_frame_row(f);
	uint64_t now = hp_clock(me);
	int64_t calls = (int64_t)(hp_calls_now(me) - me->last_calls) + 1;
	uint64_t usual = calls > 0 ? (me->pace * (uint64_t)calls) >> HP_FINE_BITS : 0;
	uint64_t lost = hp_clock_between(me->last_clock, now);

	hp_marginal_stop(me);
	if (hp_frame_is_call(me, f) && row != me->root && (f->weight & ~HP_WEIGHT_FLAGS) != 1 &&
	    lost > usual) {
		f->child += (lost - usual) << HP_FINE_BITS;
		row->self_timed += (int64_t)((lost - usual) << HP_FINE_BITS);
	}
	hp_calls_clock(me, now);
	hp_switch_arm(me);
}

/* Readies the thread for an entry at `cfa`: open, right stack, a claimed frame. */
static struct hp_local *enter_ready(uintptr_t fn, uintptr_t cfa)
{
	struct hp_local *me = hp_local();
	const struct hp_stack *stack;
	uint64_t since;

	if (me->state == HP_THREAD_UNBORN)
		hp_local_open(cfa);
	me = hp_local();
	if (me->state == HP_THREAD_BUSY)
		pending_add(me, fn);
	if (me->state == HP_THREAD_LOST)
		hp_local_count_lost();
	if (me->state != HP_THREAD_OPEN)
		return NULL;
	since = hp_clock(me);
	hp_gate_shut(me);
	stack = me->stack;
	if (hp_stack_select(me, cfa) && hp_frame_row(me->top - 1)->fn == fn &&
	    (me->top[-1].cfa | HP_GUEST_TAG) == (cfa | HP_GUEST_TAG))
		hp_leave_down_to(me, me->top - 1);	/* again, after a handler that left by longjmp */
	while (cfa > me->top[-1].cfa) {
		if (hp_frame_is_call(me, me->top - 1))
			hp_leave_down_to(me, me->top - 1);
		else if (!hp_stack_shrink(me))
			break;
	}
	/* On another stack, this one's calls are not the gap's. */
	if (me->stack == stack)
		since = hp_gap_cut(me, since);
	if (me->top == me->open_limit && !hp_stack_grow(me))
		me->state = HP_THREAD_LOST;
	if (me->state != HP_THREAD_BUSY)
		return NULL;
	/* With the gate shut: a handler that runs now must not leave the part or the guest. */
	claim(me, me->top, cfa);
	hp_stack_tag(me);
	hp_gate_open(me, since);
	return me;
}

/* For an open gate, and no frames left without exit. */
static inline void enter_usual(struct hp_local *me, struct hp_frame *f, uintptr_t fn, uintptr_t cfa)
{
	struct hp_row *row;
	uint32_t above;

	claim(me, f, cfa);
	above = hp_row_number(hp_frame_row(f - 1));
	row = me->rows[hp_row_index(me, above, fn)];
	if (HP_UNLIKELY(row->fn != fn || row->above != above))
		enter_find(me, f, fn);
	else
		enter(me, f, row);
}

/*
 * The same for a call inside a recursion, whose hooks do more: the entry finds its alias's row, and
 * the exit charges the row. NULL = such calls are all timed.
 */
static __attribute__((noinline)) struct hp_row *dummy_nested(struct hp_dummy *dummy,
							     struct hp_row *row)
{
	const struct hp_gist *gist;

	if (hp_row_gist(row) != &hp_row_alias_gist)
		return NULL;
	row = hp_row_meant(row);
	gist = hp_row_gist(row);
	if (!gist->one_in)
		return NULL;
	dummy->nested++;
	dummy->self += gist->mean_self;
	dummy->frame.child += (uint64_t)(int64_t)gist->mean_self;
	__asm__ volatile("" : : "r"(dummy) : "memory");
	return row;
}

/* The work of enter_usual for a counted call, without an effect. */
static void enter_dummy(struct hp_local *me, struct hp_frame *f, uintptr_t fn, uintptr_t cfa)
{
	uint32_t above = hp_row_number(hp_frame_row(f - 1));
	struct hp_row *row = me->rows[hp_row_index(me, above, fn)];
	struct hp_dummy *dummy = &me->dummy;

	dummy->frame.cfa = cfa;
	dummy->top = &dummy->frame;
	if (row->fn != fn || row->above != above)
		return;
	if (HP_UNLIKELY(!hp_row_gist(row)->one_in)) {
		row = dummy_nested(dummy, row);
		if (!row)
			return;
	}
	dummy->countdown--;
	dummy->calls++;
	dummy->active++;
	dummy->frame.row = (uintptr_t)row;
	dummy->frame.child = 0;
	dummy->frame.weight = 0;
	__asm__ volatile("" : : "r"(dummy) : "memory");
}

static HP_COLD void enter_slow(uintptr_t fn, uintptr_t cfa)
{
	struct hp_local *me;
	int saved;

	if (hp_is_early())
		return;
	saved = errno;
	me = hp_local();
	if (me->state == HP_THREAD_OPEN && hp_drop_is_before(me->drops)) {
		hp_local_forsake(me);
		me = hp_local();
	}
	if (me->state == HP_THREAD_OPEN && hp_marginal_is_doubled(me, cfa) && !hp_switch_seen(me)) {
		enter_dummy(me, me->top, fn, cfa);
		enter_usual(me, me->top, fn, cfa);
		return;
	}
	hp_marginal_stop(me);
	if (me->state == HP_THREAD_OPEN && hp_switch_seen(me))
		switch_note(me);
	me = enter_ready(fn, cfa);
	if (me)
		enter_find(me, me->top - 1, fn);
	errno = saved;
}

/* True if a call of `f`'s function would end with this stack pointer. */
static inline bool exit_fits(const struct hp_frame *f, const struct hp_gist *gist, uintptr_t cfa)
{
	return (int64_t)(cfa - f->cfa) == gist->exit_delta;
}

/*
 * The exit is at a distance not seen last time.  The highest frame's function
 * may have two kinds of exit (a call of the hook, and a jump to it).  Anything
 * else justifies a check for frames left without their exit.
 */
static bool exit_learns(const struct hp_local *me, const struct hp_frame *f, uintptr_t fn,
			uintptr_t cfa)
{
	struct hp_row *row = hp_frame_row(f);
	struct hp_gist *gist = hp_row_gist(row);
	struct hp_function *function = hp_row_function(me, row);
	int64_t delta = (int64_t)(cfa - f->cfa);

	if (row->fn != fn || (f->cfa & HP_GUEST_TAG) || delta != (int32_t)delta)
		return false;
	if (delta == gist->exit_delta)
		return true;	/* something else brought us here */
	if (delta != function->exit_delta_other && function->exit_delta_other != HP_DELTA_NONE)
		return false;
	function->exit_delta_other = gist->exit_delta;
	gist->exit_delta = (int32_t)delta;
	return true;
}

/*
 * The frame that ends here: among the frames of `fn`, the highest at the
 * distance seen before; else the highest that the stack pointer has not left.
 */
static struct hp_frame *exit_frame(struct hp_local *me, uintptr_t fn, uintptr_t cfa)
{
	struct hp_frame *first = NULL;

	do {
		for (struct hp_frame *f = me->top - 1; hp_frame_is_call(me, f); f--) {
			if (hp_frame_row(f)->fn != fn)
				continue;
			if (exit_fits(f, hp_row_gist(hp_frame_row(f)), cfa))
				return f;
			if (!first)
				first = f;
		}
		if (first)
			return first;
		hp_leave_down_to(me, me->stack->part->frames);
	} while (hp_stack_shrink(me));
	return NULL;
}

/* Not a fault if the call began before this thread was recorded, or before fork. */
static void exit_unpaired(struct hp_local *me, uintptr_t cfa)
{
	if (cfa < me->stack->first)
		me->block->unpaired++;
}

/*
 * A handler's call ends while the gate is shut.  If it ran between the two
 * stores that shut or open the gate, the call may have a frame: then the
 * limit is still set, and the shadow stack complete.
 */
static void exit_shut(struct hp_local *me, uintptr_t fn, uintptr_t cfa)
{
	struct hp_frame *f = me->top - 1;

	if (me->limit && hp_frame_is_call(me, f) && hp_frame_row(f)->fn == fn &&
	    exit_fits(f, hp_row_gist(hp_frame_row(f)), cfa))
		hp_leave(me, f);
	else if (me->pending_depth)
		me->pending_depth--;
}

static HP_COLD void exit_slow(uintptr_t fn, uintptr_t cfa)
{
	const struct hp_stack *stack;
	struct hp_local *me;
	struct hp_frame *f;
	uint64_t since;
	int saved;

	if (hp_is_early())
		return;
	saved = errno;
	me = hp_local();
	if (me->state == HP_THREAD_BUSY)
		exit_shut(me, fn, cfa);
	if (me->state != HP_THREAD_OPEN)
		return;
	if (hp_drop_is_before(me->drops)) {
		hp_local_forsake(me);
		errno = saved;
		return;
	}
	if (hp_switch_seen(me))
		switch_note(me);
	if (cfa >= me->stack->low && cfa <= me->stack->high &&
	    exit_learns(me, me->top - 1, fn, cfa)) {
		hp_leave(me, me->top - 1);
		return;
	}
	since = hp_clock(me);
	hp_gate_shut(me);
	stack = me->stack;
	hp_stack_select(me, cfa);
	hp_stack_untag(me);
	f = hp_stack_has(me, fn) ? exit_frame(me, fn, cfa) : NULL;
	if (f) {
		hp_leave_down_to(me, f + 1);
		hp_leave(me, f);
	} else {
		exit_unpaired(me, cfa);
	}
	if (me->stack == stack)
		since = hp_gap_cut(me, since);
	hp_stack_return(me);
	hp_gate_open(me, since);
	errno = saved;
}

/*
 * The entry. No calls on this path except at its end: it must meet the budget of
 * test/bench/hooks.  The gate (local.h) answers every reason not to record;
 * the other two comparisons detect frames left without exit, and other stacks.
 */
static inline __attribute__((always_inline)) void hook_enter(uintptr_t fn, uintptr_t cfa)
{
	struct hp_local *me = hp_local();
	struct hp_frame *f = me->top;

	/* Otherwise the compiler computes it again for each use. */
	__asm__("" : "+r"(cfa));
	if (HP_UNLIKELY(f >= me->limit || cfa > f[-1].cfa || cfa < me->low ||
			hp_switch_seen_once(me))) {
		enter_slow(fn, cfa);
		return;
	}
	enter_usual(me, f, fn, cfa);
}

/* The exit: the same. */
static inline __attribute__((always_inline)) void hook_exit(uintptr_t fn, uintptr_t cfa)
{
	struct hp_local *me = hp_local();
	struct hp_frame *f = me->top - 1;
	struct hp_gist *gist;
	struct hp_row *row;

	if (HP_UNLIKELY(f >= me->limit)) {
		exit_slow(fn, cfa);
		return;
	}
	row = hp_frame_row(f);
	gist = hp_row_gist(row);
	/* In this order: the lowest frame's row has no gist, and no function. */
	if (HP_UNLIKELY(row->fn != fn || !exit_fits(f, gist, cfa) || hp_switch_seen_once(me)))
		exit_slow(fn, cfa);
	else if (HP_UNLIKELY(f->weight != 0) || HP_TRUTH_ALL)
		exit_timed(me, f);
	else
		hp_leave_counted(me, f, row, gist);
}

HP_EXPORT HP_AT_LINE void __cyg_profile_func_enter(void *function, void *call_site)
{
	(void)call_site;
	hook_enter((uintptr_t)function, (uintptr_t)__builtin_dwarf_cfa());
}

HP_EXPORT HP_AT_LINE void __cyg_profile_func_exit(void *function, void *call_site)
{
	(void)call_site;
	hook_exit((uintptr_t)function, (uintptr_t)__builtin_dwarf_cfa());
}

/*
 * The key of a block whose descriptor does not have it yet, for the call with the
 * stack pointer `cfa`; 0 = this thread does not record, or it is not a
 * descriptor.
 */
static HP_COLD uintptr_t block_key(struct hotpath_block *block, uintptr_t cfa)
{
	struct hp_local *me;
	uintptr_t key;
	uint64_t since;
	bool shut;
	int saved;

	if (hp_is_early())
		return 0;
	saved = errno;
	if (block->size < sizeof(*block))
		return 0;
	if (hp_local()->state == HP_THREAD_UNBORN)
		hp_local_open(cfa);
	me = hp_local();
	if (me->state != HP_THREAD_OPEN && me->state != HP_THREAD_BUSY)
		return 0;
	since = hp_clock(me);
	shut = hp_gate_shut(me);
	key = hp_block_key(block);
	if (shut)
		hp_gate_open(me, since);
	errno = saved;
	return key;
}

/* A block with an unknown key: it is looked up first. */
static HP_COLD void block_enter_first(struct hotpath_block *block, uintptr_t cfa)
{
	uintptr_t key = block_key(block, cfa);

	if (key)
		enter_slow(key, cfa);
}

static HP_COLD void block_leave_first(struct hotpath_block *block, uintptr_t cfa)
{
	uintptr_t key = block_key(block, cfa);

	if (key)
		exit_slow(key, cfa);
}

/* Blocks are calls of functions without an address (block.h). */
HP_EXPORT void hotpath_block_enter(struct hotpath_block *block)
{
	uintptr_t key = (uintptr_t)__atomic_load_n(&block->key, __ATOMIC_RELAXED);
	uintptr_t cfa = (uintptr_t)__builtin_dwarf_cfa();

	if (HP_LIKELY(key != 0))
		hook_enter(key, cfa);
	else
		block_enter_first(block, cfa);
}

HP_EXPORT void hotpath_block_leave(struct hotpath_block *block)
{
	uintptr_t key = (uintptr_t)__atomic_load_n(&block->key, __ATOMIC_RELAXED);
	uintptr_t cfa = (uintptr_t)__builtin_dwarf_cfa();

	if (HP_LIKELY(key != 0))
		hook_exit(key, cfa);
	else
		block_leave_first(block, cfa);
}
