/* SPDX-License-Identifier: MIT */
/*
 * life.c - a thread's life with the stand-ins for locks, and the slow path by
 * which it finds a lock for the first time.
 *
 * A waiter belongs to one thread at a time and is taken over like a block: an
 * ended thread's by a later one of the process, an ended process's by a later
 * one of the same executable. Everything that the next owner needs is in the
 * segment; the tables here are private, and rebuilt from it.
 */
#include "preload/guest/tid.h"
#include "preload/lock/glib.h"
#include "preload/guest/bulky.h"
#include "preload/lock/lock.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "preload/guest/above.h"
#include "preload/guest/begin.h"
#include "preload/guest/early.h"
#include "preload/guest/guest.h"
#include "preload/guest/pages.h"
#include "preload/guest/record.h"
#include "preload/guest/real.h"
#include "preload/guest/self.h"
#include "preload/guest/free_list.h"
#include "preload/guest/ticks.h"
#include "preload/thread/level.h"
#include "preload/thread/end.h"
#include "preload/thread/process.h"
#include "preload/thread/state.h"
#include "util/count.h"
#include "util/hash.h"
#include "segment/section_key.h"

#define HP_KNOWN_FIRST 4	/* log2 of the places of a new thread */
#define CLOCK_ROUNDS 3
#define CLOCK_READINGS 8	/* each */

/* Threads that do not record point here: for good, and while they are being opened. */
HP_BULKY_DATA static struct hp_waiter_local closed = { .state = HP_THREAD_CLOSED };
/* One that may not read the clock. */
HP_BULKY_DATA static struct hp_waiter_local silent = { .state = HP_THREAD_CLOSED };

static int end_number = -1;	/* of preload/thread/end.h */

static_assert(sizeof(struct hp_waiter_local) <= HP_PAGE, "one wiped page each");
static_assert(HP_LOCK_SLOTS == 1 << (64 - 57), "hp_lock_slot has enough bits");

static void thread_end(void *data);

static void configure(const struct hp_settings *settings, bool is_first)
{
	static const char *const sections[] = { HP_KEY_MUTEXES,	   HP_KEY_RW_LOCKS,
						HP_KEY_CONDS,	   HP_KEY_SEMS,
						HP_KEY_BARRIERS,   HP_KEY_WAITS,
						HP_KEY_LOCK_ORDER, HP_KEY_WAITING,
						HP_KEY_FILE_LOCKS, HP_KEY_POOLS };

	(void)is_first;
	hp_glib_is_without = hp_settings_without(settings, "glib");
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		hp_lock_is_wanted |= hp_settings_asks(settings, sections[i]);
	/* The lock is the most important fact. */
	hp_lock_is_wanted |= hp_settings_names(settings, HP_KEY_THREAD_STATES);
	hp_lock_is_refused = !hp_lock_is_wanted;
	if (!hp_lock_is_wanted)
		return;
	hp_segment_recorded(&hp_segment, HP_RECORDED_LOCKS);
	end_number = hp_end_new(thread_end);
}

/* --- opening --- */

static struct hp_records records(void)
{
	return (struct hp_records)HP_RECORDS_WITH(HP_PAGE, &hp_self->ended_waiters,
						  &hp_self->waiters, struct hp_waiter,
						  struct hp_waiter_local, waiter);
}

HP_RECORD_CHECK(struct hp_waiter);

/* Left in the waiter by an earlier process's thread. */
static void adopt(struct hp_waiter_local *me)
{
	const struct hp_use *use;

	for (uint64_t at = atomic_load(&me->waiter->uses); at; at = use->next) {
		use = (const struct hp_use *)(me->base + at);
		hp_lock_known_fill(me, hp_lock_hash(use->lock + use->side), use);
	}
}

/*
 * Of many readings in a row, as some processors give readings that overlap nearly the same value:
 * one tick apart instead of 26, once in twenty. The minimum of some rounds, since an interrupt may
 * occur in one.
 */
static uint64_t clock_cost(const struct hp_waiter_local *me)
{
	uint64_t least = UINT64_MAX;

	for (int round = 0; round < CLOCK_ROUNDS; round++) {
		uint64_t since = hp_lock_clock(me), now = since;

		for (int i = 0; i < CLOCK_READINGS; i++)
			now = hp_lock_clock(me);
		now = hp_clock_between(since, now);
		least = now < least ? now : least;
	}
	return least / CLOCK_READINGS + 1;
}

static_assert(sizeof(struct hp_waiter) % HP_LINE == 0 && sizeof(struct hp_waiter) < HP_PAGE,
	      "its first chunk follows on the same page");

/* A thread that waits once or twice needs no other page: thousands may do that at once. */
static void first_chunk(struct hp_waiter *waiter)
{
	uint64_t at = hp_segment_offset(&hp_segment, waiter);

	if (waiter->arena)
		return;
	waiter->arena_end = at + HP_PAGE;
	waiter->arena = at + sizeof(*waiter);
}

static struct hp_waiter_local *local_new(const struct hp_records *kind, struct hp_waiter *waiter)
{
	uint64_t size = (UINT64_C(1) << HP_KNOWN_FIRST) * sizeof(uint64_t);
	struct hp_waiter_local *me = hp_part_wiped(sizeof(*me));

	if (!me)
		return NULL;
	me->known = hp_part(size);
	if (!me->known)
		return NULL;
	me->known_shift = 64 - HP_KNOWN_FIRST;
	me->waiter = waiter;
	first_chunk(waiter);
	me->base = (char *)hp_segment.header;
	me->slow_clock = hp_segment.header->clock_kind == HP_CLOCK_MONOTONIC_RAW;
	me->clock_cost = clock_cost(me);
	me->hold_cost = me->clock_cost;
	me->credit = hp_lock_advance() * hp_lock_timed_cost(me);
	adopt(me);
	hp_record_add(kind, me);
	return me;
}

/* The thread's own fields, whether the rest is new or not. */
static void identify(struct hp_waiter_local *me)
{
	struct hp_waiter *waiter = me->waiter;

	me->drops = __atomic_load_n(&hp_drops, __ATOMIC_RELAXED);
	me->tid = hp_tid();
	me->random = (uint64_t)me->tid * HP_HASH_GOLDEN ^ hp_lock_clock(me);
	me->bottom = me->top = waiter->held;
	me->limit = waiter->held + HP_HELD_MAX;
	me->wait_frame = 0;
	me->wait_mutex = NULL;
	me->wait_counted = NULL;
	me->end_rounds = 0;
	me->borrowed = 0;
	me->is_exact = hp_segment.header->timing == HP_TIMING_EXACT;
	me->timed_at = hp_lock_clock(me);
	hp_seq_begin(&waiter->since);
	memset(waiter->held, 0, sizeof(waiter->held));
	memcpy(waiter->waited_before, waiter->waited, sizeof(waiter->waited));
	waiter->tid = me->tid;
	waiter->pid = hp_self->pid;
	waiter->base = (uintptr_t)me->base;
	hp_count_up(&waiter->threads);
	hp_end_watch(end_number, me);
}

static struct hp_waiter_local *local_get(void)
{
	struct hp_lockset *set = hp_lock_set();
	const struct hp_records kind = records();
	void *user = NULL;
	struct hp_waiter *waiter = set ? hp_record_get(&kind, &set->waiters, &user) : NULL;
	struct hp_waiter_local *me = user;

	if (!waiter)
		return NULL;
	if (!me) {
		me = local_new(&kind, waiter);
		if (!me)
			hp_record_give(&kind, waiter, NULL);
	}
	return me;
}

/* While the library starts, nothing is known yet: the next call checks again. */
static struct hp_waiter_local *open_waiter(void)
{
	struct hp_waiter_local *before = hp_waiter(), *me = NULL;
	int saved = errno;
	bool is_wanted;

	if (hp_ticks_are_forbidden()) {
		hp_waiter_set(&silent);
		return NULL;
	}
	hp_waiter_set(&closed);
	is_wanted = hp_start();
	if (!is_wanted && hp_start_is_running()) {
		hp_waiter_set(before);
		errno = saved;
		return NULL;
	}
	if (is_wanted && hp_lock_is_wanted && hp_self_open())
		me = local_get();
	hp_lock_is_refused |= !is_wanted;
	if (me) {
		identify(me);
		me->state = HP_THREAD_OPEN;
		atomic_signal_fence(memory_order_seq_cst);
		hp_waiter_set(me);
		hp_lock_calibrate(me);
	}
	errno = saved;
	return me;
}

/* --- closing --- */

static void close_waiter(struct hp_waiter_local *me)
{
	const struct hp_records kind = records();

	hp_wait_repair(me, 0);
	hp_waiter_set(&closed);
	hp_seq_begin(&me->waiter->since);
	memset(me->waiter->held, 0, sizeof(me->waiter->held));
	me->state = HP_THREAD_CLOSED;
	me->tid = 0;
	hp_record_give(&kind, me->waiter, me);
}

/* Destructors of other keys may lock, so ours asks to be called again until the last round. */
static void thread_end(void *data)
{
	struct hp_waiter_local *me = data;

	if (me != hp_waiter())
		return;
	if (++me->end_rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
		hp_end_watch(end_number, me);
	else
		close_waiter(me);
}

static void leave(void)
{
	/* The page of the first one need not be touched. */
	if (hp_waiter() != &hp_waiter_unborn && hp_waiter()->state == HP_THREAD_OPEN)
		close_waiter(hp_waiter());
}

static void silence(bool is_silent)
{
	if (is_silent)
		leave();
	if (is_silent && hp_waiter()->state == HP_THREAD_BUSY)
		hp_waiter()->slow_clock = 1;	/* a signal handler, in our own slow path */
	else if (is_silent && !hp_lock_is_refused)
		hp_waiter_set(&silent);
	else if (!is_silent && hp_waiter() == &silent)
		hp_waiter_set(&hp_waiter_unborn);
}

/* No slot matches, so each thread's next lock takes the slow path, which checks. */
static void dropped(void)
{
	for (int i = 0; i < HP_LOCK_GENERATIONS; i++)
		atomic_fetch_add_explicit(&hp_lock_generations[i], 1, memory_order_relaxed);
	if (hp_waiter() == &closed && hp_lock_is_wanted)
		hp_waiter_set(&hp_waiter_unborn);
}

static bool is_left(const struct hp_process *process)
{
	const struct hp_waiter_local *me =
		atomic_load_explicit(&hp_self->waiters, memory_order_acquire);

	(void)process;
	for (; me; me = me->next)
		if (me->state != HP_THREAD_CLOSED)
			return false;
	return true;
}

/* --- the slow path --- */

struct use_key {
	uint64_t lock;
	uint32_t side;
};

/* `known` holds contests, too: their second word is a use's offset, as `lock` is a lock's. */
static bool is_use(const void *record, const void *what)
{
	const struct hp_use *use = record;
	const struct use_key *wanted = what;

	return use->lock == wanted->lock && use->side == wanted->side;
}

static struct hp_use *use_of(struct hp_waiter_local *me, uint64_t lock, uint32_t side)
{
	struct use_key wanted = { lock, side };
	uint64_t hash = hp_lock_hash(lock + side);
	uint64_t entry = *hp_lock_known(me, hash, is_use, &wanted);
	struct hp_use *use;
	uint64_t offset;

	if (entry)
		return (struct hp_use *)(me->base + (entry & UINT32_MAX) * HP_LINE);
	use = hp_lock_take(me, sizeof(*use));
	if (!use || !hp_lock_known_fill(me, hash, use))
		return NULL;
	offset = (uint64_t)((char *)use - me->base);
	use->lock = lock;
	use->side = side;
	use->next = atomic_load_explicit(&me->waiter->uses, memory_order_relaxed);
	atomic_store_explicit(&me->waiter->uses, offset, memory_order_release);
	return use;
}

static HP_COLD struct hp_use *find(struct hp_waiter_local *me, const struct hp_lock_call *call)
{
	uint64_t hash = hp_lock_hash(call->address);
	struct hp_lock_slot *slot = hp_lock_slot(me, hash, call->side);
	/* Before the lookup: destroying the lock afterwards invalidates the slot. */
	uint32_t generation = hp_lock_generation(hash);
	uint64_t lock = hp_lock_record(call);
	struct hp_use *use = lock ? use_of(me, lock, call->side) : NULL;

	/* The next thread may have the same address, and be joined elsewhere. */
	if (!use || call->kind == HP_LOCK_THREAD)
		return use;
	slot->key = 0;
	atomic_signal_fence(memory_order_seq_cst);
	slot->use = use;
	slot->generation = generation;
	slot->outer = 0;
	/* The key last: a signal handler that locks finds no incomplete slot. */
	atomic_signal_fence(memory_order_seq_cst);
	slot->key = hp_lock_key(call->address, call->side);
	return use;
}

static void count_lost(void)
{
	struct hp_lockset *set = hp_self ? hp_lock_set() : NULL;

	if (set)
		atomic_fetch_add_explicit(&set->lost, 1, memory_order_relaxed);
}

struct hp_use *hp_lock_find(const struct hp_lock_call *call)
{
	struct hp_waiter_local *me;
	struct hp_use *use;
	int saved;

	if (hp_is_early())
		return NULL;
	me = hp_waiter();
	saved = errno;
	if (me == &hp_lock_paused)
		return NULL;
	/* Its locks are released in the old record, which is private now. */
	if (me->state == HP_THREAD_OPEN && hp_drop_is_before(me->drops)) {
		hp_waiter_set(&hp_waiter_unborn);
		me = hp_waiter();
	}
	if (me->state == HP_THREAD_UNBORN)
		me = open_waiter();
	if (!me || !hp_lock_shut(me)) {
		if (me && hp_lock_is_wanted)
			count_lost();
		return NULL;
	}
	hp_wait_repair(me, 0);
	use = find(me, call);
	if (!use)
		count_lost();
	hp_lock_reopen(me);
	errno = saved;
	return use;
}

/* --- events of the process --- */

static void find_pointer(void)
{
	HP_EARLY_FIND(waiter);
}

static void waiters_free(struct hp_process *process)
{
	uint64_t lockset = atomic_load(&process->lockset);
	struct hp_lockset *set =
		lockset ? (struct hp_lockset *)((char *)hp_segment.header + lockset) : NULL;
	struct hp_waiter *waiter;

	for (uint64_t i = set ? atomic_load(&set->waiters) : 0; i; i = waiter->next) {
		waiter = (struct hp_waiter *)((char *)hp_segment.header + i);
		atomic_store_explicit(&waiter->state, HP_FREE, memory_order_release);
	}
}

const struct hp_recorder hp_lock_recorder = {
	.find = find_pointer,
	.configure = configure,
	.free = waiters_free,
	.forget = hp_lock_forget,
	.silence = silence,
	.dropped = dropped,
	.sleeps = hp_lock_sleeps,
	.leave = leave,
	.is_left = is_left,
};
