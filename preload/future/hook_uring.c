/* SPDX-License-Identifier: MIT */
/*
 * hook_uring.c - stand-ins of liburing, if the program has it (preload/guest/absent.h): requests
 * to the kernel as futures, by the code that submits them, and waits for them as waits of an event
 * loop.
 *
 * A program fills in submissions and takes completions by inline functions, which we do not see.
 * So each stand-in checks both rings: entries not yet submitted begin, and completions
 * that arrived since the last check end. A completion stays readable after the program has taken it
 * until the kernel reuses its place: up to as many as the ring holds keep their identity.
 *
 * The program chooses a request's number (user_data), which need not be unique.  Requests with
 * one number in one ring are distinguished by an index; then the number of ended ones is known,
 * but not which ones.
 *
 * Threads may share a ring.  Nobody waits: a thread that finds another one checking leaves the
 * rest to it or to the next check.
 */
#include <errno.h>
#include <stdatomic.h>

#include "preload/future/future.h"
#include "preload/future/uring.h"
#include "preload/guest/absent.h"
#include "preload/guest/bulky.h"
#include "preload/lock/lock.h"
#include "preload/loop/loop.h"
#include "util/hash.h"

HP_URING_LIST(HP_ABSENT_REAL)

#define FIND HP_ABSENT_FIND

#define RINGS 64	/* watched at a time; further ones are not recorded */
#define SAME_MAX 16	/* requests of one number in flight; further ones have no identity */
#define LIBURINGS_OWN UINT64_MAX	/* the number of requests that liburing itself makes */

/* What is known of one ring. */
struct watched {
	_Atomic uintptr_t ring;	/* 0 = free */
	_Atomic uint32_t looker;	/* pid while a thread checks; after a fork maybe its parent */
	uint32_t seen;	/* completions up to here have been handled */
	const uint32_t *tail;	/* of the ring then: another one may be at the same address now */
	const void *process;	/* that `future` belongs to */
	struct hp_future *future;	/* where its first request began: has the number of unseen ends */
	uint64_t serial;	/* differs between rings */
};

HP_BULKY static struct watched rings[RINGS];
static _Atomic uint64_t last_serial;

static bool is_counted(void)
{
	return !hp_is_early() && !hp_uring_is_without && hp_future_is_wanted();
}

static uint32_t shared(const uint32_t *word)
{
	/* Acquire: the kernel has written the entries before its tail. */
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* --- rings --- */

static struct watched *watched_at(const struct hp_uring *ring)
{
	for (int i = 0; i < RINGS; i++)
		if (atomic_load_explicit(&rings[i].ring, memory_order_acquire) == (uintptr_t)ring)
			return &rings[i];
	return NULL;
}

static struct watched *watched_new(const struct hp_uring *ring)
{
	for (int i = 0; i < RINGS; i++) {
		uintptr_t none = 0;

		if (atomic_compare_exchange_strong(&rings[i].ring, &none, (uintptr_t)ring)) {
			rings[i].tail = NULL;
			return &rings[i];
		}
	}
	return NULL;
}

static bool lock(struct watched *watched)
{
	uint32_t looker = atomic_load_explicit(&watched->looker, memory_order_relaxed);

	return looker != hp_self->pid &&
	       atomic_compare_exchange_strong_explicit(&watched->looker, &looker, hp_self->pid,
						       memory_order_acquire, memory_order_relaxed);
}

static void unlock(struct watched *watched)
{
	atomic_store_explicit(&watched->looker, 0, memory_order_release);
}

static bool is_inside(const void *at, const void *start, size_t size)
{
	return (uintptr_t)at - (uintptr_t)start < size;
}

/*
 * liburing 0.7 and before (liburing.so.1) had shorter structs: there our words are others, and
 * do not point into what we take for the ring.
 */
static bool is_known_layout(const struct hp_uring *ring)
{
	const struct hp_submissions *sq = &ring->sq;
	const struct hp_completions *cq = &ring->cq;

	return is_inside(sq->head, sq->ring, sq->ring_size) &&
	       is_inside(sq->mask, sq->ring, sq->ring_size) &&
	       is_inside(cq->head, cq->ring, cq->ring_size) &&
	       is_inside(cq->tail, cq->ring, cq->ring_size) &&
	       is_inside(cq->mask, cq->ring, cq->ring_size) &&
	       is_inside(cq->entries, cq->ring, cq->ring_size);
}

/* The first look at a ring sees what the program has not taken yet. */
static void meet(struct watched *watched, const struct hp_uring *ring)
{
	if (watched->tail == ring->cq.tail && watched->process == hp_self->process)
		return;
	watched->seen = shared(ring->cq.head);
	watched->tail = ring->cq.tail;
	watched->process = hp_self->process;
	watched->future = NULL;
	watched->serial = 1 + atomic_fetch_add_explicit(&last_serial, 1, memory_order_relaxed);
}

/* --- requests --- */

static uint64_t key_of(const struct watched *watched, uint64_t number, uint64_t index)
{
	return hp_hash_mix(hp_hash_mix(number) + (watched->serial << 8 | index)) << 8 |
	       HP_FUTURE_URING;
}

/* A request without identity: it counts as begun. */
static void begin_unknown(struct hp_future *future)
{
	atomic_fetch_add_explicit(&future->calls, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&future->lost, 1, memory_order_relaxed);
}

/* One that completed without being seen left the number behind. */
static bool was_unseen(struct hp_future *future)
{
	uint64_t unseen = atomic_load_explicit(&future->unseen, memory_order_relaxed);

	while (unseen &&
	       !atomic_compare_exchange_weak_explicit(&future->unseen, &unseen, unseen - 1,
						      memory_order_relaxed, memory_order_relaxed))
		;
	return unseen != 0;
}

static void begin(const struct watched *watched, const struct hp_sqe *entry,
		  struct hp_future *future)
{
	struct hp_object_flight found;

	if (entry->user_data == LIBURINGS_OWN)
		return;
	if (entry->flags & HP_SQE_SILENT) {
		begin_unknown(future);
		return;
	}
	for (uint64_t i = 0; i < SAME_MAX; i++) {
		uint64_t key = key_of(watched, entry->user_data, i);

		if (hp_objects_find(key, &found)) {
			if (!was_unseen(watched->future))
				continue;
			found.flight->created = 0;
			hp_future_end_at(key, HP_FUTURE_READY, NULL);
		}
		hp_future_begin_at(future, key);
		return;
	}
	begin_unknown(future);
}

/* Later ones fill the gaps that earlier ones leave, so all indices are searched. */
static void end(const struct watched *watched, const struct hp_cqe *entry)
{
	struct hp_object_flight found;

	for (uint64_t i = 0; i < SAME_MAX; i++) {
		uint64_t key = key_of(watched, entry->user_data, i);

		if (!hp_objects_find(key, &found))
			continue;
		if (entry->flags & HP_CQE_MORE)
			hp_future_ask_at(key);
		else
			hp_future_end_at(key,
					 entry->result == -ECANCELED ? HP_FUTURE_CANCELLED
								     : HP_FUTURE_READY,
					 NULL);
		return;
	}
}

/* --- looks --- */

static struct hp_sqe *submission(const struct hp_uring *ring, uint32_t at)
{
	return &ring->sq.entries[(size_t)(at & *ring->sq.mask)
				 << ((ring->flags & HP_URING_SQE_128) != 0)];
}

/*
 * False = the kernel may have overwritten it meanwhile.  It writes the place behind its tail if the
 * program has taken what was there.
 */
static bool completion(const struct hp_uring *ring, uint32_t at, struct hp_cqe *entry)
{
	const struct hp_cqe *there = &ring->cq.entries[(size_t)(at & *ring->cq.mask)
						       << ((ring->flags & HP_URING_CQE_32) != 0)];

	entry->user_data = __atomic_load_n(&there->user_data, __ATOMIC_RELAXED);
	entry->result = __atomic_load_n(&there->result, __ATOMIC_RELAXED);
	entry->flags = __atomic_load_n(&there->flags, __ATOMIC_RELAXED);
	atomic_thread_fence(memory_order_acquire);
	return (int32_t)(at - shared(ring->cq.head)) >= 0 ||
	       shared(ring->cq.tail) - at <= *ring->cq.mask;
}

static void unseen_add(const struct watched *watched, uint64_t count)
{
	if (watched->future && count)
		atomic_fetch_add_explicit(&watched->future->unseen, count, memory_order_relaxed);
}

static void ends_look(struct watched *watched, const struct hp_uring *ring)
{
	uint32_t tail = shared(ring->cq.tail), size = *ring->cq.mask + 1;
	uint64_t unseen = 0;
	struct hp_cqe entry;

	if (tail - watched->seen > size) {
		unseen = tail - watched->seen - size;
		watched->seen = tail - size;
	}
	for (; watched->seen != tail; watched->seen++) {
		if (completion(ring, watched->seen, &entry))
			end(watched, &entry);
		else
			unseen++;
	}
	unseen_add(watched, unseen);
}

/* Those that the real call is about to submit: own_head is where it starts. */
static void begins_look(struct watched *watched, const struct hp_uring *ring, uintptr_t caller)
{
	uint32_t at = ring->sq.own_head;
	struct hp_future *future;

	if (at == ring->sq.own_tail)
		return;
	future = hp_future_of_code(HP_FUTURE_URING, caller);
	if (!future)
		return;
	if (!watched->future)
		watched->future = future;
	for (; at != ring->sq.own_tail; at++)
		begin(watched, submission(ring, at), future);
}

static HP_COLD void look_at(const struct hp_uring *ring, uintptr_t caller)
{
	struct watched *watched;
	int saved = errno;

	if (!is_known_layout(ring) || ring->flags & HP_URING_MIXED || !hp_future_is_on()) {
		errno = saved;
		return;
	}
	watched = watched_at(ring);
	if (!watched)
		watched = watched_new(ring);
	if (watched && lock(watched)) {
		meet(watched, ring);
		ends_look(watched, ring);
		if (caller)
			begins_look(watched, ring, caller);
		unlock(watched);
	} else if (caller) {
		struct hp_future *future = hp_future_of_code(HP_FUTURE_URING, caller);

		for (uint32_t at = ring->sq.own_head; future && at != ring->sq.own_tail; at++)
			begin_unknown(future);
	}
	errno = saved;
}

/* `caller`: the real call submits, for that code; 0 = it does not. */
static void look(const struct hp_uring *ring, uintptr_t caller)
{
	if (is_counted())
		look_at(ring, caller);
}

/* --- stand-ins --- */

static uint32_t ready(const struct hp_uring *ring)
{
	return is_known_layout(ring) ? shared(ring->cq.tail) - *ring->cq.head : 0;
}

/* The loop's source is the number of its only completion. */
static void turn_end(const struct hp_turn *turn, const struct hp_uring *ring, int64_t asked_ns)
{
	uint32_t count = turn->loop ? ready(ring) : 0;
	struct hp_cqe entry;

	hp_turn_end(turn, (int)count,
		    turn->loop && is_known_layout(ring) ? (int)*ring->cq.mask + 1 : 0, asked_ns);
	if (!turn->loop)
		return;
	hp_looper()->only_call = 0;
	if (count && turn->loop->sources < 2 && completion(ring, *ring->cq.head, &entry))
		hp_loop_source(turn->loop, entry.user_data);
}

static int64_t ns_of(const struct hp_uring_time *time)
{
	return time ? time->seconds * 1000000000 + time->ns : -1;
}

#define TURN(real) \
	struct hp_turn turn; \
	int result; \
\
	hp_turn_begin(&turn, HP_CALLER, HP_LOOP_URING, HP_ON_POLL); \
	hp_lock_sleeps(); \
	result = real

/* A program that calls liburing cannot get here without it. */
#define NONE (-ENOSYS)

HP_EXPORT int io_uring_submit(struct hp_uring *ring)
{
	io_uring_submit_type real = FIND(io_uring_submit);
	int result;

	if (!real)
		return NONE;
	if (HP_UNLIKELY(hp_uring_is_without))
		return real(ring);
	look(ring, HP_CALLER);
	result = real(ring);
	look(ring, 0);
	return result;
}

HP_EXPORT int io_uring_submit_and_wait(struct hp_uring *ring, unsigned least)
{
	io_uring_submit_and_wait_type real = FIND(io_uring_submit_and_wait);

	if (!real)
		return NONE;
	if (HP_UNLIKELY(hp_uring_is_without))
		return real(ring, least);
	look(ring, HP_CALLER);
	TURN(real(ring, least));
	turn_end(&turn, ring, least ? -1 : 0);
	look(ring, 0);
	return result;
}

HP_EXPORT int io_uring_submit_and_wait_timeout(struct hp_uring *ring, struct hp_cqe **first,
					       unsigned least, struct hp_uring_time *timeout,
					       sigset_t *mask)
{
	io_uring_submit_and_wait_timeout_type real = FIND(io_uring_submit_and_wait_timeout);

	if (!real)
		return NONE;
	if (HP_UNLIKELY(hp_uring_is_without))
		return real(ring, first, least, timeout, mask);
	look(ring, HP_CALLER);
	TURN(real(ring, first, least, timeout, mask));
	turn_end(&turn, ring, ns_of(timeout));
	look(ring, 0);
	return result;
}

HP_EXPORT int io_uring_submit_and_get_events(struct hp_uring *ring)
{
	io_uring_submit_and_get_events_type real = FIND(io_uring_submit_and_get_events);
	int result;

	if (!real)
		return NONE;
	if (HP_UNLIKELY(hp_uring_is_without))
		return real(ring);
	look(ring, HP_CALLER);
	result = real(ring);
	look(ring, 0);
	return result;
}

HP_EXPORT int io_uring_get_events(struct hp_uring *ring)
{
	io_uring_get_events_type real = FIND(io_uring_get_events);
	int result;

	if (!real)
		return NONE;
	if (HP_UNLIKELY(hp_uring_is_without))
		return real(ring);
	result = real(ring);
	look(ring, 0);
	return result;
}

/* Old kernels need a request for a timeout, so liburing submits. */
#define submits(ring, timeout) \
	((timeout) && !((ring)->features & HP_URING_TIMED_WAITS) ? HP_CALLER : 0)

HP_EXPORT int io_uring_wait_cqes(struct hp_uring *ring, struct hp_cqe **first, unsigned least,
				 struct hp_uring_time *timeout, sigset_t *mask)
{
	io_uring_wait_cqes_type real = FIND(io_uring_wait_cqes);

	if (!real)
		return NONE;
	if (HP_UNLIKELY(hp_uring_is_without))
		return real(ring, first, least, timeout, mask);
	look(ring, submits(ring, timeout));
	TURN(real(ring, first, least, timeout, mask));
	turn_end(&turn, ring, ns_of(timeout));
	look(ring, 0);
	return result;
}

HP_EXPORT int io_uring_wait_cqe_timeout(struct hp_uring *ring, struct hp_cqe **first,
					struct hp_uring_time *timeout)
{
	io_uring_wait_cqe_timeout_type real = FIND(io_uring_wait_cqe_timeout);

	if (!real)
		return NONE;
	if (HP_UNLIKELY(hp_uring_is_without))
		return real(ring, first, timeout);
	look(ring, submits(ring, timeout));
	TURN(real(ring, first, timeout));
	turn_end(&turn, ring, ns_of(timeout));
	look(ring, 0);
	return result;
}

HP_EXPORT unsigned io_uring_peek_batch_cqe(struct hp_uring *ring, struct hp_cqe **entries,
					   unsigned most)
{
	io_uring_peek_batch_cqe_type real = FIND(io_uring_peek_batch_cqe);
	unsigned result;

	if (!real)
		return 0;
	result = real(ring, entries, most);
	look(ring, 0);
	return result;
}

/* Used by the inline functions that wait. */
HP_EXPORT int __io_uring_get_cqe(struct hp_uring *ring, struct hp_cqe **first, unsigned submitted,
				 unsigned least, sigset_t *mask)
{
	__io_uring_get_cqe_type real = FIND(__io_uring_get_cqe);

	if (!real)
		return NONE;
	if (HP_UNLIKELY(hp_uring_is_without))
		return real(ring, first, submitted, least, mask);
	look(ring, 0);
	TURN(real(ring, first, submitted, least, mask));
	turn_end(&turn, ring, least ? -1 : 0);
	look(ring, 0);
	return result;
}

HP_EXPORT void io_uring_queue_exit(struct hp_uring *ring)
{
	io_uring_queue_exit_type real = FIND(io_uring_queue_exit);
	struct watched *watched = is_counted() ? watched_at(ring) : NULL;

	if (watched) {
		look(ring, 0);
		atomic_store_explicit(&watched->ring, 0, memory_order_release);
	}
	if (real)
		real(ring);
}
