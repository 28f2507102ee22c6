/* SPDX-License-Identifier: MIT */
/*
 * ring.h - records of words from one writer to one reader, none of them lost
 * unseen.
 *
 * Words are numbered for ever; number n is at words[n % size].  `head` is the
 * number of the next word and the writer's, `tail` that of the first word which
 * was not read and the reader's.  tail <= head <= tail + size.  A record's first
 * word has its size in words in the lower half.
 *
 *   writer                                 reader
 *   hp_ring_begin  tail, acquire           hp_ring_look  head, acquire
 *   hp_ring_put    words                   hp_ring_take  words
 *   hp_ring_end    head, release           hp_ring_done  tail, release
 *
 *   - The reader's words are there: it acquired a head that was released behind
 *     them.
 *   - The writer's words are read: it acquired a tail that was released behind
 *     the reader's last look at them, or at what stands in their place.
 *
 * So no word is written and read at the same time, and words are plain.  What has
 * no room is the writer's to count.  Writer or reader may change, one at a time,
 * if who comes next acquires what the one before has released.
 *
 * The reader believes nothing: the words may be another program's doing.  A size
 * that cannot be makes it drop all that is there.
 *
 * Rings of the kernel (perf) have its own order, and what senders and receivers
 * of a channel share has several of both (hp_probe).
 */
#ifndef HP_SEGMENT_RING_H
#define HP_SEGMENT_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct hp_ring {
	_Atomic uint64_t *head;
	_Atomic uint64_t *tail;
	uint64_t *words;
	uint64_t size;	/* of them, a power of two */
};

/* Of a record that has them by these names. */
#define HP_RING(record) \
	{ \
		&(record)->head, &(record)->tail, (record)->words, \
			sizeof((record)->words) / sizeof((record)->words[0]) \
	}

/* Nothing in it was not read. */
static inline bool hp_ring_is_read(const struct hp_ring *ring)
{
	return atomic_load_explicit(ring->tail, memory_order_acquire) ==
	       atomic_load_explicit(ring->head, memory_order_relaxed);
}

/* --- the writer --- */

/* Room for `count` words from number *at on; false = there is none. */
static inline bool hp_ring_begin(const struct hp_ring *ring, uint64_t count, uint64_t *at)
{
	uint64_t tail = atomic_load_explicit(ring->tail, memory_order_acquire);

	*at = atomic_load_explicit(ring->head, memory_order_relaxed);
	return *at - tail + count <= ring->size;
}

static inline void hp_ring_put(const struct hp_ring *ring, uint64_t at, uint64_t word)
{
	ring->words[at & (ring->size - 1)] = word;
}

/* All words before number `head` are there. */
static inline void hp_ring_end(const struct hp_ring *ring, uint64_t head)
{
	atomic_store_explicit(ring->head, head, memory_order_release);
}

/* --- the reader --- */

/* The words from *tail up to the number that is returned were not read. */
static inline uint64_t hp_ring_look(const struct hp_ring *ring, uint64_t *tail)
{
	uint64_t head = atomic_load_explicit(ring->head, memory_order_acquire);

	*tail = atomic_load_explicit(ring->tail, memory_order_relaxed);
	/* More than a ring holds: somebody wrote over it, and to the end of it would be for ever. */
	if (head - *tail > ring->size)
		*tail = head;
	return head;
}

/*
 * Copies the record at `tail`, of `least` words or more, into room for a whole ring.
 * Returns its size in words; 0 = it makes no sense.
 */
static inline uint32_t hp_ring_take(const struct hp_ring *ring, uint64_t tail, uint64_t head,
				    uint32_t least, uint64_t *copy)
{
	/* Once: whoever breaks the rules above must not change what was checked. */
	uint64_t first = __atomic_load_n(&ring->words[tail & (ring->size - 1)], __ATOMIC_RELAXED);
	uint32_t size = (uint32_t)first;

	if (size < least || size > head - tail)
		return 0;
	copy[0] = first;
	for (uint32_t i = 1; i < size; i++)
		copy[i] = ring->words[(tail + i) & (ring->size - 1)];
	return size;
}

/* Before they are done with, words can be made unreadable for whoever keeps the segment. */
static inline void hp_ring_wipe(const struct hp_ring *ring, uint64_t tail, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		ring->words[(tail + i) & (ring->size - 1)] = 0;
}

/* All words before number `tail` may be written over. */
static inline void hp_ring_done(const struct hp_ring *ring, uint64_t tail)
{
	atomic_store_explicit(ring->tail, tail, memory_order_release);
}

#endif
