/* SPDX-License-Identifier: MIT */
/*
 * hook_uring.c - stand-ins of liburing, if the program has it (preload/guest/absent.h): requests
 * to the kernel as futures (ring.h), by the code that submits them, and waits for them as waits of an
 * event loop.
 *
 * The clock is read once before the real call and once after it, for both.
 */
#include <errno.h>

#include "preload/future/future.h"
#include "preload/future/ring.h"
#include "preload/future/uring.h"
#include "preload/guest/absent.h"
#include "preload/lock/lock.h"
#include "preload/loop/loop.h"

HP_URING_LIST(HP_ABSENT_REAL)

#define FIND HP_ABSENT_FIND

/* As hp_ring_look(), if futures may be recorded. */
static HP_HOT uint64_t look(const struct hp_uring *ring, uintptr_t caller, uint64_t now)
{
	return HP_LIKELY(hp_future_is_off) ? 0 : hp_ring_look(ring, caller, now);
}

/* --- stand-ins --- */

/* The loop's source is the number of its only completion. */
static HP_HOT void source_set(struct hp_loop *loop, const struct hp_uring *ring)
{
	struct hp_cqe entry;

	if (hp_ring_completion(ring, *ring->cq.head, &entry) &&
	    HP_UNLIKELY(!loop->sources || loop->source != entry.user_data))
		hp_loop_source(loop, entry.user_data);
}

/* After the real call, then the look at what it brought. */
static HP_HOT void turn_end(const struct hp_turn *turn, const struct hp_uring *ring,
			    int64_t asked_ns)
{
	bool is_known = turn->loop && hp_ring_is_known(ring);
	uint32_t count = is_known ? hp_ring_ready(ring) : 0;
	uint64_t now;

	now = hp_turn_end(turn, (int)count, is_known ? (int)*ring->cq.mask + 1 : 0, asked_ns);
	if (turn->loop) {
		hp_looper()->only_call = 0;
		if (count && turn->loop->sources < 2)
			source_set(turn->loop, ring);
	}
	look(ring, 0, now);
}

static int64_t ns_of(const struct hp_uring_time *time)
{
	return time ? time->seconds * 1000000000 + time->ns : -1;
}

/* `caller`: as for look(). */
#define TURN(caller, real) \
	struct hp_turn turn; \
	int result; \
\
	hp_turn_begin_at(&turn, HP_CALLER, HP_LOOP_URING, HP_ON_POLL, look(ring, caller, 0)); \
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
	look(ring, HP_CALLER, 0);
	result = real(ring);
	look(ring, 0, 0);
	return result;
}

HP_EXPORT int io_uring_submit_and_wait(struct hp_uring *ring, unsigned least)
{
	io_uring_submit_and_wait_type real = FIND(io_uring_submit_and_wait);

	if (!real)
		return NONE;
	if (HP_UNLIKELY(hp_uring_is_without))
		return real(ring, least);
	TURN(HP_CALLER, real(ring, least));
	turn_end(&turn, ring, least ? -1 : 0);
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
	TURN(HP_CALLER, real(ring, first, least, timeout, mask));
	turn_end(&turn, ring, ns_of(timeout));
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
	look(ring, HP_CALLER, 0);
	result = real(ring);
	look(ring, 0, 0);
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
	look(ring, 0, 0);
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
	TURN(submits(ring, timeout), real(ring, first, least, timeout, mask));
	turn_end(&turn, ring, ns_of(timeout));
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
	TURN(submits(ring, timeout), real(ring, first, timeout));
	turn_end(&turn, ring, ns_of(timeout));
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
	look(ring, 0, 0);
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
	TURN(0, real(ring, first, submitted, least, mask));
	turn_end(&turn, ring, least ? -1 : 0);
	return result;
}

HP_EXPORT void io_uring_queue_exit(struct hp_uring *ring)
{
	io_uring_queue_exit_type real = FIND(io_uring_queue_exit);

	if (!hp_future_is_off)
		hp_ring_close(ring);
	if (real)
		real(ring);
}
