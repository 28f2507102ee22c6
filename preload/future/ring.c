/* SPDX-License-Identifier: MIT */
/*
 * ring.c - see ring.h.
 *
 * What a look needs is kept with the ring while it stays the same: that its layout is known, the
 * place that submits, and flights of that place that are free. Only the thread that looks uses
 * these, so a request needs few atomic instructions.
 */
#include "preload/future/ring.h"

#include <errno.h>
#include <stdatomic.h>

#include "preload/future/future.h"
#include "preload/future/request.h"
#include "preload/guest/absent.h"
#include "preload/guest/bulky.h"
#include "util/hash.h"

#define RINGS_BITS 6
#define RINGS (1 << RINGS_BITS)	/* watched at a time; further ones are not recorded */
#define LIBURINGS_OWN UINT64_MAX	/* the number of requests that liburing itself makes */

/* What is known of one ring. */
struct watched {
	_Atomic uintptr_t ring;	/* 0 = free */
	_Atomic uint32_t looker;	/* pid while a thread looks; after a fork maybe its parent */
	_Atomic uint32_t seen;	/* completions up to here have been handled */
	const uint32_t *_Atomic tail;	/* then: another ring may be at the same address now */
	const struct hp_process *_Atomic process;	/* that the next ones belong to; NULL = none */
	struct hp_future *unseen;	/* where its first request began: has the number of unseen ends */

	uintptr_t site;	/* code that submitted last; 0 = not known, */
	uint64_t generation;	/* hp_absent_generation then, */
	struct hp_future *future;	/* and its place, */
	struct hp_future_log *log;	/* with its log; NULL = no room */
	struct hp_flight *spare;	/* free ones of it, by `next_free` */
	struct hp_requests requests;
} __attribute__((aligned(2 * HP_LINE)));

HP_BULKY static struct watched rings[RINGS];

/* --- rings --- */

static uint32_t first_of(uintptr_t ring)
{
	return (uint32_t)hp_hash_index(ring, RINGS_BITS);
}

static struct watched *watched_at(const struct hp_uring *ring)
{
	uint32_t first = first_of((uintptr_t)ring);

	for (uint32_t i = 0; i < RINGS; i++) {
		struct watched *watched = &rings[(first + i) % RINGS];

		if (atomic_load_explicit(&watched->ring, memory_order_acquire) == (uintptr_t)ring)
			return watched;
	}
	return NULL;
}

static struct watched *watched_new(const struct hp_uring *ring)
{
	uint32_t first = first_of((uintptr_t)ring);

	for (uint32_t i = 0; i < RINGS; i++) {
		struct watched *watched = &rings[(first + i) % RINGS];
		uintptr_t none = 0;

		if (atomic_compare_exchange_strong(&watched->ring, &none, (uintptr_t)ring))
			return watched;
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

static bool is_known_layout(const struct hp_uring *ring)
{
	const struct hp_submissions *sq = &ring->sq;

	return hp_ring_is_known(ring) &&
	       (uintptr_t)sq->head - (uintptr_t)sq->ring < sq->ring_size &&
	       (uintptr_t)sq->mask - (uintptr_t)sq->ring < sq->ring_size;
}

/* It is the ring that we know, in the process that we know it of. */
static bool is_met(const struct watched *watched, const struct hp_uring *ring)
{
	const struct hp_process *process =
		atomic_load_explicit(&watched->process, memory_order_relaxed);

	return process && process == hp_self->process &&
	       atomic_load_explicit(&watched->tail, memory_order_relaxed) == ring->cq.tail;
}

static void spares_give(struct watched *watched)
{
	while (watched->spare) {
		struct hp_flight *flight = watched->spare;

		watched->spare = flight->next_free ? hp_request_record(flight->next_free) : NULL;
		hp_flight_give(watched->future, flight);
	}
}

/* The first look at a ring sees what the program has not taken yet. */
static HP_COLD void meet(struct watched *watched, const struct hp_uring *ring)
{
	if (atomic_load_explicit(&watched->process, memory_order_relaxed) == hp_self->process)
		spares_give(watched);
	watched->spare = NULL;
	atomic_store_explicit(&watched->seen, hp_ring_word(ring->cq.head), memory_order_relaxed);
	atomic_store_explicit(&watched->tail, ring->cq.tail, memory_order_relaxed);
	atomic_store_explicit(&watched->process, hp_self->process, memory_order_relaxed);
	watched->unseen = watched->future = NULL;
	watched->site = 0;
	hp_requests_clear(&watched->requests);
}

static void dropped(void)
{
	for (int i = 0; i < RINGS; i++)
		atomic_store_explicit(&rings[i].process, NULL, memory_order_relaxed);
}

const struct hp_recorder hp_ring_recorder = { .dropped = dropped };

/* --- requests --- */

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

static struct hp_flight *flight_take(struct watched *watched, struct hp_future *future)
{
	struct hp_flight *flight = watched->spare;

	if (HP_UNLIKELY(!flight || future != watched->future))
		return hp_flight_take(future);
	watched->spare = flight->next_free ? hp_request_record(flight->next_free) : NULL;
	return flight;
}

static void flight_give(struct watched *watched, struct hp_future *future, struct hp_flight *flight)
{
	const struct hp_flight *spare = watched->spare;

	if (HP_UNLIKELY(future != watched->future)) {
		hp_flight_give(future, flight);
		return;
	}
	flight->next_free = spare ? hp_request_line(spare) : 0;
	watched->spare = flight;
}

static HP_HOT void finish(struct watched *watched, struct hp_request *request, uint64_t now,
			  enum hp_future_state how)
{
	struct hp_future *future = hp_request_future(request);
	struct hp_flight *flight = hp_request_flight(request);

	hp_requests_take(&watched->requests, request);
	hp_flight_finish_asked(future == watched->future ? watched->log : hp_future_log_of(future),
			       flight, now, how);
	flight_give(watched, future, flight);
}

/* A request without identity counts as begun. */
static void lose(struct hp_future *future)
{
	atomic_fetch_add_explicit(&future->lost, 1, memory_order_relaxed);
}

static void begin(struct watched *watched, const struct hp_sqe *entry, uint64_t number,
		  uint64_t now)
{
	struct hp_future *future = watched->future;
	struct hp_request *earlier;
	struct hp_flight *flight;

	if (HP_UNLIKELY(entry->flags & HP_SQE_SILENT)) {
		lose(future);
		return;
	}
	if (HP_UNLIKELY(atomic_load_explicit(&watched->unseen->unseen, memory_order_relaxed))) {
		earlier = hp_requests_find(&watched->requests, entry->user_data);
		if (earlier && was_unseen(watched->unseen)) {
			hp_request_flight(earlier)->created = 0;
			finish(watched, earlier, now, HP_FUTURE_READY);
		}
	}
	flight = flight_take(watched, future);
	if (HP_UNLIKELY(!flight))
		return;
	if (HP_LIKELY(hp_requests_add(&watched->requests, entry->user_data, future, flight))) {
		hp_flight_start_asked(flight, number, now);
	} else {
		flight_give(watched, future, flight);
		lose(future);
	}
}

static HP_HOT void end(struct watched *watched, const struct hp_cqe *entry, uint64_t now)
{
	struct hp_request *request = hp_requests_find(&watched->requests, entry->user_data);
	struct hp_flight *flight;

	if (HP_UNLIKELY(!request))
		return;
	if (HP_LIKELY(!(entry->flags & HP_CQE_MORE))) {
		finish(watched, request, now,
		       entry->result == -ECANCELED ? HP_FUTURE_CANCELLED : HP_FUTURE_READY);
		return;
	}
	flight = hp_request_flight(request);
	flight->polls++;
	atomic_store_explicit(&flight->state, HP_FUTURE_SUSPENDED, memory_order_relaxed);
}

/* --- looks --- */

static const struct hp_sqe *submission(const struct hp_uring *ring, uint32_t at)
{
	return &ring->sq.entries[(size_t)(at & *ring->sq.mask)
				 << ((ring->flags & HP_URING_SQE_128) != 0)];
}

static void unseen_add(const struct watched *watched, uint64_t count)
{
	if (watched->unseen && count)
		atomic_fetch_add_explicit(&watched->unseen->unseen, count, memory_order_relaxed);
}

static void ends_look(struct watched *watched, const struct hp_uring *ring, uint64_t now)
{
	uint32_t at = atomic_load_explicit(&watched->seen, memory_order_relaxed);
	uint32_t tail = hp_ring_word(ring->cq.tail), size = *ring->cq.mask + 1;
	uint64_t unseen = 0;
	struct hp_cqe entry;

	if (HP_UNLIKELY(tail - at > size)) {
		unseen = tail - at - size;
		at = tail - size;
	}
	for (; at != tail; at++) {
		if (HP_LIKELY(hp_ring_completion(ring, at, &entry)))
			end(watched, &entry, now);
		else
			unseen++;
	}
	atomic_store_explicit(&watched->seen, tail, memory_order_relaxed);
	if (HP_UNLIKELY(unseen))
		unseen_add(watched, unseen);
}

/* The next request that ends is written there, once the kernel has used the caches. */
static HP_HOT void log_prefetch(struct hp_future_log *log)
{
	uint64_t next;

	if (HP_UNLIKELY(!log))
		return;
	next = atomic_load_explicit(&log->logged, memory_order_relaxed);
	__builtin_prefetch(&log->entries[next % HP_FUTURE_ENTRIES], 1);
}

static HP_COLD bool site_meet(struct watched *watched, uintptr_t caller)
{
	uint64_t generation = atomic_load_explicit(&hp_absent_generation, memory_order_relaxed);
	struct hp_future *future = hp_future_of_code(HP_FUTURE_URING, caller);

	if (!future)
		return false;
	if (future != watched->future)
		spares_give(watched);
	watched->future = future;
	watched->site = caller;
	watched->log = hp_future_log_of(future);
	watched->generation = generation;
	if (!watched->unseen)
		watched->unseen = future;
	return true;
}

static HP_HOT bool is_known_site(const struct watched *watched, uintptr_t caller)
{
	return watched->site == caller &&
	       watched->generation ==
		       atomic_load_explicit(&hp_absent_generation, memory_order_relaxed);
}

/*
 * Those that the real call is about to submit: own_head is where it starts. Their numbers are taken
 * at once; old kernels make liburing add its own, which are given back.
 */
static HP_HOT void begins_look(struct watched *watched, const struct hp_uring *ring,
			       uintptr_t caller, uint64_t now)
{
	const uint32_t end = ring->sq.own_tail;
	uint32_t at = ring->sq.own_head, foreign = 0;
	uint64_t number;

	if (at == end ||
	    (HP_UNLIKELY(!is_known_site(watched, caller)) && !site_meet(watched, caller)))
		return;
	log_prefetch(watched->log);
	number = atomic_fetch_add_explicit(&watched->future->calls, end - at, memory_order_relaxed);
	for (; at != end; at++) {
		const struct hp_sqe *entry = submission(ring, at);

		if (HP_LIKELY(entry->user_data != LIBURINGS_OWN))
			begin(watched, entry, ++number, now);
		else
			foreign++;
	}
	if (HP_UNLIKELY(foreign))
		atomic_fetch_sub_explicit(&watched->future->calls, foreign, memory_order_relaxed);
}

static HP_COLD void begin_unknown(const struct hp_uring *ring, uintptr_t caller)
{
	struct hp_future *future = hp_future_of_code(HP_FUTURE_URING, caller);
	uint32_t count = 0;

	for (uint32_t at = ring->sq.own_head; at != ring->sq.own_tail; at++)
		count += submission(ring, at)->user_data != LIBURINGS_OWN;
	if (!future || !count)
		return;
	atomic_fetch_add_explicit(&future->calls, count, memory_order_relaxed);
	atomic_fetch_add_explicit(&future->lost, count, memory_order_relaxed);
}

/* NULL = it is not recorded. */
static HP_COLD struct watched *watched_meet(const struct hp_uring *ring)
{
	struct watched *watched = NULL;
	int saved;

	if (hp_is_early())
		return NULL;
	saved = errno;
	if (!hp_uring_is_without && hp_future_is_wanted() && is_known_layout(ring) &&
	    !(ring->flags & HP_URING_MIXED) && hp_future_is_on()) {
		watched = watched_at(ring);
		if (!watched)
			watched = watched_new(ring);
	}
	errno = saved;
	return watched;
}

/* If another thread is looking, it handles what it finds. */
static HP_HOT bool has_news(const struct watched *watched, const struct hp_uring *ring,
			    uintptr_t caller)
{
	return hp_ring_word(ring->cq.tail) !=
		       atomic_load_explicit(&watched->seen, memory_order_relaxed) ||
	       (caller && ring->sq.own_head != ring->sq.own_tail);
}

/* The first look, or the process has changed.  False = another thread looks. */
static HP_COLD bool look_first(struct watched *watched, const struct hp_uring *ring)
{
	if (!lock(watched))
		return false;
	if (!is_met(watched, ring))
		meet(watched, ring);
	unlock(watched);
	return true;
}

uint64_t hp_ring_look(const struct hp_uring *ring, uintptr_t caller, uint64_t now)
{
	struct watched *watched = watched_at(ring);
	bool is_ours = watched && is_met(watched, ring);

	if (HP_UNLIKELY(!is_ours)) {
		watched = watched_meet(ring);
		if (!watched)
			return 0;
		is_ours = look_first(watched, ring);
	}
	if (!has_news(watched, ring, caller))
		return 0;
	if (!now)
		now = hp_ticks();
	if (HP_LIKELY(is_ours && lock(watched))) {
		ends_look(watched, ring, now);
		if (caller)
			begins_look(watched, ring, caller, now);
		unlock(watched);
	} else if (caller) {
		begin_unknown(ring, caller);
	}
	return now;
}

void hp_ring_close(const struct hp_uring *ring)
{
	struct watched *watched = watched_at(ring);

	if (!watched || !is_met(watched, ring))
		return;
	hp_ring_look(ring, 0, 0);
	if (!lock(watched))
		return;
	spares_give(watched);
	atomic_store_explicit(&watched->tail, NULL, memory_order_relaxed);
	unlock(watched);
	atomic_store_explicit(&watched->ring, 0, memory_order_release);
}
