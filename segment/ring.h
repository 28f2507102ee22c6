/* SPDX-License-Identifier: MIT */
/*
 * ring.h - records of words from one writer to one reader; every loss is
 * noticed.
 *
 * Word numbers grow forever; number n is at words[n % size].  `head`,
 * owned by the writer, is the number of the next word; `tail`, owned by the
 * reader, that of the first unread word. tail <= head <= tail + size.  A
 * record's first word has its size in words in the lower half.
 *
 *   writer                                 reader
 *   hp_ring_begin  tail, acquire           hp_ring_look  head, acquire
 *   hp_ring_put    words                   hp_ring_take  words
 *   hp_ring_end    head, release           hp_ring_done  tail, release
 *
 *   - The words are complete when the reader sees them: it acquired a head
 *     that was released after them.
 *   - The words are free when the writer reuses them: it acquired a tail that
 *     was released after the reader's last access to them.
 *
 * So no word is written and read at the same time, and words need no atomics.
 * The writer counts records that do not fit. The role of writer or reader may
 * pass to another thread if the next one acquires state that the previous one
 * released.
 *
 * The reader trusts nothing: another program may have written the words. An
 * impossible size makes it drop everything in the ring.
 *
 * Kernel rings (perf) have their own memory order. Channel probes (hp_probe)
 * have several writers and readers.
 */
#ifndef HP_SEGMENT_RING_H
#define HP_SEGMENT_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/assert.h"

struct hp_ring {
	_Atomic uint64_t *head;
	_Atomic uint64_t *tail;
	uint64_t *words;
	uint64_t size;	/* of them, a power of two */
};

/* For a record with fields of these names. */
#define HP_RING(record) \
	{ \
		&(record)->head, &(record)->tail, (record)->words, \
			sizeof((record)->words) / sizeof((record)->words[0]) \
	}

/* Everything in it was read. */
static inline bool hp_ring_is_read(const struct hp_ring *ring)
{
	return atomic_load_explicit(ring->tail, memory_order_acquire) ==
	       atomic_load_explicit(ring->head, memory_order_relaxed);
}

/* --- the writer --- */

/* Room for `count` words from number *at on; false = full. */
static inline bool hp_ring_begin(const struct hp_ring *ring, uint64_t count, uint64_t *at)
{
	uint64_t tail = atomic_load_explicit(ring->tail, memory_order_acquire);

	HP_ASSERT((ring->size & (ring->size - 1)) == 0);
	*at = atomic_load_explicit(ring->head, memory_order_relaxed);
	return *at - tail + count <= ring->size;
}

static inline void hp_ring_put(const struct hp_ring *ring, uint64_t at, uint64_t word)
{
	ring->words[at & (ring->size - 1)] = word;
}

/* Publishes all words before number `head`. */
static inline void hp_ring_end(const struct hp_ring *ring, uint64_t head)
{
	HP_ASSERT(head - atomic_load_explicit(ring->tail, memory_order_relaxed) <= ring->size);
	atomic_store_explicit(ring->head, head, memory_order_release);
}

/* --- the reader --- */

/* The words from *tail up to the returned number are unread. */
static inline uint64_t hp_ring_look(const struct hp_ring *ring, uint64_t *tail)
{
	uint64_t head = atomic_load_explicit(ring->head, memory_order_acquire);

	*tail = atomic_load_explicit(ring->tail, memory_order_relaxed);
	/* More than a ring holds: it was corrupted, and reading to its end would never finish. */
	if (head - *tail > ring->size)
		*tail = head;
	return head;
}

/*
 * Copies the record at `tail`, of at least `least` words, into a buffer as
 * large as the ring. Returns its size in words; 0 = invalid.
 */
static inline uint32_t hp_ring_take(const struct hp_ring *ring, uint64_t tail, uint64_t head,
				    uint32_t least, uint64_t *copy)
{
	/* Read once: a writer that breaks the rules above must not change a checked value. */
	uint64_t first = __atomic_load_n(&ring->words[tail & (ring->size - 1)], __ATOMIC_RELAXED);
	uint32_t size = (uint32_t)first;

	if (size < least || size > head - tail)
		return 0;
	copy[0] = first;
	for (uint32_t i = 1; i < size; i++)
		copy[i] = ring->words[(tail + i) & (ring->size - 1)];
	return size;
}

/* Wipes words before they are released, so that they do not end up in a kept segment. */
static inline void hp_ring_wipe(const struct hp_ring *ring, uint64_t tail, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		ring->words[(tail + i) & (ring->size - 1)] = 0;
}

/* Releases all words before number `tail`. */
static inline void hp_ring_done(const struct hp_ring *ring, uint64_t tail)
{
	atomic_store_explicit(ring->tail, tail, memory_order_release);
}

#endif
