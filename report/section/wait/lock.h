/* SPDX-License-Identifier: MIT */
/*
 * lock.h - the locks and waits in a segment, as plain structs.
 *
 * A lock here is the sum over all threads and processes: a static one by object
 * and address, others by the place that made them (or used them first) and a
 * number.  Times are ticks until they are shown.
 */
#ifndef HP_REPORT_SECTION_WAIT_LOCK_H
#define HP_REPORT_SECTION_WAIT_LOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/section/wait/lock_path.h"
#include "report/read/lock_sum.h"
#include "report/read/model.h"
#include "segment/layout/lock.h"

struct hp_lock_row {
	uint32_t kind;	/* enum hp_lock_kind */
	uint32_t number;	/* as in the segment */
	bool is_made;
	uint32_t inside;	/* as in the segment: bytes from the start of its block, plus 1; 0 = unknown */
	uint32_t offset;	/* of one created by its site, too; of the first of several */
	uint32_t block;	/* bytes of that block; 0 = not known */
	uint64_t objects;	/* how many this is */
	struct hp_lock_place at;	/* of a static one; else address 0 */
	struct hp_lock_place site;
	char *label;	/* the program's name for it, the path of a file; NULL = none */
	uint64_t channel;	/* of a HP_LOCK_CHANNEL: offset of its hp_channel */
	uint32_t channel_kind;	/* enum hp_channel_kind */
	bool is_found;	/* that channel was inherited */
	bool is_both;	/* of a semaphore: some thread both took from it and posted to it */
	uint32_t posting;	/* of a semaphore: number of the last waiter that posted; 0 = none */
	uint32_t taking;	/* and that took */
	struct hp_lock_sum sums[HP_SIDES];
};

/* Waits of one thread after the other (a waiter) for a lock at a place. */
struct hp_lock_contest {
	uint32_t lock;	/* place in rows */
	uint32_t side;
	uint32_t function;	/* of the instrumented call that waited: place in model->functions, or HP_NONE */
	uint32_t holder_tid;	/* in the longest wait; 0 = not known */
	struct hp_lock_place at;
	struct hp_lock_place holder;	/* the place where the holder acquired it */
	uint32_t path;	/* of the waiter: place in paths, or HP_NONE */
	uint32_t from;	/* that released it in the longest wait with a known one, or HP_NONE */
	uint32_t from_tid;	/* by this thread; 0 = not known */
	uint64_t from_ticks;	/* how long that wait was */
	uint64_t count;
	uint64_t ticks;
	uint64_t most;
	uint64_t most_start;	/* ticks when the longest began; 0 = not known */
	uint32_t pid;	/* the waiter's (last) thread */
	uint32_t tid;
	bool is_shared;	/* other threads used the waiter before */
};

/* A lock that a thread held at the end. */
struct hp_lock_hold {
	uint32_t lock;
	uint32_t pid;
	uint32_t tid;
	uint64_t address;
	struct hp_lock_place at;
	uint64_t start;	/* ticks; 0 = not known */
	uint64_t end;	/* ticks; of its process's record */
	bool is_left;	/* what the thread did later is in another record */
};

/* One long hold; it stands for `every` of its thread. */
struct hp_lock_span {
	uint32_t lock;
	uint32_t side;
	uint32_t pid;
	uint32_t tid;
	uint32_t every;
	struct hp_lock_place at;
	uint64_t start;	/* ticks */
	uint64_t end;
};

/* A wait that had not ended. */
struct hp_lock_wait {
	uint32_t lock;
	uint32_t side;
	uint32_t pid;
	uint32_t tid;
	uint32_t holder;	/* tid; 0 = not known */
	uint64_t address;
	struct hp_lock_place at;
	uint32_t path;	/* place in paths, or HP_NONE */
	uint64_t since;	/* ticks */
};

/* One lock was taken at a place while another one was held. */
struct hp_lock_order {
	uint32_t held;	/* places in rows */
	uint32_t taken;
	struct hp_lock_place held_at;
	struct hp_lock_place taken_at;
};

/* A thread at a barrier, or several in succession. */
struct hp_lock_party {
	uint32_t lock;	/* place in rows */
	uint32_t pid;
	uint32_t tid;	/* of the last */
	uint64_t count;	/* arrivals */
	uint64_t ticks;	/* waited there for the others */
};

/* The waits of a waiter's present or last thread. */
struct hp_lock_thread {
	uint32_t pid;
	uint32_t tid;
	uint64_t waited[HP_WAIT_CLASSES];	/* ticks; of waits that have ended */
	size_t contest_first;	/* its contests, in hp_locks.contests */
	size_t contest_end;	/* the same: not known, since other threads used the waiter before */
};

/* A thread's creator. */
struct hp_lock_birth {
	uint32_t pid;
	uint32_t tid;
	uint32_t maker;	/* tid */
	uint32_t path;	/* place in paths, or HP_NONE */
	struct hp_lock_place at;	/* of the call that made it */
	struct hp_lock_place routine;	/* its first function */
	uint64_t start;	/* ticks */
	uint64_t end;	/* 0 = in progress at the end */
	uint64_t cpu_ns;	/* with `end` */
};

struct hp_locks {
	struct hp_lock_paths paths;
	struct hp_lock_row *rows;
	size_t count;
	struct hp_lock_contest *contests;
	size_t contest_count;
	struct hp_lock_hold *holds;
	size_t hold_count;
	struct hp_lock_span *spans;
	size_t span_count;
	struct hp_lock_wait *waits;
	size_t wait_count;
	struct hp_lock_order *orders;	/* sorted by held, taken; each pair once */
	size_t order_count;
	struct hp_lock_party *parties;
	size_t party_count;
	struct hp_lock_party *posters; /* threads that signal a condition, or post a semaphore */
	size_t poster_count;
	struct hp_lock_thread *threads;
	size_t thread_count;
	struct hp_lock_birth *births;
	size_t birth_count;
	uint64_t birthless;	/* created threads without a record */
	uint64_t lost;	/* acquisitions that are counted nowhere else */
	uint64_t untold;	/* acquisitions whose hold is unknown */
	uint64_t end_ticks;	/* the last moment known */
};

/* Reads the locks of the model's segment.  Never fails. */
void hp_locks_init(struct hp_locks *locks, struct hp_model *model);
void hp_locks_release(struct hp_locks *locks);

/* The order that contradicts locks->orders[i]; NULL = none. */
const struct hp_lock_order *hp_locks_contrary(const struct hp_locks *locks, size_t i);

/* A lock, not several that share a row. */
bool hp_lock_is_one(const struct hp_lock_row *row);

/* The same place of the same process made both threads. */
static inline bool hp_lock_is_born_with(const struct hp_lock_birth *birth,
					const struct hp_lock_birth *other)
{
	return birth->pid == other->pid && birth->path == other->path &&
	       birth->at.object == other->at.object && birth->at.address == other->at.address;
}

#endif
