/* SPDX-License-Identifier: MIT */
/*
 * lock.h - common parts of stand-ins for locks: a thread's waiter, its uses of
 * locks, the locks that it holds.
 *
 * `hp_waiter` is thread-local, 8 bytes.  It points to a constant before the
 * thread has its own struct, and again when it must not record.  The struct is
 * one MADV_WIPEONFORK page: a forked child finds zeroes, so no slot matches
 * and nothing is held, and its first lock takes the slow path.
 *
 * The usual acquisition finds its lock in `slots`, by one comparison that also
 * covers every reason not to record, tries the lock, counts, and notes it in
 * `held`, where the release finds it at the top.  The clock is read only if the
 * lock was taken by another thread, and for some holds.
 *
 * Signal handlers may lock between any two instructions here.  They leave `top`
 * as they found it.  Above `top`, `start` and `depth` are 0: each store between
 * the atomic instructions of lock and release costs a third of a nanosecond.
 *
 * Folder: preload/lock - waits for and holds of locks: stand-ins for locks of all kinds,
 *   who waits for whom, and the order in which locks are taken.
 * May use: preload/wait preload/heap preload/call preload/thread preload/guest segment
 *   segment/layout util
 */
#ifndef HP_PRELOAD_LOCK_LOCK_H
#define HP_PRELOAD_LOCK_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/guest/above.h"
#include "preload/guest/early.h"
#include "preload/guest/guest.h"
#include "preload/guest/self.h"
#include "preload/guest/free_list.h"
#include "preload/guest/ticks.h"
#include "segment/clock.h"
#include "segment/layout/lock.h"
#include "segment/seq.h"
#include "segment/setting.h"
#include "util/hash.h"

#define HP_LOCK_SLOTS 128	/* a power of two */
#define HP_LOCK_ORDERS 64	/* a power of two */
#define HP_LOCK_GENERATIONS 256	/* a power of two */

/* Lock and side -> use of it by this thread. */
struct hp_lock_slot {
	uint64_t key;	/* hp_lock_key; 0 = empty */
	struct hp_use *use;
	uint32_t generation;	/* hp_lock_generation of the address when this was filled */
	uint32_t outer;	/* hp_lock_outer of the enclosing lock, which is recorded; 0 = none */
};

struct hp_waiter_local {
	uint64_t random;
	uint64_t clock_cost;	/* ticks between two immediate readings */
	struct hp_held *limit;
	struct hp_held *top;	/* place of the next lock */
	struct hp_held *bottom;
	uintptr_t wait_frame;	/* stack address of the waiting stand-in; 0 = none */
	struct hp_use *wait_mutex;	/* use of the mutex that it will then hold; NULL = none */
	uint32_t state;	/* enum hp_thread_state */
	uint32_t slow_clock;	/* the clock is not the TSC */

	/*
	 * Fields read by threads that search for a lock's holder are in a line
	 * that rarely changes: the one above is written at each lock and release.
	 */
	struct hp_waiter_local *next;	/* list of the process */
	struct hp_waiter *waiter;
	char *base;	/* of the segment */
	uint64_t *known;	/* uses and contests: high half of a hash, offset / HP_LINE */
	uint32_t known_shift;	/* 64 - log2(places) */
	uint32_t known_count;
	uint32_t contest_count;
	uint32_t tid;
	uint32_t end_rounds;	/* calls of the key's destructor so far */
	uint32_t drops;	/* hp_drops when it was opened */
	uint32_t borrowed;	/* paths that it walked with another thread's heap: path.c */
	uint32_t untold;	/* timed holds that are not in the sum of all threads yet */

	uintptr_t wait_mutex_at;	/* where wait_mutex is */
	struct hp_lock *wait_counted;	/* its `waiting` counts this thread; NULL = none */
	uint64_t hold_cost;	/* ticks of a timed hold that takes no time */
	int64_t credit;	/* ticks that it may still spend on timing holds: timed.c */
	uint64_t timed_at;	/* start of the last timed hold, ticks */
	uint32_t unseen;	/* holds that were timed since the sampler stopped checking */
	uint32_t is_exact;	/* all are timed */
	uint64_t orders[HP_LOCK_ORDERS];	/* hashes of recorded pairs of uses */
	struct hp_lock_slot slots[HP_LOCK_SLOTS];
	struct hp_free_node ended;	/* on the stack of those whose threads have */
};

static_assert(offsetof(struct hp_waiter_local, next) == HP_LINE, "others read from here on");
static_assert(offsetof(struct hp_waiter_local, wait_mutex_at) == 2 * HP_LINE, "up to here");

static_assert(HP_EARLY_ZERO(offsetof(struct hp_waiter_local, top)), "see preload/guest/early.h");
static_assert(HP_EARLY_ZERO(offsetof(struct hp_waiter_local, bottom)), "the same");
static_assert(HP_EARLY_ZERO(offsetof(struct hp_waiter_local, state)), "the same");

HP_THREAD_POINTER(struct hp_waiter_local, waiter)

/* The state of a thread that has taken no lock yet. */
extern HP_HIDDEN struct hp_waiter_local hp_waiter_unborn;

/* Incremented when a lock at such an address is destroyed or created: older slots no longer
 * match. */
extern HP_HIDDEN _Atomic uint32_t hp_lock_generations[HP_LOCK_GENERATIONS];

static inline uint64_t hp_lock_hash(uintptr_t address)
{
	return address * HP_HASH_GOLDEN;
}

static inline uint32_t hp_lock_generation(uint64_t hash)
{
	return atomic_load_explicit(&hp_lock_generations[hash >> 48 & (HP_LOCK_GENERATIONS - 1)],
				    memory_order_relaxed);
}

static inline struct hp_lock_slot *hp_lock_slot(struct hp_waiter_local *me, uint64_t hash,
						uint32_t side)
{
	return &me->slots[(hash >> 57) ^ side];
}

/*
 * User-space addresses do not have these bits; nor do names of descriptors or
 * threads.
 */
static inline uint64_t hp_lock_key(uintptr_t address, uint32_t side)
{
	return address ^ (uint64_t)side << 61;
}

static inline bool hp_lock_fits(const struct hp_lock_slot *slot, uintptr_t address, uint32_t side,
				uint64_t hash)
{
	return slot->key == hp_lock_key(address, side) &&
	       slot->generation == hp_lock_generation(hash);
}

/*
 * A pair of uses in 32 bits: both are lines of the segment, so this distinguishes
 * any two pairs with the same inner one. 0 = both are the same.
 */
static inline uint32_t hp_lock_outer(const struct hp_held *held, const struct hp_use *use)
{
	return (uint32_t)((held->use ^ (uintptr_t)use) / HP_LINE);
}

static inline uint64_t hp_lock_clock(const struct hp_waiter_local *me)
{
	return HP_UNLIKELY(me->slow_clock) ? hp_ticks_slowly() : hp_clock_tsc();
}

/* A stand-in's knowledge of its call. */
struct hp_lock_call {
	uintptr_t address;	/* of the lock */
	uintptr_t caller;
	uint32_t kind;	/* enum hp_lock_kind */
	uint32_t side;
	uint32_t holder;	/* tid of the holder, if the lock has it; 0 = unknown */
	int fd;	/* of a file lock */
};

/* Its holds are recorded, so a waiter can find the holder; and so is the order of locks. */
static inline bool hp_lock_is_holdable(uint32_t kind)
{
	return kind <= HP_LOCK_SPIN || kind == HP_LOCK_ONCE ||
	       (kind >= HP_LOCK_STREAM && kind <= HP_LOCK_GRWLOCK);
}

/* --- lock.c and life.c: a thread's life --- */

extern const struct hp_recorder hp_lock_recorder;
extern HP_HIDDEN bool hp_lock_is_wanted;

/* Not recorded in this process: one branch, and the real call. */
extern HP_HIDDEN bool hp_lock_is_refused;

/* Recorders hear of waits (hp_recorder.parks): an event loop has several threads. */
extern HP_HIDDEN bool hp_lock_tells;
void hp_lock_tell(bool is_over, uintptr_t lock, uint32_t holder);

static inline bool hp_lock_is_off(void)
{
	return hp_lock_is_refused;
}

/*
 * No slot matches: opens the thread's waiter if it has none, finds or creates
 * the records. NULL = this call is not recorded.
 */
struct hp_use *hp_lock_find(const struct hp_lock_call *call);

/* Around our slow paths; false = already in one, or nothing is recorded. */
bool hp_lock_shut(struct hp_waiter_local *me);
void hp_lock_reopen(struct hp_waiter_local *me);

/* The thread's locks in between are part of another lock, and not recorded. */
extern HP_HIDDEN struct hp_waiter_local hp_lock_paused;
struct hp_waiter_local *hp_lock_pause(void);
void hp_lock_go_on(struct hp_waiter_local *was);

/* Room in the segment for this waiter, zeroed, at a multiple of HP_LINE; NULL = full. */
void *hp_lock_take(struct hp_waiter_local *me, uint64_t size);

/* The place for this hash in `known`: see hp_lock_known_fill. */
uint64_t *hp_lock_known(struct hp_waiter_local *me, uint64_t hash,
			bool (*is_it)(const void *record, const void *key), const void *key);
bool hp_lock_known_fill(struct hp_waiter_local *me, uint64_t hash, const void *record);

/* --- table.c: which lock is at an address --- */

/* Offset of the record of the lock; 0 = no room. */
uint64_t hp_lock_record(const struct hp_lock_call *call);

/* A lock is created or destroyed at an address. */
void hp_lock_made(const struct hp_lock_call *call);
void hp_lock_gone(uintptr_t address);

/* A thread was joined: its join is one more object. */
void hp_lock_joined(const struct hp_use *use);

/* Names the lock at an address from now on. */
void hp_lock_label(uintptr_t address, const char *label);

/* Where a lock is in a heap block. */
struct hp_lock_block {
	uintptr_t inside;	/* bytes from its start; HP_NO_PLACE = not known */
	uint32_t size;	/* bytes requested; 0 = not known */
};

#define HP_NO_PLACE UINTPTR_MAX
#define HP_BLOCK_MAX 65536	/* bytes: a lock is at most this far from the start of its block */

/*
 * Return address of the call that allocated `address`, as seen from `user`; 0 =
 * not known.  `block`: the heap block that contains it, if known; one that starts
 * more than `most` bytes before it is not searched for.
 */
uintptr_t hp_lock_allocated_at(uintptr_t address, uintptr_t user, uintptr_t most,
			       struct hp_lock_block *block);

/* A module was unloaded: so are the locks in it, and the places of its code. */
void hp_lock_forget(uintptr_t begin, uintptr_t end);

/* This process's hp_lockset, created on first use; NULL = no room. */
struct hp_lockset *hp_lock_set(void);

/* Offset of the module of a plain address, 0 = none; and the address in it. */
void hp_lock_place(uint64_t at, uint64_t *module, uint64_t *address);

/* --- order.c: which locks are taken while which are held --- */

static_assert(HP_LOCK_ORDERS == 1 << (64 - 58), "an index fits in its bits");
#define HP_LOCK_ORDER_SHIFT 58

/* Uses are records of the segment, so the upper bits of both addresses are the same. */
static inline uint64_t hp_lock_order_hash(const struct hp_held *held, const struct hp_use *use)
{
	return hp_lock_hash(held->use ^ (uint64_t)(uintptr_t)use << 20) | 1;
}

/* This pair is already recorded, or is not a pair. */
static inline bool hp_lock_order_is_known(const struct hp_waiter_local *me,
					  const struct hp_held *held, const struct hp_use *use)
{
	uint64_t hash = hp_lock_order_hash(held, use);

	return held->use == (uintptr_t)use || me->orders[hash >> HP_LOCK_ORDER_SHIFT] == hash;
}

/* The thread takes a lock at `caller` while holding others: records each pair once. */
void hp_lock_orders(struct hp_waiter_local *me, const struct hp_use *use, uintptr_t caller);

static inline struct hp_lock *hp_lock_of(const struct hp_use *use)
{
	return (struct hp_lock *)((char *)hp_segment.header + use->lock);
}

/* --- path.c: the call paths of the waiter and the holder --- */

/* Id of the step of this call, our own functions included; 0 = not known. */
uint32_t hp_lock_path(void);

/* Does this wait justify asking the holder for its path? */
bool hp_lock_asks(const struct hp_waiter_local *me, const struct hp_contest *contest);

/* The thread was asked for its path, and is about to release the lock. */
void hp_lock_answer(struct hp_waiter_local *me, const struct hp_use *use);

/* The answer, for the present holder: hp_waiter's offset / HP_LINE << 32 | step; 0 = nothing. */
uint64_t hp_lock_answered(const struct hp_use *use);

/* --- contest.c: waits, by place and holder --- */

struct hp_lock_holder {
	uint32_t waiter;	/* offset / HP_LINE */
	uintptr_t at;	/* where it acquired the lock; 0 = not known */
	uint32_t tid;
	struct hp_held *held;	/* NULL = unknown */
};

struct hp_lock_holder hp_lock_holder_of(const struct hp_lock_call *call);

/* The sum that such a wait belongs to; NULL = no room. */
struct hp_contest *hp_lock_contest_of(struct hp_waiter_local *me, const struct hp_use *use,
				      uintptr_t caller, const struct hp_lock_holder *holder,
				      uint32_t path);

/* --- timed.c: which holds are timed, and their sums --- */

/* Holds that a new thread may time at once, and the cost of one in ticks. */
int64_t hp_lock_advance(void);
int64_t hp_lock_timed_cost(const struct hp_waiter_local *me);

/* A timed or marked hold has ended. */
struct hp_release;
void hp_lock_hold_add(struct hp_waiter_local *me, struct hp_use *use,
		      const struct hp_release *release);

/* --- span.c: when --- */

/* The same hold, if it was long. */
void hp_lock_span_add(struct hp_waiter_local *me, const struct hp_use *use,
		      const struct hp_release *release);

/* --- mark.c: how long untimed holds have lasted --- */

/* The calling thread waits for it. */
void hp_lock_mark(const struct hp_waiter_local *me, const struct hp_lock_holder *holder);

/* The calling thread may sleep: its lock is held for longer. */
void hp_lock_mark_own(struct hp_waiter_local *me);

static inline void hp_lock_sleeps(void)
{
	struct hp_waiter_local *me = hp_waiter();

	if (HP_UNLIKELY(me->top != me->bottom))
		hp_lock_mark_own(me);
}

/* Stores what is known about the ending hold in the last three fields, which are 0. */
void hp_lock_marks_take(const struct hp_waiter_local *me, const struct hp_held *held,
			struct hp_release *release);

/* --- hold.c: acquisitions, waits, releases --- */

/* The thread waits: readers of the segment see it.  `frame`: on the stack of the stand-in. */
void hp_wait_publish(struct hp_waiter_local *me, const void *frame, const struct hp_use *use,
		     const struct hp_lock_call *call, uint32_t holder, uint32_t path,
		     uint64_t since);
void hp_wait_over(struct hp_waiter_local *me);

/* The values that are already in a use's sums. */
struct hp_told {
	uint64_t count;
	uint64_t ticks;	/* their sum */
	uint64_t most;	/* the largest */
};

/*
 * Before a value is added to the sums: adds it to their hp_spread. `place` 0 = there is none yet.
 * It is created for the value after the first HP_FEW, which the sums tell. Apart, so that the
 * usual way does not copy these: a copy of values that were just stored waits for them.
 */
void hp_hold_spread_more(struct hp_waiter_local *me, uint32_t place, uint64_t ticks,
			 uint64_t weight);
void hp_hold_spread_first(struct hp_waiter_local *me, uint32_t *place, struct hp_told told,
			  uint64_t ticks, uint64_t weight);

static inline void hp_hold_spread_add(struct hp_waiter_local *me, uint32_t *place,
				      struct hp_told told, uint64_t ticks, uint64_t weight)
{
	if (HP_LIKELY(*place))
		hp_hold_spread_more(me, *place, ticks, weight);
	else
		hp_hold_spread_first(me, place, told, ticks, weight);
}

/* A wait that has ended. */
void hp_wait_add(struct hp_waiter_local *me, struct hp_use *use, struct hp_contest *contest,
		 uint64_t since, uint64_t ticks);

/* The unusual cases: the thread already holds locks, or there is no room. */
void hp_lock_got_more(struct hp_waiter_local *me, struct hp_use *use, uintptr_t address,
		      uintptr_t caller, uint32_t how);

/* How a lock was acquired. */
#define HP_GOT_PLAIN 0
#define HP_GOT_RECURSIVE 1	/* it can be locked again */
#define HP_GOT_TRIED 2	/* the thread would not have waited */

/* The thread holds this lock, too; NULL = there are already HP_HELD_MAX. */
struct hp_held *hp_lock_push(struct hp_waiter_local *me, struct hp_use *use, uintptr_t address,
			     uintptr_t caller);

/* The hold that begins now must be timed. */
void hp_lock_draw(struct hp_waiter_local *me, struct hp_use *use, struct hp_held *held);

/*
 * The lock is taken: starts a wait for it, and ends it. `is_got`: it was
 * acquired. The real call is between them.
 */
struct hp_wait {
	struct hp_waiter_local *me;	/* NULL = not recorded */
	struct hp_use *use;
	struct hp_contest *contest;
	uint64_t since;
	bool has_asked;	/* asks the holder for its path */
	uint64_t noted_since;	/* hp_offcpu_note_begin */
};

void hp_wait_begin(struct hp_wait *wait, struct hp_use *use, const struct hp_lock_call *call);
void hp_wait_end(struct hp_wait *wait, const struct hp_lock_call *call, bool is_got);

/*
 * The lock is about to be released: takes it out of `held`, with the facts to
 * record once it is free. False = the thread does not hold it, as far as we
 * know.
 */
struct hp_release {
	struct hp_waiter_local *me;
	struct hp_held held;
	uint64_t end;	/* ticks; 0 = nobody requested them */
	uint64_t since;	/* hp_mark_word; 0 = not marked by a waiter or by itself */
	uint64_t seen_at;	/* ticks; 0 = no scan found it */
	uint64_t gap;	/* with seen_at */
};

bool hp_lock_release(struct hp_release *release, uintptr_t address);
void hp_lock_released(struct hp_release *release);

/* The release failed: the thread holds the lock as before. */
void hp_lock_keep(const struct hp_release *release);

/* The measured length of an empty timed hold. The thread holds no locks yet. */
void hp_lock_calibrate(struct hp_waiter_local *me);

/* There was no wait, after all. */
void hp_wait_cancel(struct hp_wait *wait);

/* An unheld lock is recorded at once.  `is_got`: not a timeout, nor an error. */
void hp_wait_told(struct hp_wait *wait, bool is_got);

/* A condition's wait releases the mutex and acquires it again. */
struct hp_cond_wait {
	struct hp_wait wait;
	struct hp_use *mutex;	/* use of the mutex; NULL = not known */
};

void hp_cond_begin(struct hp_cond_wait *cond, struct hp_use *use, const struct hp_lock_call *call,
		   uintptr_t mutex);
void hp_cond_end(struct hp_cond_wait *cond, const struct hp_lock_call *call, uintptr_t mutex,
		 bool is_woken);

/* A thread waits for the condition, and is about to be woken up. */
void hp_cond_wake(struct hp_lock *lock);

static HP_HOT void hp_cond_signal(struct hp_use *use)
{
	struct hp_lock *lock = hp_lock_of(use);

	use->count++;
	if (HP_UNLIKELY(atomic_load_explicit(&lock->waiting, memory_order_relaxed)))
		hp_cond_wake(lock);
}

/*
 * A thread that is cancelled, or leaves by a jump, never returns from the
 * real call: its next operation cleans up its unfinished wait.
 * `released`: the lock that is about to be released; 0 = none.
 */
void hp_wait_repair(struct hp_waiter_local *me, uintptr_t released);

/*
 * The use of a matching slot; NULL = a signal handler has since given the slot
 * to another lock.
 */
static HP_HOT struct hp_use *hp_lock_slot_use(const struct hp_lock_slot *slot, uintptr_t address,
					      uint32_t side)
{
	struct hp_use *use = slot->use;

	/* A use that is read before the key belongs to it. */
	atomic_signal_fence(memory_order_seq_cst);
	return HP_LIKELY(slot->key == hp_lock_key(address, side)) ? use : NULL;
}

/* The use for this call; NULL = nothing is recorded. */
static inline struct hp_use *hp_lock_use(const struct hp_lock_call *call)
{
	uint64_t hash = hp_lock_hash(call->address);
	struct hp_lock_slot *slot = hp_lock_slot(hp_waiter(), hash, call->side);

	struct hp_use *use = NULL;

	if (HP_LIKELY(hp_lock_fits(slot, call->address, call->side, hash)))
		use = hp_lock_slot_use(slot, call->address, call->side);
	if (HP_LIKELY(use != NULL))
		return use;
	return hp_lock_is_off() ? NULL : hp_lock_find(call);
}

/* --- the fast path --- */

/* The slot of a lock that this thread already knows; NULL = it does not, or nothing is recorded. */
static HP_HOT struct hp_lock_slot *hp_lock_quick(struct hp_waiter_local *me, uintptr_t address,
						 uint32_t side)
{
	uint64_t hash = hp_lock_hash(address);
	struct hp_lock_slot *slot = hp_lock_slot(me, hash, side);

	/* One address, not an index that is scaled again for each field. */
	__asm__("" : "+r"(slot));
	return HP_LIKELY(hp_lock_fits(slot, address, side, hash)) ? slot : NULL;
}

/*
 * The place of the thread's first lock is `bottom`, which never changes.  The
 * compiler must not know that it equals `top`: otherwise each lock and release
 * would wait for the previous one's store.
 */
static HP_HOT struct hp_held *hp_lock_first(struct hp_waiter_local *me)
{
	struct hp_held *held = me->bottom;

	__asm__("" : "+r"(held));
	return held;
}

static HP_HOT void hp_lock_fill(struct hp_waiter_local *me, struct hp_held *held,
				struct hp_use *use, uintptr_t address, uintptr_t caller)
{
	me->top = held + 1;
	atomic_signal_fence(memory_order_seq_cst);
	held->use = (uintptr_t)use;
	/* Two stores of one register each: combining them takes longer. */
	atomic_signal_fence(memory_order_seq_cst);
	held->at = caller;
	atomic_store_explicit(&held->address, address, memory_order_relaxed);
}

/* Records that the thread holds this lock, and no other. False = it holds others, or this one
 * must be timed. */
static HP_HOT bool hp_lock_note_first(struct hp_waiter_local *me, struct hp_use *use,
				      uintptr_t address, uintptr_t caller)
{
	uint64_t count = use->count + 1;

	if (HP_UNLIKELY(me->top != me->bottom || count >= use->next_timed))
		return false;
	use->count = count;
	hp_lock_fill(me, hp_lock_first(me), use, address, caller);
	return true;
}

/* The same, also inside a lock inside which it was taken before. */
static HP_HOT bool hp_lock_note(struct hp_waiter_local *me, const struct hp_lock_slot *slot,
				struct hp_use *use, uintptr_t address, uintptr_t caller)
{
	struct hp_held *held = hp_lock_first(me);
	uint64_t count = use->count + 1;

	if (HP_UNLIKELY(count >= use->next_timed))
		return false;
	if (me->top != me->bottom) {
		if (me->top != held + 1 || slot->outer != hp_lock_outer(held, use) ||
		    atomic_load_explicit(&held->address, memory_order_relaxed) == address)
			return false;
		held++;
	}
	use->count = count;
	hp_lock_fill(me, held, use, address, caller);
	return true;
}

/* It was acquired at once. */
static HP_HOT void hp_lock_got(struct hp_waiter_local *me, const struct hp_lock_slot *slot,
			       struct hp_use *use, uintptr_t address, uintptr_t caller,
			       uint32_t how)
{
	if (HP_UNLIKELY(!hp_lock_note(me, slot, use, address, caller)))
		hp_lock_got_more(me, use, address, caller, how);
}

static HP_HOT bool hp_lock_drop_at(struct hp_waiter_local *me, struct hp_held *held,
				   uintptr_t address)
{
	if (HP_UNLIKELY(atomic_load_explicit(&held->address, memory_order_relaxed) != address ||
			held->start != 0 || (held->depth | held->asked) != 0))
		return false;
	atomic_store_explicit(&held->address, 0, memory_order_relaxed);
	me->top = held;
	return true;
}

/* The usual release: it is the only lock, or the second, and its hold was not timed. False = not
 * so. */
static HP_HOT bool hp_lock_drop_usual(struct hp_waiter_local *me, uintptr_t address)
{
	struct hp_held *held = hp_lock_first(me);

	if (me->top == me->bottom + 1)
		return hp_lock_drop_at(me, held, address);
	return me->top == me->bottom + 2 && hp_lock_drop_at(me, held + 1, address);
}

/* The same for one with any number of others below it. */
static HP_HOT bool hp_lock_drop(struct hp_waiter_local *me, uintptr_t address)
{
	return me->top != me->bottom && hp_lock_drop_at(me, me->top - 1, address);
}

/* It failed: see hp_lock_keep. */
static inline void hp_lock_undrop(struct hp_waiter_local *me, uintptr_t address)
{
	atomic_store_explicit(&me->top->address, address, memory_order_relaxed);
	me->top++;
}

#endif
