/* SPDX-License-Identifier: MIT */
/*
 * lock.h - locks, the threads that wait for them, and their holders.
 *
 * See header.h for the terms and common rules.
 */
#ifndef HP_SEGMENT_LAYOUT_LOCK_H
#define HP_SEGMENT_LAYOUT_LOCK_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "segment/layout/header.h"

/* A process's locks. */
struct hp_lockset {
	_Atomic uint64_t locks;	/* its threads: head of the list of hp_lock */
	_Atomic uint64_t waiters;	/* its threads: head of the list of hp_waiter */
	_Atomic uint64_t lost;	/* its threads: acquisitions without room for a record */
	_Atomic uint64_t channels;	/* its threads: head of the list of hp_channel */
	_Atomic uint64_t lost_channels;	/* its threads: objects without room for a record */
	_Atomic uint64_t threads;	/* its threads: head of the list of hp_thread */
	_Atomic uint64_t
		thread_count;	/* its threads: number of created ones, also beyond HP_THREADS_MAX */
	_Atomic uint64_t names;	/* its threads: head of the list of hp_thread_name */
};

enum hp_lock_kind {
	HP_LOCK_MUTEX = 1,
	HP_LOCK_RWLOCK = 2,
	HP_LOCK_SPIN = 3,
	HP_LOCK_COND = 4,
	HP_LOCK_SEM = 5,
	HP_LOCK_BARRIER = 6,
	HP_LOCK_ONCE = 7,
	HP_LOCK_THREAD = 8,	/* pthread_join and related functions */
	HP_LOCK_FILE = 9,	/* flock, lockf, fcntl: waits and counts, no holds */
	HP_LOCK_STREAM = 10,	/* flockfile */
	HP_LOCK_GMUTEX = 11,	/* GLib's; their sides are as above */
	HP_LOCK_GRECMUTEX = 12,
	HP_LOCK_GRWLOCK = 13,
	HP_LOCK_GCOND = 14,
	HP_LOCK_CHANNEL =
		15,	/* waits for a message, or for room: `address` is the offset of a hp_channel */
	HP_LOCK_KINDS
};

/*
 * A lock is identified by its address if that is in an object (a static one),
 * else by its label, else by its site, the place that created it or used it
 * first, and a number.
 */
struct hp_lock {
	uint64_t next;	/* set once */
	uint32_t kind;	/* set once: enum hp_lock_kind */
	uint32_t number;	/* set once: its number at its site, from 0; or HP_LOCK_MORE, HP_LOCK_STATIC */
	uint64_t module;	/* set once: offset of the hp_module that `address` is in; 0 = none */
	uint64_t address;	/* set once: ELF address with a module; else the address of the first one, for display */
	uint64_t site_module;	/* set once: the same for the code that created it or used it first; 0 = none */
	uint64_t site_address;	/* set once: a return address */
	uint32_t is_made;	/* set once: 0 = the site used it first; else HP_LOCK_MADE, HP_LOCK_ALLOCATED */
	uint32_t owner;	/* any thread of the process that last took it: hp_process.folded at that time, plus 1 */
	_Atomic uint64_t objects;	/* any thread: how many objects this is */

	_Atomic uint64_t signalled;	/* any thread: ticks of the last signal to a waiter */
	_Atomic uint64_t waiting;	/* any thread: how many wait now; conditions, semaphores */
	uint64_t label;	/* set once: offset of a hp_text; the program's name for it, a file's path; 0 = none */
	_Atomic uint64_t
		answer;	/* holder that was asked; the next holder reads it: see preload/lock/path.c */
	uint32_t inside;	/* set once: bytes from the start of its heap block, plus 1; 0 = not known */
	uint32_t block;	/* set once: with `inside`, the bytes that were requested for that block; 0 = not known */
	uint32_t reserved[6];
};

#define HP_LOCK_INSIDE_MAX 2047	/* bytes from the block's start; for others `inside` is 0 */

#define HP_LOCK_MADE 1	/* the site created it */
#define HP_LOCK_ALLOCATED 2	/* the site allocated the memory block that contains it */

#define HP_LOCK_MORE UINT32_MAX	/* all further ones of its site */
#define HP_LOCK_STATIC (UINT32_MAX - 1)	/* the one at `address` in `module` */
#define HP_LOCK_LABEL (UINT32_MAX - 2)	/* all that have its `label` */
#define HP_LOCK_OF_CHANNEL (UINT32_MAX - 3)	/* one way of a channel */

/* A thread's use of a lock; each side is its own use. */
enum hp_lock_side {
	HP_SIDE_ONLY = 0,	/* locks it, waits for it */
	HP_SIDE_READ = 1,	/* of a rwlock, a file; receives from a channel that is empty */
	HP_SIDE_WRITE = 2,	/* sends into a channel that is full */
	HP_SIDE_POST = 3,	/* signals a condition, posts a semaphore: `count` only */
	HP_SIDES
};

/*
 * A lock that the thread holds. With start = 0 nothing after it must be read.
 *
 * No seq.h here: those above a lock that is released move down, and that is done for each
 * lock of the program.  A reader of a thread that continues takes each word for itself,
 * and may find a lock twice or with the next one's place.
 */
struct hp_held {
	_Atomic uint64_t address;	/* owner: of the lock, in its process; 0 = none, nor above */
	uint64_t use;	/* owner: address of the hp_use there */
	uint64_t at;	/* owner: return address of the call that acquired it */
	uint32_t depth;	/* owner: how often it was locked again, recursively */
	uint32_t asked;	/* waiters, the sampler, the owner: HP_ASKED bits; the owner takes them back at the release */
	uint64_t start;	/* owner: ticks when it was acquired; 0 = this hold is not timed */
	uint64_t waited;	/* owner: ticks that acquiring it took; 0 = it was free */
	uint64_t contest;	/* owner: address of the hp_contest; 0 = none */
	uint32_t weight;	/* owner: a timed hold stands for this many */
	uint32_t reserved;
};

#define HP_HELD_MAX 32

#define HP_ASKED_PATH 1	/* say by which path the lock is released */
#define HP_ASKED_END 2	/* read the clock at the release: see hp_mark */

/*
 * The earliest time at which an untimed hold is known to have been in progress, at the same
 * index as its hp_held. When a hold is released, those above it move down and their marks do
 * not, so each mark names its hold (segment/mark.h).
 */
struct hp_mark {
	_Atomic uint64_t
		since;	/* a waiter, or the owner before it waits itself: hp_mark_word; 0 = none */
	uint64_t seen_at;	/* sampler: ticks of the scan that saw it first */
	_Atomic uint64_t seen;	/* sampler: hp_seen_word; 0 = none, or it is being written */
};

/* A thread's waits, as sums. */
enum hp_wait_class {
	HP_WAIT_LOCK = 0,	/* an object with an owner: mutexes, rwlocks, ... */
	HP_WAIT_SIGNAL = 1,	/* conditions, semaphores, barriers */
	HP_WAIT_THREAD = 2,	/* the end of a thread */
	HP_WAIT_FILE = 3,	/* locks on files */
	HP_WAIT_CLASSES
};

struct hp_waiter {
	uint64_t next;	/* set once */
	uint64_t process;	/* set once: offset of hp_process */
	_Atomic uint32_t state;	/* enum hp_state: as hp_block.state */
	uint32_t tid;	/* its thread (current or last) */
	uint32_t pid;	/* its thread: process that claimed it */
	uint32_t threads;	/* its thread: how many have used it so far */
	_Atomic uint64_t uses;	/* its thread: head of the list of hp_use */
	_Atomic uint64_t contests;	/* its thread: head of the list of hp_contest */
	uint64_t arena;	/* its thread: free part of its newest chunk, zeroed */
	uint64_t arena_end;	/* its thread: and its end */

	/* The current wait: its version is `since`. */
	uint64_t since;	/* its thread: ticks; 0 = it does not wait, or is being written (seq.h) */
	uint64_t lock;	/* its thread: offset of the hp_lock */
	uint64_t at;	/* its thread: return address of the call that waits */
	uint64_t base;	/* its thread: where the segment is mapped in `pid` */
	uint64_t address;	/* its thread: of the lock, in its process */
	uint32_t holder;	/* its thread: tid of the thread that held the lock; 0 = unknown */
	uint32_t side;	/* its thread: enum hp_lock_side */
	_Atomic uint64_t orders;	/* its thread: head of the list of hp_order */
	uint32_t untold;	/* its thread: acquisitions whose hold is unknown: more than HP_HELD_MAX at once; UINT32_MAX = that or more */
	uint32_t path;	/* its thread: of the current wait: id of the hp_step, our functions included; 0 = unknown */

	uint64_t waited[HP_WAIT_CLASSES];	/* its thread: ticks, of waits that have ended */
	uint64_t waited_before[HP_WAIT_CLASSES];	/* its thread: the same when it claimed the waiter */

	struct hp_held held[HP_HELD_MAX];	/* its thread: in the order in which it acquired them */

	/* Segments of earlier versions end here. */
	_Atomic uint64_t samples;	/* its thread: holds sampled at random, of all locks */
	_Atomic uint64_t spans;	/* its thread: newest hp_span_chunk; 0 = none */
	uint64_t reserved[6];
	struct hp_mark marks[HP_HELD_MAX];
};

/*
 * Holds are of two kinds: each was timed, or one of HP_LOCK_SAMPLED at random.
 * After HP_LOCK_OFTEN acquisitions one of HP_LOCK_RARE is sampled, and counts
 * HP_LOCK_RARE / HP_LOCK_SAMPLED times, also its duration.  hp_spread.rare
 * tells how many did.  Knowledge about the others is in hp_hold_sums; FORMAT.md says
 * how the time held follows.
 *
 * Objects without holders have no holds.  For a condition, `timed` and its sums
 * are from a signal to the return of a wait, and `failed` are returns without a
 * signal.
 */
struct hp_use {
	uint64_t count;	/* owner: acquisitions */
	uint64_t next_timed;	/* owner: the hold of the acquisition with this number is timed */
	uint64_t contended;	/* owner: acquisitions that found it held, and have ended */
	uint64_t wait_ticks;	/* owner: their time */
	uint64_t wait_most;	/* owner: the longest of these */
	uint64_t timed;	/* owner: holds timed while each was, or after a wait */
	uint64_t timed_ticks;	/* owner */
	uint64_t sampled;	/* owner: holds sampled at random, a rare one as several */

	uint64_t sampled_ticks;	/* owner */
	uint64_t hold_most;	/* owner: the longest timed */
	uint64_t failed;	/* owner: tries that found it held */
	uint32_t timeouts;	/* owner; UINT32_MAX = that or more */
	uint32_t is_sampled;	/* owner: 1 = holds are timed at random now */
	uint32_t waits;	/* owner: offset / HP_LINE of hp_spread of the waits; 0 = none, see HP_FEW */
	uint32_t holds;	/* owner: the same of the holds */
	uint32_t side;	/* set once: enum hp_lock_side */
	uint32_t mean;	/* owner: running mean of timed holds, ticks */
	uint64_t next;	/* set once */
	uint64_t lock;	/* set once: offset of hp_lock */
};

/*
 * One or two values follow from their number, sum and maximum, so there is no histogram before the
 * third: the waits from `contended`, the holds from `timed`, if none was sampled.
 */
#define HP_FEW 2

#define HP_LOCK_SAMPLED 16
#define HP_LOCK_RARE 64
#define HP_LOCK_OFTEN 65536

/* One lock was acquired, not only tried, while another was held: the first time. */
struct hp_order {
	uint64_t next;	/* set once, as everything here */
	uint64_t held;	/* offset of the hp_use of the one that was held */
	uint64_t taken;	/* and of the other one */
	uint64_t held_module;	/* of the return address by which it had been acquired; 0 = none */
	uint64_t held_address;
	uint64_t taken_module;	/* the same of the call that acquired the other one */
	uint64_t taken_address;
	uint64_t reserved;
};

/* A histogram with counters that need no carries. */
struct hp_spread {
	uint32_t groups
		[HP_GROUPS];	/* owner: offset / HP_LINE of each group of 64 uint64_t, 0 = no such value yet */
	uint32_t rare;	/* owner: of holds: samples that stand for HP_LOCK_RARE each, modulo 2^32 */
	uint32_t rare_carry;	/* owner: times that it wrapped */
	uint32_t sums;	/* owner: of holds: offset / HP_LINE of the hp_hold_sums; 0 = none */
	uint32_t reserved[2];
};

/*
 * Knowledge about holds that weren't timed individually.  A hold's first part ends when it is
 * marked by its owner or a waiter, or with the hold itself; after that its time is known.  The
 * first parts' time up to HP_LOCK_SHORT is estimated from the sampled holds, and their time
 * beyond that from scans: each scan that finds a lock held, HP_LOCK_SHORT before that part's end
 * or earlier, stands for the time since the previous scan.
 */
struct hp_hold_sums {
	uint64_t each_ticks;	/* owner, as all here: sampled holds, a rare one once */
	uint64_t short_ticks;	/* sampled holds, a rare one as several: of each first part at most HP_LOCK_SHORT */
	uint64_t short_squares;	/* the sum of the squares, a rare one as several */
	uint64_t known;	/* holds that were not timed, but marked */
	uint64_t known_ticks;	/* their time after the first part */
	uint64_t hits;	/* first parts that a scan saw HP_LOCK_SHORT before their end, or earlier */
	uint64_t gap_ticks;	/* the gaps before these scans */
	uint64_t more_ticks;	/* as many whole gaps more as fit between such a scan and the part's end less HP_LOCK_SHORT */

	uint64_t tail_ticks;	/* from such a scan to there: certain */
	uint64_t least_most;	/* the longest hold of those that were marked: it took at least this */
	uint64_t most_most;	/* and none of these took longer than this */
	uint64_t looks;	/* gaps that were requested, one with each sampled hold */
	uint64_t looks_gaps;	/* their sum: the mean gap between two scans by then, weighted by its length */
	uint64_t looks_most;	/* the longest gap by then */
	uint64_t blind_ticks;	/* time in which holds were sampled and nobody scanned */
	uint64_t at;	/* end of the last hold that is in these sums */
};

#define HP_LOCK_SHORT 4096	/* ticks */

struct hp_contest {
	uint64_t next;	/* set once */
	uint64_t use;	/* set once: offset of hp_use of the waiter */
	uint64_t at_module;	/* set once: of the waiter's return address; 0 = none */
	uint64_t at_address;	/* set once */
	uint64_t row;	/* set once: offset of the waiter's hp_row; 0 = no instrumented function */
	uint64_t holder_module;	/* set once: of the return address of the call by which the holder acquired it; 0 = none */
	uint64_t holder_address;	/* set once; with holder_module 0: 0 = unknown */
	uint32_t holder;	/* set once: offset / HP_LINE of the holder's hp_waiter; 0 = unknown */
	uint32_t path;	/* set once: id of the waiter's hp_step, our functions included; 0 = unknown */

	uint64_t count;	/* owner */
	uint64_t ticks;	/* owner */
	uint64_t most;	/* owner */
	uint64_t most_start;	/* owner: ticks when the longest began */
	uint32_t from;	/* owner: id of the hp_step by which it was released in the longest one that knows; 0 = unknown */
	uint32_t from_waiter;	/* owner: offset / HP_LINE of the hp_waiter that released it then */
	uint64_t from_ticks;	/* owner: how long that wait was */
	uint64_t reserved[2];
};

/*
 * When a thread held a lock for long: what it did meanwhile follows from the samples and waits of
 * that time.
 */
struct hp_span {
	uint64_t start;	/* ticks: acquired, or known to be held by then */
	uint64_t end;	/* ticks: just before the release */
	uint64_t at;	/* return address of the call that acquired it */
	uint32_t use;	/* offset / HP_LINE of the hp_use */
	uint32_t tid;
};

#define HP_SPANS 6	/* few: thousands of threads may have one long hold each */
#define HP_SPAN_TICKS 16384	/* shorter holds are not here: a wait in them is hardly worth it */

/* The owner appends. A later chunk has a random one of `every` long holds. */
struct hp_span_chunk {
	uint64_t next;	/* set once: the previous chunk; 0 = none */
	_Atomic uint32_t count;	/* owner: spans in use */
	uint32_t every;	/* set once */
	uint32_t number;	/* set once: of the waiter's chunks, from 1 */
	uint32_t reserved[11];
	struct hp_span spans[HP_SPANS];
};

static_assert(sizeof(struct hp_span) == 32, "format: readers rely on it");
static_assert(sizeof(struct hp_span_chunk) == 256, "format: readers rely on it");
static_assert(sizeof(struct hp_lockset) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_lock) == 128, "format: readers rely on it");
static_assert(sizeof(struct hp_held) == 64, "format: readers rely on it");
static_assert(offsetof(struct hp_waiter, held) == 192, "format: readers rely on it");
static_assert(offsetof(struct hp_waiter, samples) == 2240, "format: readers rely on it");
static_assert(sizeof(struct hp_mark) == 24, "format: readers rely on it");
static_assert(sizeof(struct hp_hold_sums) == 128, "format: readers rely on it");
static_assert(sizeof(struct hp_use) == 128, "format: readers rely on it");
static_assert(offsetof(struct hp_use, sampled_ticks) == 64, "one line is all a usual lock touches");
static_assert(sizeof(struct hp_order) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_spread) == 256, "format: readers rely on it");
static_assert(sizeof(struct hp_contest) == 128, "format: readers rely on it");

#endif
