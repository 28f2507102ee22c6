/* SPDX-License-Identifier: MIT */
/*
 * calibrate.c - the cost of our own hooks.
 *
 * The real hooks run around functions of known work, on a thread state whose
 * block is in private memory, so that the segment is not affected. The
 * minimum of several rounds counts: every disturbance makes a round longer.
 *
 * A processor overlaps the hooks with the code around them. Code that waits for
 * its own results leaves room for that: there a counted call is almost free.
 * Code that keeps all units busy pays in full. So the cost is measured around
 * one function of each kind, of some 20 ns, and the mean is subtracted;
 * doc/internals/design.md gives the error.
 */
#include "preload/call/calibrate.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/call/clock.h"
#include "preload/call/hook_function.h"
#include "preload/call/leave.h"
#include "preload/call/marginal.h"
#include "preload/call/row.h"
#include "preload/call/stack.h"
#include "preload/call/switch.h"
#include "preload/call/truth.h"
#include "preload/guest/confine.h"
#include "preload/guest/pages.h"
#include "preload/guest/self.h"
#include "preload/thread/level.h"
#include "preload/thread/state.h"

/* clang does not clone functions. */
#ifdef __clang__
#define HP_ALONE __attribute__((noinline))
#else
#define HP_ALONE __attribute__((noinline, noclone))
#endif

#define HP_CALLS 256
#define HP_ROUNDS 4
#define HP_DOUBLED 2	/* of each: whose entries work twice */
#define HP_ROOM (256 * 1024)
#define HP_REPEATS 4
#define HP_REPEAT_NS UINT64_C(5000000)	/* to the first repetition, then twice as long each */

/* Without loops: whether their ends are predicted would be part of the measurement. */
#define HP_FOUR(x) x x x x
#define HP_WORK(x) HP_FOUR(HP_FOUR(x)) HP_FOUR(x) HP_FOUR(x)

static volatile uint64_t work_sink;

/* Every step waits for the previous one. */
static inline __attribute__((always_inline)) void work_waiting(void)
{
	uint64_t x = work_sink;

	HP_WORK(x = x * 3 + 1; __asm__ volatile("" : "+r"(x));)
	work_sink = x;
}

/* No step waits for another. */
static inline __attribute__((always_inline)) void work_busy(void)
{
	uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;

	HP_WORK(a += 3; b ^= 5; c -= 7; d += 9;
		__asm__ volatile(""
				 : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
		e += 3; f ^= 5; g -= 7; h += 9;
		__asm__ volatile(""
				 : "+r"(e), "+r"(f), "+r"(g), "+r"(h));)
}

/*
 * The baseline of the hooks' cost: times are those of the program as it was compiled, with hooks
 * that do nothing (doc/internals/estimates.md). So the calls and their arguments do not count as
 * our cost.
 */
static HP_ALONE void nothing(void *function, void *site)
{
	__asm__ volatile("" : : "r"(function), "r"(site) : "memory");
}

#define PLAIN(name, work) \
	static HP_ALONE void name##_plain(void) \
	{ \
		nothing((void *)name##_plain, __builtin_return_address(0)); \
		work; \
		__asm__ volatile("" : : : "memory"); \
		nothing((void *)name##_plain, __builtin_return_address(0)); \
	}

PLAIN(empty, )
PLAIN(waiting, work_waiting())
PLAIN(busy, work_busy())

/* As gcc -O2 compiles a function with -finstrument-functions. */
#define HOOKED(name, work) \
	static HP_ALONE void name##_hooked(void) \
	{ \
		__cyg_profile_func_enter((void *)name##_hooked, __builtin_return_address(0)); \
		work; \
		__asm__ volatile("" : : : "memory"); \
		__cyg_profile_func_exit((void *)name##_hooked, __builtin_return_address(0)); \
	}

HOOKED(empty, )
HOOKED(waiting, work_waiting())
HOOKED(busy, work_busy())

/* One function in its variants: ticks of HP_CALLS calls, the minimum of the rounds. */
struct kind {
	void (*plain)(void);
	void (*hooked)(void);
	uint64_t plain_ticks;
	uint64_t timed_ticks;
	uint64_t counted_ticks;
	int64_t timed_inside;	/* what the hooks measure for a timed call, fine ticks */
	int64_t sampled_inside;	/* and of a sampled one */
};

static uint64_t round_ticks(const struct hp_local *me, void (*volatile function)(void))
{
	uint64_t start = hp_clock(me);

	for (int i = 0; i < HP_CALLS; i++)
		function();
	return hp_clock(me) - start;
}

static int64_t fine(int64_t ticks_of_calls)
{
	return (ticks_of_calls << HP_FINE_BITS) / HP_CALLS;
}

static void keep_least(uint64_t *least, uint64_t ticks)
{
	if (*least == 0 || ticks < *least)
		*least = ticks;
}

static struct hp_row *row_of(struct hp_local *me, const struct kind *kind)
{
	return hp_row_find(me, me->root, (uintptr_t)kind->hooked);
}

static void round_timed(struct hp_local *me, struct kind *kind)
{
	struct hp_row *row = row_of(me, kind);
	struct hp_function *function = hp_row_function(me, row);
	int64_t mean;

	hp_row_gist(row)->one_in = 0;
	function->timed = 0;
	function->timed_self = 0;
	keep_least(&kind->timed_ticks, round_ticks(me, kind->hooked));
	mean = function->timed_self / (int64_t)function->timed;
	if (kind->timed_inside == 0 || mean < kind->timed_inside)
		kind->timed_inside = mean;
}

static void round_counted(struct hp_local *me, struct kind *kind)
{
	hp_row_gist(row_of(me, kind))->one_in = 1;
	me->gap = me->countdown = INT32_MAX;
	keep_least(&kind->counted_ticks, round_ticks(me, kind->hooked));
	me->gap = me->countdown = 0;
}

/* The cost of a pair relative to one more entry is known from successive rounds. */
static void round_doubled(struct hp_local *me, const struct kind *kind, enum hp_around around)
{
	int64_t plain, counted, doubled;

	plain = (int64_t)round_ticks(me, kind->plain);
	hp_row_gist(row_of(me, kind))->one_in = 1;
	me->gap = me->countdown = INT32_MAX;
	counted = (int64_t)round_ticks(me, kind->hooked);
	hp_marginal_begin(me, true);
	doubled = (int64_t)round_ticks(me, kind->hooked);
	hp_marginal_stop(me);
	me->gap = me->countdown = 0;
	hp_marginal_known(around, fine(counted - plain), fine(doubled - counted));
}

/* The processor does not predict sampled calls. */
static void round_sampled(struct hp_local *me, struct kind *kind)
{
	struct hp_row *row = row_of(me, kind);

	hp_row_gist(row)->one_in = 1;
	hp_row_gist(row)->mean_self = (int32_t)me->clock_cost * 8;
	me->gap = me->countdown = HP_SAMPLED - 1;
	for (int i = 0; i < 3; i++)
		round_ticks(me, kind->hooked);
	if (row->sampled)
		kind->sampled_inside = row->self_sampled / (int64_t)row->sampled;
	me->gap = me->countdown = 0;
}

/* Alternating, so that a disturbance of the machine affects all of them. */
static void measure_kinds(struct hp_local *me, struct kind *kinds, int count)
{
	for (int i = 0; i < count; i++)
		kinds[i].hooked();
	for (int r = 0; r < HP_ROUNDS; r++)
		for (int i = 0; i < count; i++) {
			keep_least(&kinds[i].plain_ticks, round_ticks(me, kinds[i].plain));
			round_timed(me, &kinds[i]);
			round_counted(me, &kinds[i]);
			round_sampled(me, &kinds[i]);
			for (int k = 0; k < HP_DOUBLED; k++)
				round_doubled(me, &kinds[i], (enum hp_around)i);
		}
}

static uint32_t clock_cost(const struct hp_local *me)
{
	uint64_t least = 0;

	for (int r = 0; r < HP_ROUNDS; r++) {
		uint64_t start = hp_clock(me), end = 0;

		for (int i = 0; i < 64; i++)
			end = hp_clock(me);
		keep_least(&least, end - start);
	}
	return (uint32_t)((least << HP_FINE_BITS) / 64);
}

/* A thread state that records into `room`. */
static bool prepare(struct hp_local *me, char *room, const struct hp_header *header)
{
	memset(me, 0, sizeof(*me));
	me->base = room;
	me->arena = room + HP_PAGE;
	me->arena_end = room + HP_ROOM;
	me->row_arena = room + HP_PAGE / 2;
	me->row_arena_end = room + HP_PAGE;
	me->block = (struct hp_block *)(room + HP_LINE);
	me->slow_clock = header->clock_kind == HP_CLOCK_MONOTONIC_RAW;
	me->is_exact = header->timing == HP_TIMING_EXACT;
	me->look_mask = HP_LOOK_EXACT - 1;
	me->late_counter = &me->no_counter;
	me->drops = HP_DROPS_NONE;
	me->slow_least = UINT32_MAX;
	hp_switch_init(me);
	me->logs_limit = header->logs_limit < 64 ? header->logs_limit : 64;
	me->state = HP_THREAD_BUSY;
	if (!hp_row_init(me) || !hp_stack_init(me, (uintptr_t)__builtin_frame_address(0)))
		return false;
	me->state = HP_THREAD_OPEN;
	me->limit = me->open_limit;
	return true;
}

static uint32_t natural(int64_t value)
{
	return value > 0 ? (uint32_t)value : 0;
}

/* `kinds`: empty, waiting, busy.  The work of a plain call is the excess over an empty one. */
static void conclude(struct hp_header *header, const struct kind *kinds)
{
	int64_t timed = 0, counted = 0, beyond_timed = 0, beyond_sampled = 0;

	for (int i = 1; i <= 2; i++) {
		int64_t plain = (int64_t)kinds[i].plain_ticks;
		int64_t work = fine(plain - (int64_t)kinds[0].plain_ticks);

		timed += fine((int64_t)kinds[i].timed_ticks - plain) / 2;
		counted += fine((int64_t)kinds[i].counted_ticks - plain) / 2;
		beyond_timed += (kinds[i].timed_inside - work) / 2;
		beyond_sampled += (kinds[i].sampled_inside - work) / 2;
	}
	header->cost_counted = natural(counted);
	header->cost_inside = natural(kinds[0].timed_inside);
	header->cost_inside_sampled = natural(kinds[0].sampled_inside);
	header->cost_less = natural(kinds[0].timed_inside - beyond_timed);
	header->cost_less_sampled = natural(kinds[0].sampled_inside - beyond_sampled);
	atomic_store_explicit(&hp_segment_recorded_at(&hp_segment)->bare_fine,
			      natural(fine((int64_t)kinds[0].plain_ticks)), memory_order_relaxed);
	/* Last: this tells others that calibration is done. */
	__atomic_store_n(&header->cost_timed, natural(timed) + 1, __ATOMIC_RELEASE);
}

/*
 * The calibration on the quietest machine counts, judged by the functions whose
 * hooks do nothing. The minimum of each figure would be too low, since
 * they scatter.
 */
static bool is_quietest(const struct kind *kinds)
{
	static uint64_t quietest;
	uint64_t ticks = 0;

	for (int i = 0; i < 3; i++)
		ticks += kinds[i].plain_ticks;
	if (quietest && ticks >= quietest)
		return false;
	quietest = ticks;
	return true;
}

static void measure(struct hp_local *me, struct hp_header *header)
{
	struct kind kinds[3] = { { .plain = empty_plain, .hooked = empty_hooked },
				 { .plain = waiting_plain, .hooked = waiting_hooked },
				 { .plain = busy_plain, .hooked = busy_hooked } };

	me->clock_cost = header->cost_clock = clock_cost(me);
	measure_kinds(me, kinds, 3);
	if (!is_quietest(kinds))
		return;
	conclude(header, kinds);
	me->inside_sampled = header->cost_inside_sampled >> HP_FINE_BITS;
	me->less_sampled = header->cost_less_sampled >> HP_FINE_BITS;
	me->gap = me->countdown = INT32_MAX;
	round_ticks(me, empty_hooked);
	hp_truth_settle();
}

/* All signals are blocked, so that no handler's calls are lost; then the mask is restored. */
static void signals_hold(uint64_t *before)
{
	uint64_t all = UINT64_MAX;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, before, sizeof(all));
}

static void signals_release(const uint64_t *before)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, before, NULL, sizeof(*before));
}

static void calibrate(struct hp_header *header)
{
	struct hp_local *before = hp_local();
	struct hp_local *me = hp_pages(HP_PAGE);
	char *room = hp_pages(HP_ROOM);
	int saved = errno;
	uint64_t mask;

	signals_hold(&mask);
	if (me && room && prepare(me, room, header)) {
		hp_local_set(me);
		measure(me, header);
		hp_local_set(before);
		hp_row_release(me);
	}
	signals_release(&mask);
	if (me)
		hp_pages_release(me, HP_PAGE);
	if (room)
		hp_pages_release(room, HP_ROOM);
	errno = saved;
}

/* One thread of a process at a time. */
static _Atomic int is_running;
static uint64_t last_ns;
static uint32_t repeats;

void hp_calibrate_first(struct hp_header *header)
{
	if (__atomic_load_n(&header->cost_timed, __ATOMIC_ACQUIRE) ||
	    atomic_exchange(&is_running, 1))
		return;
	calibrate(header);
	last_ns = hp_clock_raw_ns();
	atomic_store(&is_running, 0);
}

void hp_calibrate_again(struct hp_header *header)
{
	uint64_t now = hp_clock_raw_ns();

	if (hp_is_confined() || repeats >= HP_REPEATS || now - last_ns < HP_REPEAT_NS << repeats ||
	    atomic_exchange(&is_running, 1))
		return;
	repeats++;
	calibrate(header);
	last_ns = now;
	atomic_store(&is_running, 0);
}
