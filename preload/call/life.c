/* SPDX-License-Identifier: MIT */
/*
 * life.c - a thread's states: unborn, open, closed.
 */
#include "preload/call/local.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/call/calibrate.h"
#include "preload/call/clock.h"
#include "preload/call/cost.h"
#include "preload/call/leave.h"
#include "preload/call/row.h"
#include "preload/call/stack.h"
#include "preload/call/switch.h"
#include "preload/guest/above.h"
#include "preload/guest/begin.h"
#include "preload/guest/bulky.h"
#include "preload/guest/confine.h"
#include "preload/guest/early.h"
#include "preload/guest/pages.h"
#include "preload/guest/record.h"
#include "preload/guest/self.h"
#include "preload/guest/free_list.h"
#include "preload/guest/ticks.h"
#include "preload/guest/tid.h"
#include "preload/thread/level.h"
#include "preload/thread/end.h"
#include "preload/thread/process.h"
#include "preload/thread/state.h"
#include "util/count.h"
#include "util/hash.h"

/* Threads that cannot record point here, for good. */
HP_BULKY_DATA static struct hp_local closed = { .state = HP_THREAD_CLOSED };
HP_BULKY_DATA static struct hp_local lost = { .state = HP_THREAD_LOST };
/* One that may not read the clock. */
HP_BULKY_DATA static struct hp_local silent = { .state = HP_THREAD_CLOSED };

/* The thread that is just being opened: hooks of its signal handlers do nothing. */
HP_BULKY_DATA static struct hp_local opening = { .state = HP_THREAD_CLOSED };

static int end_number = -1;	/* of preload/thread/end.h */

static void configure(struct hp_local *me)
{
	const struct hp_header *header = hp_segment.header;

	me->base = (char *)hp_segment.header;
	me->is_exact = header->timing == HP_TIMING_EXACT;
	me->look_mask = (me->is_exact ? HP_LOOK_EXACT : HP_LOOK_EVERY) - 1;
	me->slow_clock = header->clock_kind == HP_CLOCK_MONOTONIC_RAW;
	me->logs_limit = header->logs_limit;
	hp_cost_take(me);
}

/* The thread's own state, needed for a new or a reused block and tables. */
static void identify(struct hp_local *me)
{
	struct hp_block *block = me->block;

	me->tid = hp_tid();
	me->drops = __atomic_load_n(&hp_drops, __ATOMIC_RELAXED);
	me->random = (uint64_t)me->tid * HP_HASH_GOLDEN ^ hp_clock(me);
	if (me->gap == 0)
		me->gap = me->countdown = HP_SAMPLED - 1;
	me->last_clock = hp_clock(me);
	hp_switch_init(me);
	block->tid = me->tid;
	block->pid = hp_self->pid;
	block->base = (uintptr_t)me->base;
	hp_count_up(&block->threads);
	block->start_ticks = hp_clock(me);
	block->end_ticks = 0;
	atomic_fetch_add_explicit(&hp_segment.header->threads_seen, 1, memory_order_relaxed);
}

static struct hp_records records(void)
{
	return (struct hp_records)HP_RECORDS(&hp_self->ended_blocks, &hp_self->locals,
					     struct hp_block, struct hp_local, block);
}

HP_RECORD_CHECK(struct hp_block);

static struct hp_local *local_new(const struct hp_records *kind, struct hp_block *block,
				  uintptr_t cfa)
{
	struct hp_local *me = hp_part_wiped(sizeof(*me));

	if (!me)
		return NULL;
	me->block = block;
	me->late_counter = &me->no_counter;
	configure(me);
	me->state = HP_THREAD_BUSY;
	me->overhead = block->overhead;
	me->user = block->threads + 1;
	me->arena = block->arena ? me->base + block->arena : NULL;
	me->arena_end = block->arena ? me->base + block->arena_end : NULL;
	me->row_arena = block->row_arena ? me->base + block->row_arena : NULL;
	me->row_arena_end = block->row_arena ? me->base + block->row_arena_end : NULL;
	if (!hp_row_init(me) || !hp_stack_init(me, cfa))
		return NULL;
	hp_record_add(kind, me);
	return me;
}

static struct hp_local *local_get(uintptr_t cfa)
{
	const struct hp_records kind = records();
	void *user;
	struct hp_block *block = hp_record_get(&kind, &hp_self->process->blocks, &user);
	struct hp_local *me = user;

	if (!block)
		return NULL;
	if (!me) {
		me = local_new(&kind, block, cfa);
		if (!me)
			hp_record_give(&kind, block, NULL);
		return me;
	}
	hp_stack_move(me, cfa);
	return me;
}

/* Has the thread closed when it ends. */
static void key_set(struct hp_local *me)
{
	me->end_rounds = 0;
	hp_end_watch(end_number, me);
}

bool hp_local_open(uintptr_t cfa)
{
	struct hp_local *me = NULL;
	bool is_wanted;

	if (hp_is_early())
		return false;
	if (hp_ticks_are_forbidden()) {
		hp_local_set(&silent);
		return false;
	}
	hp_local_set(&opening);
	is_wanted = hp_start();
	if (is_wanted && hp_self_open()) {
		hp_calibrate_first(hp_segment.header);
		hp_local_set(&opening);
		me = local_get(cfa);
	}
	if (!me) {
		if (is_wanted)
			atomic_fetch_add_explicit(&hp_segment.header->lost_threads, 1,
						  memory_order_relaxed);
		hp_local_set(is_wanted ? &lost : &closed);
		return false;
	}
	identify(me);
	key_set(me);
	me->state = HP_THREAD_OPEN;
	atomic_signal_fence(memory_order_seq_cst);
	me->limit = me->open_limit;
	atomic_signal_fence(memory_order_seq_cst);
	hp_local_set(me);
	HP_ABOVE(bind, me);
	return true;
}

void hp_local_forsake(struct hp_local *me)
{
	(void)me;
	HP_ABOVE(bind, NULL);
	hp_local_set(&hp_unborn);
}

void hp_local_close(struct hp_local *me)
{
	const struct hp_records kind = records();
	struct timespec cpu;

	if (me->state == HP_THREAD_BUSY)
		hp_leave_recover(me);	/* pthread_exit in a handler, or cancelled */
	if (me->state != HP_THREAD_OPEN)
		return;
	hp_gate_shut(me);
	hp_leave_all(me);
	hp_switch_release(me);
	HP_ABOVE(bind, NULL);
	hp_local_set(&hp_unborn);
	if (!hp_is_confined() && clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) == 0)
		me->block->cpu_ns += (uint64_t)cpu.tv_sec * 1000000000 + (uint64_t)cpu.tv_nsec;
	me->block->overhead = me->overhead;
	me->block->end_ticks = hp_clock(me);
	hp_record_give(&kind, me->block, me);
}

/* --- events of the process --- */

/*
 * Destructors of other keys may run instrumented code, so ours asks to be
 * called again until the last round.
 */
static void thread_end(void *data)
{
	struct hp_local *me = data;

	if (me != hp_local())
		return;
	if (++me->end_rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
		hp_end_watch(end_number, me);
	else
		hp_local_close(me);
}

static void find(void)
{
	HP_EARLY_FIND(local);
}

static void started(void)
{
	end_number = hp_end_new(thread_end);
}

static void blocks_free(struct hp_process *process)
{
	struct hp_block *block;

	for (uint64_t i = atomic_load(&process->blocks); i; i = block->next) {
		block = (struct hp_block *)((char *)hp_segment.header + i);
		if (!block->end_ticks)
			block->end_ticks = process->end_ticks;
		atomic_store_explicit(&block->state, HP_FREE, memory_order_release);
	}
}

static void forget(uintptr_t begin, uintptr_t end)
{
	struct hp_local *me = atomic_load_explicit(&hp_self->locals, memory_order_acquire);

	for (; me; me = me->next)
		hp_row_forget(me, begin, end);
}

static void leave(void)
{
	if (hp_local()->state == HP_THREAD_OPEN)
		hp_local_close(hp_local());
}

static void silence(bool is_silent)
{
	if (is_silent)
		leave();
	if (is_silent && hp_local()->state == HP_THREAD_BUSY)
		hp_local()->slow_clock = 1;	/* a signal handler, in our own slow path */
	else if (is_silent && hp_local()->state == HP_THREAD_UNBORN)
		hp_local_set(&silent);
	else if (!is_silent && hp_local() == &silent)
		hp_local_set(&hp_unborn);
}

/* Each thread's next hook takes the slow path, which checks. */
static void dropped(void)
{
	struct hp_local *me = hp_self_before ? atomic_load(&hp_self_before->locals) : NULL;

	for (; me; me = me->next)
		__atomic_store_n(&me->switch_word, &me->always_zero, __ATOMIC_RELAXED);
	if (hp_local() == &lost)
		hp_local_set(&hp_unborn);
}

static bool is_left(const struct hp_process *process)
{
	const struct hp_block *block;

	for (uint64_t i = atomic_load(&process->blocks); i; i = block->next) {
		block = (const struct hp_block *)((char *)hp_segment.header + i);
		if (atomic_load_explicit(&block->state, memory_order_acquire) != HP_FREE)
			return false;
	}
	return true;
}

const struct hp_recorder hp_call_recorder = {
	.find = find,
	.started = started,
	.free = blocks_free,
	.forget = forget,
	.silence = silence,
	.dropped = dropped,
	.leave = leave,
	.is_left = is_left,
};
