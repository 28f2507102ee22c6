/* SPDX-License-Identifier: MIT */
/*
 * call.h - calls of functions: blocks, shadow stacks, rows, histograms.
 *
 * See header.h for the terms and common rules.
 */
#ifndef HP_SEGMENT_LAYOUT_CALL_H
#define HP_SEGMENT_LAYOUT_CALL_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "segment/layout/header.h"

struct hp_block {
	uint64_t next;	/* set once */
	uint64_t process;	/* set once: offset of hp_process */
	_Atomic uint32_t state;	/* enum hp_state: taken by compare-exchange, freed by its thread */
	uint32_t tid;	/* its thread (present or last) */
	uint32_t pid;	/* its thread: process that took it */
	uint32_t threads;	/* its thread: how many have used this block */
	_Atomic uint64_t functions;	/* its thread: head of the list of hp_function */
	_Atomic uint64_t rows;	/* its thread: head of the list of hp_row */
	uint64_t start_ticks;	/* its thread */
	uint64_t end_ticks;	/* its thread; 0 = runs */

	uint64_t row_count;	/* its thread */
	uint64_t unwound;	/* its thread: calls left by longjmp, exception or the thread's end */
	uint64_t unpaired;	/* its thread: exits without their entry */
	uint64_t untimed_signal;	/* its thread: calls of signal handlers inside our slow path: counted, not timed */
	uint64_t folded_rows;	/* its thread: calls charged to a flat row because the tree was full */
	uint64_t folded_functions;	/* its thread: calls charged to `<other>` because the segment was full */
	uint64_t stacks;	/* its thread: stacks seen besides its own (coroutines, sigaltstack) */
	uint64_t overhead;	/* its thread: its hook cost, fine ticks */

	uint64_t root;	/* set once: offset of the row without function, parent of all */
	uint64_t base;	/* its thread: where the segment is mapped in `pid`; addresses in frames count from there */
	_Atomic uint64_t parts;	/* its thread: head of the list of hp_part */
	uint64_t cpu_ns;	/* its thread, when it ends: of the ended ones */
	uint64_t arena;	/* its thread: free part of its newest chunk, zeroed */
	uint64_t arena_end;	/* its thread: and its end */
	uint64_t row_arena;	/* its thread: the same for the newest chunk of rows */
	uint64_t row_arena_end;
};

/*
 * A call in progress, in the shadow stack of its thread. A reader
 * distinguishes the live frames of a part from stale ones above them by
 * hp_function.active: from the second frame up, each subtracts one from the
 * count of its function, and the first that finds 0 is not live.
 */
struct hp_frame {
	uint64_t row;	/* owner: address of its hp_row in the owner's process */
	uint64_t cfa;	/* owner: stack pointer before the call of the entry hook; odd = tagged or no call */
	uint64_t child;	/* owner: time in callees so far, fine ticks, measured or estimated */
	uint64_t weight;	/* owner: 0 = counted only, 1 = timed, else sampled; with HP_WEIGHT_RESULT, _TALLY */
	uint64_t start;	/* owner: ticks - (hp_block.overhead >> HP_FINE_BITS) at the entry, if weight != 0 */
	uint64_t reserved[1];
	uint64_t tally;	/* owner: with HP_WEIGHT_TALLY: address of its hp_tally in the owner's process */
	uint64_t result;	/* owner: with HP_WEIGHT_RESULT: number of its hp_result */
};

/* In hp_frame.weight: the call has a result. So its end takes the slow path, which handles them. */
#define HP_WEIGHT_RESULT (UINT64_C(1) << 63)

/* The same: it allocated, or a callee did. */
#define HP_WEIGHT_TALLY (UINT64_C(1) << 62)

/* The same: its calls are sampled, and this one was timed in addition, after an event (hp_gaps). */
#define HP_WEIGHT_BOOST (UINT64_C(1) << 61)
#define HP_WEIGHT_FLAGS (HP_WEIGHT_RESULT | HP_WEIGHT_TALLY)

/* Allocations so far of a running call. */
struct hp_tally {
	uint64_t bytes;	/* owner: without callees */
	uint64_t count;	/* owner: blocks */
	uint64_t below_bytes;	/* owner: by callees that have ended */
	uint64_t below_count;	/* owner */
	int64_t live;	/* owner: bytes that the thread held at the call's start, minus those it freed */
	int64_t live_most;	/* owner: the most since */
	int64_t blocks;	/* owner: the same in blocks */
	int64_t blocks_most;	/* owner */
};

/* Allocations of calls; the last two only with HOTPATH_ALLOC_METRIC=bytes-max or count-max. */
enum hp_charge_kind {
	HP_CHARGE_ALONE_BYTES = 0,	/* of calls whose callees allocated nothing */
	HP_CHARGE_ALONE_COUNT,	/* except those of one block: hp_charge.ones */
	HP_CHARGE_BYTES,	/* of the others: without callees */
	HP_CHARGE_COUNT,
	HP_CHARGE_WHOLE_BYTES,	/* of the others: callees included */
	HP_CHARGE_WHOLE_COUNT,
	HP_CHARGE_MAX_BYTES,	/* highest net of the thread since entry; calls above 0 */
	HP_CHARGE_MAX_COUNT,
	HP_CHARGE_KINDS
};

/* A histogram of these, without calls that have 0. */
struct hp_charge_spread {
	uint32_t groups
		[HP_GROUPS];	/* owner: offset / HP_LINE of each group of 64 uint64_t, 0 = no such value yet */
	uint32_t reserved;
	uint64_t least;	/* owner */
	uint64_t most;	/* owner */
};

/* Bytes allocated by the ended calls of a function. */
struct hp_charge {
	uint64_t ones;	/* owner: calls that allocated one block, and whose callees allocated nothing */
	uint64_t whole_bytes;	/* owner: outermost calls, callees included */
	uint64_t whole_count;	/* owner: blocks */
	uint64_t sums[HP_CHARGE_KINDS];	/* owner: over all calls, nested ones too */
	uint64_t most_bytes;	/* owner: highest net of a call */
	uint64_t most_count;	/* owner */
	uint32_t spreads[HP_CHARGE_KINDS];	/* owner: offset / HP_LINE of hp_charge_spread; 0 = none */
	uint32_t logs;	/* owner: offset / HP_LINE of logs_limit hp_spent, a ring; 0 = none */
	uint32_t log_next;	/* owner */
	uint32_t has_most;	/* owner: 1 = the net was tracked */
	uint32_t reserved0;
	uint64_t reserved[5];
};

/* A call that allocated. */
struct hp_spent {
	/* ticks at its thread's last clock reading, or slightly later; 0 = unused, or being
	 * written (seq.h) */
	uint64_t at;
	uint64_t bytes;
	uint64_t whole_bytes;
	uint32_t count;	/* UINT32_MAX = that or more */
	uint32_t whole_count;
	uint32_t tid;
	uint32_t reserved[3];
};

/*
 * Shadow stacks grow by parts.  The lowest frame of a part is not a call. It
 * represents the frames below it: its row is the parent of the calls, its cfa
 * the end of the stack or of the call below, plus 1.
 */
struct hp_part {
	uint64_t next;	/* set once: list of the block */
	uint64_t below;	/* owner: address of the part below; 0 = lowest of its stack */
	uint64_t above;	/* owner: address of the part above, kept for reuse; 0 = none yet */
	uint64_t resume;	/* owner: address of the frame after the last one of the part below */
	uint32_t capacity;	/* set once: frames */
	uint32_t user;	/* owner: hp_block.threads + 1 when the process that uses it took the block */
	uint32_t reserved[6];
	struct hp_frame frames[];
};

/* One of the last or slowest calls.  `ticks` 0 = never used. */
struct hp_call {
	uint64_t start;	/* ticks; 0 = unused, or being written (seq.h) */
	uint64_t ticks;	/* duration, our own cost subtracted, at least 1 */
	uint32_t tid;
	uint32_t result;	/* number of its hp_result in the function's ring; 0 = none */
};

/*
 * Results that calls of a function reported (HOTPATH_RESULT).  A ring: text n
 * is at place n % capacity until a later one replaces it; then `number`
 * differs.
 */
#define HP_RESULT_MAX 120

struct hp_result {
	uint32_t number;	/* owner: from 1 on; 0 = unused, or being written (seq.h) */
	uint32_t length;	/* owner */
	char bytes[HP_RESULT_MAX];	/* owner: not terminated */
};

struct hp_results {
	uint32_t capacity;	/* set once */
	uint32_t last;	/* owner: the highest number so far */
	uint64_t reserved[7];
	struct hp_result ring[];
};

/*
 * A counted call's data about its function: small, so that many fit into few
 * lines. With `one_in` set, one call in one_in * HP_SAMPLED is timed, at random,
 * and counts as many in the histogram.
 */
struct hp_gist {
	uint32_t active;	/* owner: calls of the function on the thread's stacks now */
	uint32_t one_in;	/* owner: 0 = every call is timed; else one in one_in * HP_SAMPLED is sampled */
	int32_t mean_self;	/* owner: mean own time of a sampled call, fine ticks */
	int32_t exit_delta;	/* owner: stack pointer at the exit hook - at the entry hook, of the last call */
};

/* A function of a block. */
struct hp_function {
	uint32_t gist;	/* set once: offset / 16 of its hp_gist */
	uint32_t logs;	/* set once: offset / HP_LINE of hp_call[hp_header.logs_limit], 0 = none */
	uint32_t recursive;	/* owner: not 0 = was entered while active; above 1: 1 + one_in of its nested calls */
	uint32_t log_next;	/* owner: next place in the ring of last calls */
	uint64_t usual_most;	/* owner: from `least` up to here, calls only add to counters that exist */
	uint64_t timed;	/* owner: calls timed while every call was */
	int64_t timed_self;	/* owner: their own time, fine ticks; callees may be estimated */
	uint64_t least;	/* owner: shortest measured duration, ticks */
	int64_t long_self;	/* owner: of timed_self, the part of calls too long to count as usual */
	uint32_t long_calls;	/* owner: their number */
	uint32_t followed;	/* owner: sampled calls included in mean_self, up to a limit */

	uint64_t next;	/* set once */
	uint64_t module;	/* set once: offset of hp_module; 0 = none contains it */
	uint64_t address;	/* set once: ELF address in the module's object; with module 0 the plain address */
	uint64_t fn;	/* owner: address in the process that owns the block now */
	uint64_t most;	/* owner: longest measured duration, ticks; 0 = none, and `least` is undefined */
	int32_t exit_delta_other;	/* owner: another exit_delta; HP_DELTA_NONE = not seen */
	int32_t outer_mean;	/* owner: if recursive, running mean of its outermost calls' duration, ticks */
	uint64_t carries;	/* owner: offset of uint32_t[HP_GROUP_SIZE]: as `groups`, the carries of the counters, in units of HP_CARRY; 0 = none */
	uint64_t slow_floor;	/* owner: calls up to this length are not among the slowest */

	uint32_t groups
		[HP_GROUPS];	/* owner: offset / HP_LINE of each group of 64 uint32_t, 0 = no such value yet */
	uint32_t label;	/* owner: offset / HP_LINE of its hp_label; 0 = none */
	uint32_t results;	/* owner: offset / HP_LINE of its hp_results; 0 = none */
	uint32_t charge;	/* owner: offset / HP_LINE of its hp_charge; 0 = none */
	uint32_t gaps;	/* owner: offset / HP_LINE of its first hp_gaps; 0 = none; of `<other>`: of the root row */
	uint32_t slow_least;	/* owner: since its calls are sampled, those this many ticks above the mean are the tail; 0 = written by an older library: 32 times the mean */
	struct hp_call slowest[HP_SLOWEST];	/* owner: unordered */
};

/*
 * Events: gaps between two clock readings that took much longer than their calls usually take,
 * by the excess (preload/call/gap.h). There is a record for each caller whose row is above all
 * calls of the gap. `mode`: the probability with which each of the gap's calls was timed.
 */
enum hp_gap_mode {
	HP_GAP_USUAL = 0,	/* as in hp_gist.one_in */
	HP_GAP_BOOST = 1,	/* one in 8 */
	HP_GAP_ALL = 2,	/* each */
	HP_GAP_MODES
};

#define HP_GAP_MIN \
	8	/* size 0 has excesses below 2^9 ticks, each further one those of twice as many */
#define HP_GAP_SIZES 32

struct hp_gap_size {
	uint64_t events;	/* owner */
	uint64_t ticks;	/* owner: their sum */
};

struct hp_gaps {
	uint32_t next;	/* set once: offset / HP_LINE; list of the caller's function */
	uint32_t row;	/* set once: offset / HP_LINE of the caller's hp_row */
	uint64_t events[HP_GAP_MODES];	/* owner */
	uint64_t ticks[HP_GAP_MODES];	/* owner: their excess */
	uint32_t longest;	/* owner: offset / HP_LINE of its hp_long_gap[HP_LONG_GAPS]; 0 = none */
	uint32_t reserved;
	struct hp_gap_size sizes[HP_GAP_SIZES];	/* owner: of the modes except HP_GAP_ALL */
};

/* The longest events of a record, except those of HP_GAP_ALL: CPU samples in them tell whose they are. */
#define HP_LONG_GAPS 64
#define HP_LONG_GAP_CLOCKS 4096	/* clock readings: the shortest excess that is recorded here */

struct hp_long_gap {
	uint64_t excess;	/* owner: ticks; 0 = unused, or being written */
	uint64_t start;	/* owner: ticks */
	uint64_t ticks;	/* owner: its length */
	uint32_t tid;	/* owner */
	uint32_t reserved;
};

/*
 * A row of the tree.  "Outer" calls are those during which the function is not
 * on the stack already; only they add to inclusive time.  Calls come in three
 * kinds: timed (while every call of the function was); sampled (picked at
 * random among the rest); and the others, which are only counted.
 *
 *   own time       = self_timed
 *                    + (calls - timed - nested) * self_sampled / (sampled - tail_count)
 *   inclusive time = outer_timed + below
 *                    + (calls - timed - nested) * self_sampled / (sampled - tail_count)
 *
 * Durations are ticks with the cost of our own hooks subtracted.  Besides the
 * function's hp_gist, the first line is all that a usual call touches.
 */
struct hp_row {
	uint64_t calls;	/* owner */
	uint64_t fn;	/* owner's process: code address of the function in it; an address that no code has = gone */
	uint32_t above;	/* owner: number of `parent` in its process (preload/call/row.h) */
	uint32_t function_near;	/* owner: the same as `function`, for timed calls */
	uint64_t gist_at;	/* owner: address of the function's hp_gist there */
	int64_t below;	/* owner: time in callees, of the outer calls that are not `timed`, fine ticks */
	uint64_t timed;	/* owner: calls timed when all were */
	int64_t self_timed;	/* owner: own time of the timed and the nested ones, fine ticks; may be estimated */
	int64_t outer_timed;	/* owner: inclusive time of those timed that were outer */

	uint32_t function;	/* set once: offset / HP_LINE of hp_function; 0 = the root row */
	uint32_t parent;	/* set once: offset / HP_LINE of hp_row; 0 = none */
	uint32_t next;	/* set once: offset / HP_LINE; list of the block */
	uint32_t tail_count;	/* owner: sampled calls far above the mean, modulo 2^32: kept separately, */
	uint64_t tail_ticks;	/* owner: since one observed stall must not be multiplied */
	uint64_t nested;	/* owner: calls during which the function was active, not timed */
	uint64_t sampled;	/* owner: outer calls timed by sampling */
	int64_t self_sampled;	/* owner: their own time, tail excluded, fine ticks */
	double square_sampled;	/* owner: sum of squares of the same, ticks squared */
	uint64_t tail_carry;	/* owner: how often tail_count wrapped */
};

static_assert(sizeof(double) == 8, "format: square_sampled is an IEEE double");
static_assert(sizeof(struct hp_block) == 192, "format: readers rely on it");
static_assert(sizeof(struct hp_frame) == HP_LINE, "an index is a shift");
static_assert(sizeof(struct hp_part) == HP_LINE, "format: readers rely on it");
static_assert(sizeof(struct hp_call) == 24, "format: readers rely on it");
static_assert(offsetof(struct hp_function, next) == 64, "what timed calls touch is in one line");
static_assert(sizeof(struct hp_result) == 128, "format: readers rely on it");
static_assert(sizeof(struct hp_results) == HP_LINE, "format: readers rely on it");
static_assert(sizeof(struct hp_gist) == 16, "format: readers rely on it");
static_assert(sizeof(struct hp_function) == 576, "format: readers rely on it");
static_assert(sizeof(struct hp_gaps) == 576, "format: readers rely on it");
static_assert(sizeof(struct hp_long_gap) == 32, "format: readers rely on it");
static_assert(sizeof(struct hp_tally) == HP_LINE, "format: readers rely on it");
static_assert(sizeof(struct hp_charge_spread) == 256, "format: readers rely on it");
static_assert(sizeof(struct hp_charge) == 192, "format: readers rely on it");
static_assert(sizeof(struct hp_spent) == 48, "format: readers rely on it");
static_assert(sizeof(struct hp_row) == 128, "format: readers rely on it");
static_assert(offsetof(struct hp_row, function) == 64, "one line is all a usual call touches");

#endif
