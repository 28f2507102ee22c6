/* SPDX-License-Identifier: MIT */
/*
 * local.h - a thread's own state.
 *
 * `hp_local` is the only thread-local variable of the library: 8 bytes of
 * initial-exec TLS that point to a struct hp_local.  Until a thread has its
 * own, it points to `hp_unborn`, a constant in which `limit` is 0.
 *
 * `limit` is the gate.  While the thread records, it is the end of its shadow
 * frames; in every other state it is 0, so that the one comparison that the
 * hooks need anyway covers every reason not to record: unborn, busy (inside our own
 * slow path), closed.  And forked: the struct lies in a MADV_WIPEONFORK page,
 * so in any child, even of _Fork() and raw clone(), it reads as zeroes.
 *
 * Only the thread itself writes here, and its signal handlers, which run our
 * hooks too: they may interrupt any hook between two instructions.  A handler
 * leaves `top`, `stack` and `limit` as it found them, unless it never returns.
 *
 * Folder: preload/call - calls of instrumented functions and blocks: the hooks, shadow stacks,
 *   the tree of calls, durations, and the cost of our own work.
 * May use: preload/thread preload/guest segment segment/layout util include
 */
#ifndef HP_PRELOAD_CALL_LOCAL_H
#define HP_PRELOAD_CALL_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/guest/above.h"
#include "preload/guest/early.h"
#include "preload/guest/guest.h"
#include "preload/guest/free_list.h"
#include "preload/thread/state.h"
#include "segment/layout/call.h"

/* The shadow of one machine stack: the thread's own, a coroutine's or a signal stack. */
struct hp_stack {
	struct hp_stack *next;
	struct hp_stack *from;	/* for a guest: the stack that was current before */
	uintptr_t low;	/* lowest address known to belong to this stack */
	uintptr_t high;	/* highest */
	uintptr_t first;	/* stack pointer of the first entry: calls above it are not known */
	struct hp_part *lowest;
	struct hp_part *part;	/* the highest in use */
	struct hp_frame *top;	/* while it is not the current one */
	struct hp_frame *limit;	/* the same */
	uint64_t left;	/* the same: ticks when it was left, without our cost; 0 = never */
};

/* Function address -> function of this block; the same shape, smaller. */
struct hp_known {
	uintptr_t fn;	/* 0 = empty */
	struct hp_function *function;
};

/* Calls of one function by signal handlers, while the gate was shut. */
struct hp_pending {
	_Atomic uintptr_t fn;	/* 0 = unused */
	_Atomic uint64_t calls;
};

#define HP_PENDING 32
#define HP_PACE_FIRST 12	/* gaps from which the first pace is taken */

/* The dummy for an entry's second work, see marginal.h. */
struct hp_dummy {
	struct hp_frame frame;
	struct hp_frame *top;
	uint64_t calls;
	uint64_t nested;
	int64_t self;
	uint32_t active;
	uint32_t countdown;
};

struct hp_local {
	/* The data of a counted call. */
	struct hp_frame *top;	/* the next call's frame */
	uintptr_t low;	/* of the current stack */
	struct hp_row **rows;	/* by (address of the parent row, function address); see row.h */
	uint64_t rows_last;	/* number of places - 1 */
	struct hp_frame *limit;	/* see above */
	uint32_t gap;	/* `countdown` when it was set */
	uint32_t countdown;	/* counted calls before the next one that is drawn */
	uint64_t *switch_word;	/* zero: the thread was preempted, see switch.h */
	uint32_t state;	/* enum hp_thread_state */
	uint32_t slow_clock;	/* the clock is not the TSC */

	uint64_t overhead;	/* hook cost so far, fine ticks, without the present gap */
	uint64_t cost_counted;	/* fine ticks */
	uint64_t cost_timed;	/* fine ticks */
	uint64_t inside_timed;	/* ticks that the hooks add to an empty call */
	uint64_t inside_sampled;
	int64_t less_timed;	/* the part of these ticks that 20 ns of work hide */
	int64_t less_sampled;
	uint64_t clock_cost;	/* of one reading, fine ticks */
	uint32_t is_exact;	/* every call is timed, always */
	uint32_t look_mask;	/* timed calls of a function between two checks, less 1 */
	uint64_t random;
	uint64_t last_clock;	/* ticks at the last reading, */
	uint64_t last_calls;	/* and calls_now() then */
	uint64_t slow_least;	/* ticks above `pace` that make a gap, or a call, an event: see gap.h */
	uint64_t calls;	/* calls that might have been sampled, except for the present gap */
	uint64_t pace_ticks;	/* before the last sampled call, since the clock was read, */
	int64_t pace_calls;	/* and calls in that time */
	uint64_t watch_start;	/* of the watched gap, see marginal.h: ticks, */
	uint64_t watch_calls;	/* `calls`, */
	uint64_t watch_overhead;	/* and `overhead` */
	uint64_t seen_ticks[2];	/* of gaps watched so far: with entries that worked once, and twice */
	uint64_t seen_calls[2];
	uint64_t seen_usual[2];	/* time of a call in the quick quarter of these gaps, fine ticks */
	uint64_t more_here;	/* cost of one more entry in these, fine ticks */
	uint32_t watched;	/* the present gap: 0 = not, 1 = it is, 2 = its entries work twice */
	uint64_t pace;	/* usual time of a counted call including its surroundings, fine ticks */
	uint64_t pace_far;	/* usual distance of a gap from that, ticks */
	uint64_t pace_first[HP_PACE_FIRST];	/* of the first gaps, in order */
	uint32_t pace_count;	/* their number */
	uint32_t boost_now;	/* calls still to be timed, all of them; and of those after them */
	uint32_t boost_later;
	uint32_t gap_mode;	/* of the present gap, enum hp_gap_mode; and of the one before */
	uint32_t ended_mode;
	uint32_t *late_counter;	/* of a histogram: one more is due, see exit_timed */
	uint32_t no_counter;	/* it points here at first */
	struct hp_frame *open_limit;	/* `limit` while busy */
	char *base;	/* of the segment */
	struct hp_stack *stack;	/* the current one */
	struct hp_stack *home;	/* the thread's own one; the others are guests */
	struct hp_stack *stacks;
	struct hp_stack *free_guests;	/* of guests that no longer have calls */
	uintptr_t hint_low;	/* machine stack of the context last switched to, if known */
	uintptr_t hint_high;
	struct hp_block *block;
	struct hp_tally *tallies;	/* free ones, see tally.h */
	uint64_t tally_ends;	/* calls that ended with one */
	uint64_t tally_cost;	/* of that, running mean, fine ticks */

	/* Slow paths only. */
	struct hp_local *next;	/* list of the process */
	struct hp_free_node ended;	/* on the stack of those whose threads have */
	char *arena;	/* free part of the newest chunk, in the segment */
	char *arena_end;
	char *row_arena;	/* the same for rows, which are adjacent to use fewer pages */
	char *row_arena_end;
	uint64_t row_chunk;	/* size of the next one */
	struct hp_gist *gists;	/* the free ones of the newest piece */
	struct hp_gist *gists_end;
	struct hp_function *other;	/* takes the calls when the segment is full */
	struct hp_row *other_row;
	struct hp_row *root;
	bool is_adopted;	/* the block holds records of an earlier process */
	struct hp_known *known;
	uint32_t known_shift;
	uint32_t known_count;
	uint32_t row_count;	/* places taken */
	struct hp_row *moving;	/* it may be in no place, see row.c; NULL = none */
	uint32_t tid;
	uint32_t user;	/* see hp_part.user */
	uint32_t leaves;	/* of slow exits, see hp_cost_renew */
	uint32_t end_rounds;	/* calls of the key's destructor so far */
	uint32_t logs_limit;
	uint32_t drops;	/* hp_drops when it was opened */
	uint64_t always_zero;	/* `switch_word` of an abandoned one */
	char *pool;	/* private memory for stacks, parts and the like */
	char *pool_end;

	/* Calls of signal handlers that interrupted a slow path: counted at its end. */
	uintptr_t shut_at;	/* stack pointer when the gate was shut */
	uint32_t pending_depth;	/* of those that have not returned */
	_Atomic uint32_t has_pending;
	_Atomic uint64_t pending_more;	/* of functions beyond these */
	struct hp_pending pending[HP_PENDING];
	struct hp_dummy dummy;
};

static_assert(HP_EARLY_ZERO(offsetof(struct hp_local, limit)), "see preload/guest/early.h");
static_assert(HP_EARLY_ZERO(offsetof(struct hp_local, state)), "the same");

HP_THREAD_POINTER(struct hp_local, local)

extern const struct hp_recorder hp_call_recorder;

/* The state of all threads that have not called a hook yet. */
extern struct hp_local hp_unborn;

/*
 * Gives the calling thread a struct hp_local and a block.  Starts the library
 * first if this is its first hook (constructors of other libraries run before
 * ours).  Returns false if the thread cannot record; then it is closed.
 */
bool hp_local_open(uintptr_t cfa);

/* A call of a thread that is LOST. */
void hp_local_count_lost(void);

/* The process has left the segment since the thread was opened, which starts again. */
void hp_local_forsake(struct hp_local *me);

/* The thread ends: its calls end, and its block is free for another thread. */
void hp_local_close(struct hp_local *me);

/*
 * Shuts the gate for a slow path: a signal handler's calls then wait in
 * `pending`. Slow paths do not count as the program's time. Returns false if a
 * caller has already shut it.
 */
static inline bool hp_gate_shut(struct hp_local *me)
{
	if (me->state != HP_THREAD_OPEN)
		return false;
	me->state = HP_THREAD_BUSY;
	atomic_signal_fence(memory_order_seq_cst);
	/* Slow paths need the true bound; see marginal.h. */
	if (me->watched) {
		me->watched = 0;
		me->low = me->stack->low;
	}
	me->shut_at = (uintptr_t)__builtin_frame_address(0);
	me->open_limit = me->limit;
	me->limit = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

/* `since`: the clock when it was shut. */
void hp_gate_open(struct hp_local *me, uint64_t since);

/* Private zeroed memory of this thread, never freed; NULL = none. */
void *hp_local_memory(struct hp_local *me, uint64_t size);

#endif
