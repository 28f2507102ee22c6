/* SPDX-License-Identifier: MIT */
/*
 * ring.h - the rings of liburing, and the requests in them.
 *
 * A program fills in submissions and takes completions by inline functions, which we do not see.
 * So each stand-in looks at both rings: entries not yet submitted begin, and completions
 * that arrived since the last look end. A completion stays readable after the program has taken it
 * until the kernel reuses its place: up to as many as the ring holds keep their identity.
 *
 * Threads may share a ring.  Nobody waits: a thread that finds another one looking leaves the
 * rest to it or to the next look.
 */
#ifndef HP_PRELOAD_FUTURE_RING_H
#define HP_PRELOAD_FUTURE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/future/uring.h"
#include "preload/guest/above.h"

extern const struct hp_recorder hp_ring_recorder;

/*
 * `caller`: the real call submits, for that code; 0 = it does not.  `now`: ticks; 0 = not read yet.
 * Returns them; 0 = they were not needed.
 */
uint64_t hp_ring_look(const struct hp_uring *ring, uintptr_t caller, uint64_t now);

/* It is about to be closed. */
void hp_ring_close(const struct hp_uring *ring);

static inline uint32_t hp_ring_word(const uint32_t *word)
{
	/* Acquire: the kernel has written the entries before its tail. */
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline bool hp_ring_holds(const struct hp_completions *cq, const void *word)
{
	return (uintptr_t)word - (uintptr_t)cq->ring < cq->ring_size;
}

/*
 * liburing 0.7 and before (liburing.so.1) had shorter structs: there our words are others, and
 * do not point into what we take for the ring.
 */
static inline bool hp_ring_is_known(const struct hp_uring *ring)
{
	const struct hp_completions *cq = &ring->cq;

	return hp_ring_holds(cq, cq->tail) && hp_ring_holds(cq, cq->head) &&
	       hp_ring_holds(cq, cq->mask) && hp_ring_holds(cq, cq->entries);
}

/* Completions that the program has not taken. */
static inline uint32_t hp_ring_ready(const struct hp_uring *ring)
{
	return hp_ring_word(ring->cq.tail) - *ring->cq.head;
}

/*
 * False = the kernel may have overwritten it meanwhile.  It writes the place behind its tail if the
 * program has taken what was there.
 */
static inline bool hp_ring_completion(const struct hp_uring *ring, uint32_t at,
				      struct hp_cqe *entry)
{
	const struct hp_cqe *there = &ring->cq.entries[(size_t)(at & *ring->cq.mask)
						       << ((ring->flags & HP_URING_CQE_32) != 0)];

	entry->user_data = __atomic_load_n(&there->user_data, __ATOMIC_RELAXED);
	entry->result = __atomic_load_n(&there->result, __ATOMIC_RELAXED);
	entry->flags = __atomic_load_n(&there->flags, __ATOMIC_RELAXED);
	atomic_thread_fence(memory_order_acquire);
	return (int32_t)(at - hp_ring_word(ring->cq.head)) >= 0 ||
	       hp_ring_word(ring->cq.tail) - at <= *ring->cq.mask;
}

#endif
