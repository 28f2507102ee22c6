/* SPDX-License-Identifier: MIT */
/*
 * hook_function.c - the entry and exit hooks of -finstrument-functions.
 *
 * The compiler calls them around every function body.  Every call is counted;
 * it is timed when its function is not known to be hot and short, else at
 * random (segment/layout/call.h, struct hp_function).
 *
 * Virtual time.  Durations are taken on a clock that stands still while we
 * work: ticks minus what our hooks cost this thread so far (hp_local.overhead).
 * So the cost of a million instrumented callees is subtracted from their
 * callers, at every level, by one addition a call.
 *
 * Own time without clocks.  A call that is only counted charges its caller the
 * running mean of its function's own time, plus what its callees took.
 *
 * Repair instead of trust.  A function may be left without its exit hook:
 * longjmp, C++ exceptions through clang's code, pthread_exit, a coroutine that
 * is never resumed.  Each frame holds the stack pointer of its entry.  A later
 * entry from a higher stack pointer, or the exit of a frame further down, shows
 * that the frames above it are gone.  The exit hook is not called with the
 * stack pointer of the entry (alloca; a tail call to the hook), but almost
 * always at the same distance: hp_gist.exit_delta.
 */
#include "preload/call/hook_function.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define HOTPATH_DECLARATIONS
#include "include/hotpath.h"
#include "preload/call/block.h"
#include "preload/call/clock.h"
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
#include "preload/thread/state.h"
#include "segment/histogram.h"
#include "util/random.h"

#define HP_TAIL_FACTOR 32	/* a sampled call this much above the mean is kept apart */
#define HP_MEAN_SHIFT 7	/* the running mean follows 1/128 of each difference */

static inline struct hp_row *frame_row(const struct hp_frame *f)
{
	return (struct hp_row *)(uintptr_t)f->row;
}

/* The lowest frame of a part is no call. */
static inline bool is_call(const struct hp_local *me, const struct hp_frame *f)
{
	return f > me->stack->part->frames;
}

/*
 * Calls of the present gap.  A handler that interrupts gap_next may find the
 * two words in disorder: then it is a few less than none.
 */
static inline uint64_t gap_calls(const struct hp_local *me)
{
	return (uint64_t)(int64_t)(int32_t)(me->gap - me->countdown);
}

/* Calls that might have been drawn, so far. */
static inline uint64_t calls_now(const struct hp_local *me)
{
	return me->calls + gap_calls(me);
}

static inline void clock_note(struct hp_local *me, uint64_t now)
{
	me->last_clock = now;
	me->last_calls = calls_now(me);
}

/* What our hooks cost this thread so far, fine ticks. */
static inline uint64_t overhead_now(const struct hp_local *me)
{
	return me->overhead + gap_calls(me) * me->cost_counted;
}

static inline uint32_t *counter_at(const struct hp_local *me, const struct hp_function *function,
				   unsigned group, uint64_t ticks)
{
	uint64_t offset = (uint64_t)function->groups[group] * HP_LINE;

	return (uint32_t *)(me->base + offset) + hp_bucket_place(ticks, group);
}

/* Counts `weight` more values like `ticks`. */
static void histogram_add(struct hp_local *me, struct hp_function *function, uint64_t ticks,
			  uint32_t weight)
{
	unsigned group = hp_bucket_group(ticks);
	uint32_t *counter;

	if (!function->groups[group] && !hp_row_group(me, &function->groups[group]))
		return;
	counter = counter_at(me, function, group, ticks);
	*counter += weight;
	if (HP_UNLIKELY(*counter >= HP_CARRY))
		hp_row_carry(me, function, group);
}

/*
 * Sets the range of durations that exit_timed takes: neither among the slowest
 * nor new extremes, and counted in groups that exist, without a hole.  A hole
 * costs time, and filling it memory, so it is filled by and by, at `dice` == 0.
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
	*least = (struct hp_call){ .start = start, .ticks = ticks, .tid = tid };
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

/* The number of what the call said of its result (preload/hook/hook_api.c); 0 = nothing. */
static inline uint32_t result_take(struct hp_frame *f)
{
	if (HP_LIKELY(!(f->weight & HP_WEIGHT_RESULT)))
		return 0;
	f->weight &= ~HP_WEIGHT_RESULT;
	return (uint32_t)f->result;
}

static inline void log_add(struct hp_local *me, struct hp_function *function, uint64_t start,
			   uint64_t ticks, uint32_t result)
{
	struct hp_call *call;

	if (HP_UNLIKELY(function->logs == 0))
		return;
	call = (struct hp_call *)(me->base + (uint64_t)function->logs * HP_LINE) +
	       function->log_next;
	call->start = start;
	call->ticks = ticks;
	call->tid = me->tid;
	call->result = result;
	function->log_next = function->log_next + 1 == me->logs_limit ? 0 : function->log_next + 1;
}

/*
 * Mean own time of the calls so far, without the few that took far longer: one
 * call that was preempted would make a short function look long.
 */
static int64_t usual_self(const struct hp_function *function)
{
	int64_t calls = (int64_t)function->timed;
	int64_t sum = function->timed_self;

	for (int i = 0; i < HP_SLOWEST; i++) {
		int64_t slow = (int64_t)(function->slowest[i].ticks << HP_FINE_BITS);

		if (slow > sum / calls * HP_TAIL_FACTOR && slow <= sum)
			sum -= slow;
	}
	return sum / calls;
}

/*
 * Looks whether the function is hot and short by now: then its calls are
 * drawn.  "Short" is its own time: time in callees is known from them.  The
 * less timing weighs against the function, the more calls are timed first.  A
 * recursive function keeps its outermost calls timed if they take long, so that
 * its total stays measured: `recursive` holds what applies to the nested ones.
 */
static HP_COLD void policy_look(const struct hp_local *me, struct hp_function *function,
				struct hp_gist *gist)
{
	int64_t mean = usual_self(function);
	int64_t clock = (int64_t)me->clock_cost;
	uint32_t draws;

	if (me->is_exact || mean >= clock * HP_SHORT_CLOCKS)
		return;
	if (mean >= clock * HP_VERY_SHORT_CLOCKS && function->timed < HP_LOOK_EVERY * 16)
		return;
	gist->mean_self = (int32_t)mean;
	draws = mean < clock * HP_SHORTEST_CLOCKS ? 4 : 1;
	if (function->recursive)
		function->recursive = 1 + draws;
	if (!function->recursive || gist->active)
		gist->draws = draws;
}

/*
 * An outermost call of a recursive function was measured.  Where these take
 * little each, there are many, and timing them all would cost more than they do.
 */
static void outer_follow(const struct hp_local *me, struct hp_function *function,
			 struct hp_gist *gist, uint64_t ticks)
{
	uint64_t most = (me->clock_cost * HP_OUTER_CLOCKS) >> HP_FINE_BITS;
	int64_t far = (int64_t)(ticks < most * 16 ? ticks : most * 16) - function->outer_mean;

	function->outer_mean += (int32_t)(far / 16);
	gist->draws = (uint64_t)function->outer_mean < most ? function->recursive - 1 : 0;
}

/* Held where a thousand clock readings are far off. */
static inline void mean_follow(struct hp_gist *gist, int64_t self)
{
	int64_t mean = gist->mean_self + ((self - gist->mean_self) >> HP_MEAN_SHIFT);

	gist->mean_self = (int32_t)(mean < INT32_MAX ? mean : INT32_MAX);
}

/*
 * What a counted call with the code around it takes, as a rule: so much of the
 * time since the last reading of the clock is no loss (switch_note).  Looked at
 * when a drawn call ends; at its start a division would be part of its time.
 */
static inline void pace_follow(struct hp_local *me)
{
	uint64_t most = 8 * (me->pace + me->clock_cost);
	uint64_t each = me->pace_calls > 0
				? (me->pace_ticks << HP_FINE_BITS) / (uint64_t)me->pace_calls
				: me->pace;

	me->pace += ((each < most ? each : most) >> 4) - (me->pace >> 4);
}

/* A call drawn at random ended. */
static HP_COLD void drawn_add(struct hp_gist *gist, struct hp_row *row, int64_t self,
			      uint64_t child)
{
	int64_t mean = gist->mean_self > 0 ? gist->mean_self : 0;
	int64_t most = (mean + (HP_TAIL_LEAST << HP_FINE_BITS)) * HP_TAIL_FACTOR;
	double ticks;

	/*
	 * In a recursion the own time is a small difference of large estimates.
	 * What it is here, counted calls below were charged too little or too
	 * much: so it is added as it is, and own times sum up to the outermost
	 * call's measured time.  The mean follows calls with little below them.
	 */
	if (gist->active) {
		row->nested++;
		row->self_timed += self;
		if ((int64_t)child < most && self < most)
			mean_follow(gist, self);
		return;
	}
	row->below += (int64_t)child;
	row->sampled++;
	if (self > most) {
		row->tail_carry += ++row->tail_count == 0;
		row->tail_ticks += (uint64_t)self >> HP_FINE_BITS;
		return;
	}
	ticks = (double)self / (1 << HP_FINE_BITS);
	row->self_sampled += self;
	row->square_sampled += ticks * ticks;
	mean_follow(gist, self);
}

/* A call that was timed because all of its function are. */
static inline void timed_add(struct hp_function *function, const struct hp_gist *gist,
			     struct hp_row *row, int64_t self, int64_t exact)
{
	row->timed++;
	row->self_timed += self;
	function->timed_self += self;
	if (HP_LIKELY(gist->active == 0))
		row->outer_timed += exact;
	function->timed++;
}

/*
 * Duration of a call that began at the virtual time `start` and ends at the
 * real time `now`.  `start` holds what the hooks add to an empty call; some
 * ns of work hide `less` of that behind themselves: from 0 to twice `less` the
 * scale is stretched, beyond it is only shifted.  The result may be a few
 * ticks below zero, and is so added to sums: else empty functions would come
 * out too long.
 */
static inline int64_t duration(const struct hp_local *me, uint64_t start, uint64_t now,
			       int64_t less)
{
	int64_t ticks = (int64_t)(now - (overhead_now(me) >> HP_FINE_BITS) - start);
	int64_t hidden = ticks < less ? ticks : less;

	return ticks + (hidden & ~(hidden >> 63));
}

/*
 * What is said of a single call: at least 1.  Around an empty function the
 * sign is a coin's, so no branch may depend on it.
 */
static inline uint64_t said(int64_t ticks)
{
	return (uint64_t)(ticks - ((ticks - 1) & ((ticks - 1) >> 63)));
}

/*
 * Where every call is timed, waiting for order at each would cost half as much
 * again; so HOTPATH_TIMING=exact tells the last instructions of a function
 * that is shorter than some 100 ns to its caller.
 */
static inline uint64_t clock_at_exit(const struct hp_local *me)
{
	return HP_LIKELY(me->is_exact) ? hp_clock(me) : hp_clock_ordered(me);
}

static inline void leave_end(struct hp_local *me, struct hp_frame *f, uint64_t now, int64_t exact)
{
	f[-1].child += (uint64_t)exact << HP_FINE_BITS;
	me->overhead += me->cost_timed;
	me->block->overhead = overhead_now(me);
	clock_note(me, now);
	me->top = f;
}

/* The end of the timed call in `f`, the thread's highest frame. */
static __attribute__((noinline)) void leave_timed(struct hp_local *me, struct hp_frame *f,
						  uint64_t now)
{
	struct hp_row *row = frame_row(f);
	struct hp_gist *gist = hp_row_gist(row);
	struct hp_function *function = hp_row_function(me, row);
	uint32_t result = result_take(f);
	int64_t less = f->weight == 1 ? me->less_timed : me->less_drawn;
	int64_t exact = duration(me, f->start, now, less);
	uint64_t ticks = said(exact);
	int64_t self = (int64_t)((uint64_t)exact << HP_FINE_BITS) - (int64_t)f->child;

	hp_truth_leave(me, f, exact);
	gist->active--;
	extremes_add(function, ticks);
	if (ticks > function->slow_floor)
		slowest_add(function, now - ticks, ticks, me->tid);
	histogram_add(me, function, ticks, (uint32_t)f->weight);
	usual_range(me, function, now & 63);
	log_add(me, function, now - ticks, ticks, result);
	if (f->weight == 1)
		timed_add(function, gist, row, self, exact);
	else
		drawn_add(gist, row, self, f->child);
	if (f->weight != 1)
		pace_follow(me);
	if ((function->timed & (HP_LOOK_EVERY - 1)) == 0 && f->weight == 1)
		policy_look(me, function, gist);
	if ((function->timed & (HP_CARRY - 1)) == 0)
		hp_row_carry_all(me, function);
	if (function->recursive > 1 && gist->active == 0)
		outer_follow(me, function, gist, ticks);
	leave_end(me, f, now, exact);
	/* Not on a signal stack: it may be small. */
	if ((++me->leaves & (HP_RECALIBRATE - 1)) == 0 && me->stack == me->home &&
	    me->base == (char *)hp_segment.header)
		hp_local_recalibrate(me);
}

/* The end of a call that was counted only. */
static inline void leave_counted(struct hp_local *me, struct hp_frame *f, struct hp_row *row,
				 struct hp_gist *gist)
{
	uint64_t child = f->child;

	if (HP_UNLIKELY(--gist->active)) {
		row->nested++;
		row->self_timed += gist->mean_self;
	} else if (child)
		row->below += (int64_t)child;
	f[-1].child += (uint64_t)(int64_t)gist->mean_self + child;
	me->top = f;
}

/* The end of a call that allocated, or has a callee that did. */
static __attribute__((noinline)) void leave_tallied(struct hp_local *me, struct hp_frame *f,
						    struct hp_row *row)
{
	bool is_timed = HP_TRUTH_ALL || (f->weight & ~HP_WEIGHT_TALLY) != 0;
	uint64_t now = is_timed ? clock_at_exit(me) : 0;
	uint64_t cost = hp_tally_end(me, f, now);

	if (HP_TRUTH_ALL && f->weight == 0)
		hp_truth_leave(me, f, duration(me, f->reserved[0], now, me->less_drawn));
	if (f->weight != 0)
		leave_timed(me, f, now);
	else
		leave_counted(me, f, row, hp_row_gist(row));
	/* It came after the end of the call, and is none of its callers' time. */
	me->overhead += cost;
}

/*
 * The same as leave_timed, for the usual call: without any call of ours, and
 * without a store to an address that waits for the clock: later loads would
 * wait to see whether it is theirs, and so the next reading of the clock
 * (measured: 8 ns).  So the histogram's counter is kept for the next call, and
 * what a thread counted is there but for its last call.
 */
static __attribute__((noinline)) void exit_timed(struct hp_local *me, struct hp_frame *f)
{
	struct hp_row *row = frame_row(f);
	struct hp_gist *gist = hp_row_gist(row);
	struct hp_function *function = hp_row_function(me, row);
	uint64_t now, ticks;
	int64_t exact;

	if (HP_UNLIKELY(f->weight & HP_WEIGHT_TALLY)) {
		leave_tallied(me, f, row);
		return;
	}
	now = clock_at_exit(me);
	exact = duration(me, f->start, now, me->less_timed);
	ticks = said(exact);
	if (HP_TRUTH_ALL && f->weight == 0) {
		hp_truth_leave(me, f, duration(me, f->reserved[0], now, me->less_drawn));
		leave_counted(me, f, row, gist);
		return;
	}
	if (HP_UNLIKELY(f->weight != 1 || function->recursive > 1 ||
			((function->timed + 1) & (HP_LOOK_EVERY - 1)) == 0 ||
			ticks < function->least || ticks > function->usual_most)) {
		leave_timed(me, f, now);
		return;
	}
	hp_truth_leave(me, f, exact);
	++*me->late_counter;
	me->late_counter = counter_at(me, function, hp_bucket_group(ticks), ticks);
	gist->active--;
	log_add(me, function, now - ticks, ticks, 0);
	timed_add(function, gist, row,
		  (int64_t)((uint64_t)exact << HP_FINE_BITS) - (int64_t)f->child, exact);
	leave_end(me, f, now, exact);
}

/* The same for slow paths. */
static void leave(struct hp_local *me, struct hp_frame *f)
{
	struct hp_row *row = frame_row(f);

	/* Claimed, and left by a jump before it was filled; or while it was being left. */
	if (row == me->root || hp_row_gist(row)->active == 0) {
		if (f->weight & HP_WEIGHT_TALLY)
			hp_tally_drop(me, f);
		me->top = f;
	} else if (f->weight & HP_WEIGHT_TALLY)
		leave_tallied(me, f, row);
	else if (f->weight != 0)
		leave_timed(me, f, clock_at_exit(me));
	else {
		if (HP_TRUTH_ALL)
			hp_truth_leave(me, f,
				       duration(me, f->reserved[0], clock_at_exit(me),
						me->less_drawn));
		leave_counted(me, f, row, hp_row_gist(row));
	}
}

/*
 * Calls are drawn by counting down: all calls that may be drawn, of whatever
 * function, take one, and the next gap is random, uniform in 1..2*HP_DRAWN-1.
 * So no rhythm of the program can meet ours, and each call is drawn with the
 * probability 1/HP_DRAWN.  Of the shortest functions' draws three
 * in four are let go.  A handler that interrupts this may jump away for good:
 * a countdown below 0 is over, too.
 */
static void gap_next(struct hp_local *me)
{
	me->calls += me->gap;
	me->overhead += (uint64_t)me->gap * me->cost_counted;
	if (HP_UNLIKELY(me->watched))
		hp_marginal_end(me);
	me->gap = hp_random_gap(&me->random, HP_DRAWN);
	me->countdown = me->gap;
}

/* The start of a drawn call.  What the hooks add to the call itself is added to it. */
static inline uint64_t start_drawn(struct hp_local *me)
{
	uint64_t now = hp_clock_ordered(me);

	me->pace_ticks = hp_clock_between(me->last_clock, now);
	me->pace_calls = (int64_t)(calls_now(me) - me->last_calls);
	clock_note(me, now);
	return now + me->inside_drawn - (overhead_now(me) >> HP_FINE_BITS);
}

/* A call that is counted only, in the truth build. */
static __attribute__((noinline)) void enter_truth(struct hp_local *me, struct hp_frame *f)
{
	hp_truth_enter(me, f, start_drawn(me));
}

/* Fills the claimed frame, and counts. */
static inline void enter_counted(struct hp_frame *f, struct hp_row *row, struct hp_gist *gist)
{
	row->calls++;
	f->row = (uintptr_t)row;
	f->child = 0;
	f->weight = 0;
	/* A jump out of a handler that comes before this drops the frame: see `leave`. */
	atomic_signal_fence(memory_order_seq_cst);
	gist->active++;
}

/* The weight of a call of a function that is timed, or of one that is drawn. */
static uint64_t weight_of(struct hp_local *me, struct hp_function *function, struct hp_gist *gist)
{
	if (gist->draws) {
		gap_next(me);
		if (gist->draws == 1 || me->random >> 62 == 0)
			return (uint64_t)gist->draws * HP_DRAWN;
		/* No clock disturbs the gap that begins here. */
		if (HP_UNLIKELY((me->random >> 20 & (HP_WATCHED - 1)) == 0))
			hp_marginal_begin(me, me->random >> 30 & 1);
		return 0;
	}
	if (HP_UNLIKELY(gist->active > 1) && !function->recursive)
		function->recursive = 1;
	/* Of a recursive function's calls those below a timed one are drawn. */
	if (HP_UNLIKELY(function->recursive > 1))
		gist->draws = function->recursive - 1;
	return 1;
}

/* The rest of `enter`: not just counted, or with an alias for a row. */
static __attribute__((noinline)) void enter_timed(struct hp_local *me, struct hp_frame *f,
						  struct hp_row *row)
{
	struct hp_gist *gist = hp_row_gist(row);
	struct hp_function *function;

	if (HP_UNLIKELY(gist == &hp_row_alias_gist)) {
		row = hp_row_meant(row);
		gist = hp_row_gist(row);
		if (HP_LIKELY(gist->draws != 0) && (int32_t)--me->countdown > 0) {
			enter_counted(f, row, gist);
			if (HP_TRUTH_ALL)
				enter_truth(me, f);
			return;
		}
	}
	enter_counted(f, row, gist);
	function = hp_row_function(me, row);
	f->weight = weight_of(me, function, gist);
	/* What the exit writes is on its way while the clock is read. */
	__builtin_prefetch(function->groups, 0);
	if (HP_LIKELY(f->weight == 1)) {
		/*
		 * When every call is timed, the exit before has waited already, or
		 * little is left of the caller's.  Before a drawn call there may be a lot.
		 */
		uint64_t now = hp_clock(me);

		clock_note(me, now);
		f->start = now + me->inside_timed - (overhead_now(me) >> HP_FINE_BITS);
	} else if (f->weight != 0) {
		f->start = start_drawn(me);
	} else {
		if (HP_TRUTH_ALL)
			enter_truth(me, f);
		return;
	}
	hp_truth_enter(me, f, f->start);
}

static inline void enter(struct hp_local *me, struct hp_frame *f, struct hp_row *row)
{
	struct hp_gist *gist = hp_row_gist(row);

	if (HP_UNLIKELY(!gist->draws || (int32_t)--me->countdown <= 0)) {
		enter_timed(me, f, row);
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
 * between has used this very frame, and in a recursion the exits that do not
 * fit would then be learnt as fitting, one frame off (free: test/bench).
 */
static inline void claim(struct hp_local *me, struct hp_frame *f, uintptr_t cfa)
{
	f->cfa = cfa;
	atomic_signal_fence(memory_order_seq_cst);
	me->top = f + 1;
	atomic_signal_fence(memory_order_seq_cst);
	f->cfa = cfa;
}

/* The frame is claimed, its row not in the first place of its hash. */
static __attribute__((noinline)) void enter_find(struct hp_local *me, struct hp_frame *f,
						 uintptr_t fn)
{
	enter(me, f, hp_row_find(me, frame_row(f - 1), fn));
}

/*
 * A handler's call inside our slow path: counted when that is done.  Atomic,
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

static void pending_to(struct hp_local *me, struct hp_row *row, uint64_t calls)
{
	row->calls += calls;
	row->nested += calls;
	me->block->untimed_signal += calls;
}

/*
 * The gate is open.  A handler that comes now may add again, inside a slow path
 * of its own, but then counts all that is there before it returns.
 */
static HP_COLD void pending_count(struct hp_local *me)
{
	atomic_store(&me->has_pending, 0);
	for (int i = 0; i < HP_PENDING && atomic_load(&me->pending[i].fn); i++) {
		uintptr_t fn = atomic_load(&me->pending[i].fn);
		uint64_t calls = atomic_exchange(&me->pending[i].calls, 0);

		if (calls)
			pending_to(me, hp_row_meant(hp_row_find(me, me->root, fn)), calls);
	}
	for (int i = 0; i < HP_PENDING; i++)
		if (atomic_load(&me->pending[i].calls) == 0)
			atomic_store(&me->pending[i].fn, 0);
	pending_to(me, me->other_row, atomic_exchange(&me->pending_more, 0));
}

void hp_gate_open(struct hp_local *me, uint64_t since)
{
	uint64_t now = hp_clock(me);

	clock_note(me, now);
	me->overhead += hp_clock_between(since, now) << HP_FINE_BITS;
	me->block->overhead = overhead_now(me);
	me->pending_depth = 0;	/* those handlers have returned, or jumped */
	atomic_signal_fence(memory_order_seq_cst);
	me->limit = me->open_limit;
	/* In this order: a handler that finds the gate open and no limit would keep it so. */
	atomic_signal_fence(memory_order_seq_cst);
	me->state = HP_THREAD_OPEN;
	if (HP_UNLIKELY(atomic_load_explicit(&me->has_pending, memory_order_relaxed)))
		pending_count(me);
}

/* Frames that will not see their exit hook, down to `end`, end now. */
static void leave_down_to(struct hp_local *me, const struct hp_frame *end)
{
	while (me->top > end && is_call(me, me->top - 1)) {
		me->block->unwound++;
		leave(me, me->top - 1);
	}
}

/*
 * The thread lost the processor, or a signal came, since the last hook: in the
 * own time of the call on top.  If that one has no clock, or one that stands
 * for many calls, what it lost is added as it is: to its own time at once, and
 * to inclusive times in the way of a callee's.
 */
static void switch_note(struct hp_local *me)
{
	struct hp_frame *f = me->top - 1;
	struct hp_row *row = frame_row(f);
	uint64_t now = hp_clock(me);
	int64_t calls = (int64_t)(calls_now(me) - me->last_calls) + 1;
	uint64_t usual = calls > 0 ? (me->pace * (uint64_t)calls) >> HP_FINE_BITS : 0;
	uint64_t lost = hp_clock_between(me->last_clock, now);

	hp_marginal_stop(me);
	if (is_call(me, f) && row != me->root && (f->weight & ~HP_WEIGHT_FLAGS) != 1 &&
	    lost > usual) {
		f->child += (lost - usual) << HP_FINE_BITS;
		row->self_timed += (int64_t)((lost - usual) << HP_FINE_BITS);
	}
	clock_note(me, now);
	hp_switch_arm(me);
}

/* Readies the thread for an entry at `cfa`: open, right stack, a claimed frame. */
static struct hp_local *enter_ready(uintptr_t fn, uintptr_t cfa)
{
	struct hp_local *me = hp_local();
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
	if (hp_stack_select(me, cfa) && frame_row(me->top - 1)->fn == fn &&
	    (me->top[-1].cfa | HP_GUEST_TAG) == (cfa | HP_GUEST_TAG))
		leave_down_to(me, me->top - 1);	/* a handler that left by longjmp, again */
	while (cfa > me->top[-1].cfa) {
		if (is_call(me, me->top - 1))
			leave_down_to(me, me->top - 1);
		else if (!hp_stack_shrink(me))
			break;
	}
	if (me->top == me->open_limit && !hp_stack_grow(me))
		me->state = HP_THREAD_LOST;
	if (me->state != HP_THREAD_BUSY)
		return NULL;
	/* With the gate shut: a handler that comes now must not leave the part or the guest. */
	claim(me, me->top, cfa);
	hp_stack_tag(me);
	hp_gate_open(me, since);
	return me;
}

/* Where the gate is open and nothing is gone. */
static inline void enter_usual(struct hp_local *me, struct hp_frame *f, uintptr_t fn, uintptr_t cfa)
{
	struct hp_row *row;
	uintptr_t above;

	claim(me, f, cfa);
	above = f[-1].row;
	row = me->rows[hp_row_index(me, above, fn)];
	if (HP_UNLIKELY(row->fn != fn || row->above != above))
		enter_find(me, f, fn);
	else
		enter(me, f, row);
}

/* What enter_usual does for a counted call, without an effect. */
static void enter_dummy(struct hp_local *me, struct hp_frame *f, uintptr_t fn, uintptr_t cfa)
{
	uintptr_t above = f[-1].row;
	struct hp_row *row = me->rows[hp_row_index(me, above, fn)];
	struct hp_dummy *dummy = &me->dummy;

	dummy->frame.cfa = cfa;
	dummy->top = &dummy->frame;
	if (row->fn != fn || row->above != above || !hp_row_gist(row)->draws)
		return;
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
 * else is worth a look for frames that were left without their exit.
 */
static bool exit_learns(const struct hp_local *me, const struct hp_frame *f, uintptr_t fn,
			uintptr_t cfa)
{
	struct hp_row *row = frame_row(f);
	struct hp_gist *gist = hp_row_gist(row);
	struct hp_function *function = hp_row_function(me, row);
	int64_t delta = (int64_t)(cfa - f->cfa);

	if (row->fn != fn || (f->cfa & HP_GUEST_TAG) || delta != (int32_t)delta)
		return false;
	if (delta == gist->exit_delta)
		return true;	/* it was something else that brought us here */
	if (delta != function->exit_delta_other && function->exit_delta_other != HP_DELTA_NONE)
		return false;
	function->exit_delta_other = gist->exit_delta;
	gist->exit_delta = (int32_t)delta;
	return true;
}

/*
 * The frame that ends here: of the frames of `fn`, the highest at the distance
 * seen before; else the highest which the stack pointer has not left.
 */
static struct hp_frame *exit_frame(struct hp_local *me, uintptr_t fn, uintptr_t cfa)
{
	struct hp_frame *first = NULL;

	do {
		for (struct hp_frame *f = me->top - 1; is_call(me, f); f--) {
			if (frame_row(f)->fn != fn)
				continue;
			if (exit_fits(f, hp_row_gist(frame_row(f)), cfa))
				return f;
			if (!first)
				first = f;
		}
		if (first)
			return first;
		leave_down_to(me, me->stack->part->frames);
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
 * A handler's call ends while the gate is shut.  If it came between the two
 * stores that shut or open it, the call may have a frame: then the limit is
 * there still, and the shadow stack whole.
 */
static void exit_shut(struct hp_local *me, uintptr_t fn, uintptr_t cfa)
{
	struct hp_frame *f = me->top - 1;

	if (me->limit && is_call(me, f) && frame_row(f)->fn == fn &&
	    exit_fits(f, hp_row_gist(frame_row(f)), cfa))
		leave(me, f);
	else if (me->pending_depth)
		me->pending_depth--;
}

static HP_COLD void exit_slow(uintptr_t fn, uintptr_t cfa)
{
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
	if (hp_switch_seen(me))
		switch_note(me);
	if (cfa >= me->stack->low && cfa <= me->stack->high &&
	    exit_learns(me, me->top - 1, fn, cfa)) {
		leave(me, me->top - 1);
		return;
	}
	since = hp_clock(me);
	hp_gate_shut(me);
	hp_stack_select(me, cfa);
	hp_stack_untag(me);
	f = hp_stack_has(me, fn) ? exit_frame(me, fn, cfa) : NULL;
	if (f) {
		leave_down_to(me, f + 1);
		leave(me, f);
	} else {
		exit_unpaired(me, cfa);
	}
	hp_stack_return(me);
	hp_gate_open(me, since);
	errno = saved;
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
 * A slow path was left in its middle.  Its tables hold what was complete: every
 * record is filled before it is linked or put into a table.
 */
void hp_function_recover(struct hp_local *me)
{
	hp_stack_recover(me);
	hp_stack_return(me);
	hp_gate_open(me, hp_clock(me));
}

void hp_function_leave_below(uintptr_t cfa)
{
	struct hp_local *me;
	uint64_t since;
	int saved;

	if (hp_is_early())
		return;
	saved = errno;
	me = hp_local();
	if (is_slow_path_left(me, cfa))
		hp_function_recover(me);
	if (me->state != HP_THREAD_OPEN || cfa < me->stack->low || cfa > me->stack->high)
		return;
	since = hp_clock(me);
	hp_gate_shut(me);
	do
		while (is_call(me, me->top - 1) && me->top[-1].cfa < cfa)
			leave_down_to(me, me->top - 1);
	while (!is_call(me, me->top - 1) && me->top[-1].cfa < cfa && hp_stack_shrink(me));
	hp_stack_return(me);
	hp_gate_open(me, since);
	errno = saved;
}

void hp_function_count_late(struct hp_local *me)
{
	++*me->late_counter;
	me->late_counter = &me->no_counter;
}

void hp_function_leave_all(struct hp_local *me)
{
	hp_function_count_late(me);
	do
		leave_down_to(me, me->stack->part->frames);
	while (hp_stack_shrink(me));
}

/*
 * The entry.  No calls on this path but at its end: it must hold the budget of
 * test/bench/hooks.  The gate (local.h) answers every reason not to record;
 * the other two comparisons find frames that are gone and other stacks.
 */
static inline __attribute__((always_inline)) void hook_enter(uintptr_t fn, uintptr_t cfa)
{
	struct hp_local *me = hp_local();
	struct hp_frame *f = me->top;

	if (HP_UNLIKELY(f >= me->limit || cfa > f[-1].cfa || cfa < me->low || hp_switch_seen(me))) {
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
	row = frame_row(f);
	gist = hp_row_gist(row);
	/* In this order: the lowest frame's row has no gist, and no function. */
	if (HP_UNLIKELY(row->fn != fn || !exit_fits(f, gist, cfa) || hp_switch_seen(me)))
		exit_slow(fn, cfa);
	else if (HP_UNLIKELY(f->weight != 0) || HP_TRUTH_ALL)
		exit_timed(me, f);
	else
		leave_counted(me, f, row, gist);
}

HP_EXPORT void __cyg_profile_func_enter(void *function, void *call_site)
{
	(void)call_site;
	hook_enter((uintptr_t)function, (uintptr_t)__builtin_dwarf_cfa());
}

HP_EXPORT void __cyg_profile_func_exit(void *function, void *call_site)
{
	(void)call_site;
	hook_exit((uintptr_t)function, (uintptr_t)__builtin_dwarf_cfa());
}

/* A block of which the key is not known: it is looked up first. */
static HP_COLD void block_enter_first(struct hotpath_block *block, uintptr_t cfa)
{
	uintptr_t key = hp_block_key(block, cfa);

	if (key)
		enter_slow(key, cfa);
}

static HP_COLD void block_leave_first(struct hotpath_block *block, uintptr_t cfa)
{
	uintptr_t key = hp_block_key(block, cfa);

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
