/* SPDX-License-Identifier: MIT */
/*
 * seq.h - records that are written over while others read them.
 *
 * The last calls of a function, their results, the messages of a channel: the
 * writer goes round and never waits, and a reader takes a record as a whole or
 * not at all.  One word of the record is its version.  It is 0 (or HP_SEQ_BUSY)
 * while the record is written and a number otherwise, and no two contents of a
 * place have the same number.
 *
 *   writer                               reader
 *   hp_seq_begin     version = 0         hp_seq_look     version
 *   hp_seq_set       the words           hp_seq_get      the words
 *   hp_seq_end       version = number    hp_seq_is_same  version again
 *
 * Each word is stored by release and loaded by acquire.  Say that the reader has
 * seen the number n both times.
 *
 *   - Could a word be newer than n?  Then a later writer stored it, after it had
 *     taken n back.  The word's load acquired what came before its store, so the
 *     second look would have found n gone.
 *   - Could a word be older?  All of them were stored before n was, and the first
 *     look acquired n.
 *
 * So the words are those of n.  No fence is needed, ThreadSanitizer follows the
 * argument, and on x86-64 each store and load is a plain one.  On arm64 they are
 * stlr and ldar.
 *
 * A writer that is killed half-way leaves the version 0: the record is lost, and
 * nothing else.  hp_seq_begin is for places with one writer at a time; where
 * several may come to one place, hp_seq_claim lets one of them in.
 *
 * What does not look like this: data that is set once and found by its offset
 * needs a release store of the offset only; a queue whose reader keeps the writer
 * back is a ring (ring.h); a single word needs neither.
 */
#ifndef HP_SEGMENT_SEQ_H
#define HP_SEGMENT_SEQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HP_SEQ_BUSY UINT64_MAX	/* the version of a place that somebody has claimed */
#define HP_SEQ_TRIES 100	/* of a reader; by then the place is its writer's all the time */

/* A word of a record, whatever its fields are. */
typedef uint64_t __attribute__((may_alias)) hp_seq_word;

/* --- the writer --- */

static inline void hp_seq_begin(uint64_t *version)
{
	__atomic_store_n(version, 0, __ATOMIC_RELAXED);
}

static inline void hp_seq_begin_32(uint32_t *version)
{
	__atomic_store_n(version, 0, __ATOMIC_RELAXED);
}

/*
 * Takes the place if its version is `was`, and nobody else writes there.  Acquire:
 * our words come after those of who wrote last.
 */
static inline bool hp_seq_claim_if(uint64_t *version, uint64_t was)
{
	return was != HP_SEQ_BUSY &&
	       __atomic_compare_exchange_n(version, &was, HP_SEQ_BUSY, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* The same whatever is there.  False = another writer was faster: this one gives way. */
static inline bool hp_seq_claim(uint64_t *version)
{
	return hp_seq_claim_if(version, __atomic_load_n(version, __ATOMIC_RELAXED));
}

/* A word of the record, an integer of any size. */
#define hp_seq_set(word, value) __atomic_store_n(word, value, __ATOMIC_RELEASE)

/* Two fields of 32 bits beside each other, the first of which is at a word's begin: one store. */
static inline void hp_seq_set_pair(uint32_t *first, uint32_t low, uint32_t high)
{
	hp_seq_set((hp_seq_word *)(void *)first, low | (uint64_t)high << 32);
}

/* Bytes into words of the record, the last of which is filled up with zeroes. */
static inline void hp_seq_put(void *words, const void *bytes, size_t size)
{
	const char *from = bytes;
	hp_seq_word *to = words;
	uint64_t word;

	for (; size >= sizeof(word); size -= sizeof(word), from += sizeof(word)) {
		memcpy(&word, from, sizeof(word));
		hp_seq_set(to++, word);
	}
	if (size) {
		word = 0;
		memcpy(&word, from, size);
		hp_seq_set(to, word);
	}
}

static inline void hp_seq_end(uint64_t *version, uint64_t number)
{
	__atomic_store_n(version, number, __ATOMIC_RELEASE);
}

static inline void hp_seq_end_32(uint32_t *version, uint32_t number)
{
	__atomic_store_n(version, number, __ATOMIC_RELEASE);
}

/* --- the reader --- */

/* 0 and HP_SEQ_BUSY = it is being written; 0 also if it was never used. */
static inline uint64_t hp_seq_look(const uint64_t *version)
{
	return __atomic_load_n(version, __ATOMIC_ACQUIRE);
}

static inline uint32_t hp_seq_look_32(const uint32_t *version)
{
	return __atomic_load_n(version, __ATOMIC_ACQUIRE);
}

#define hp_seq_get_word(word) __atomic_load_n(word, __ATOMIC_ACQUIRE)

static inline void hp_seq_get_pair(const uint32_t *first, uint32_t *low, uint32_t *high)
{
	uint64_t word = hp_seq_get_word((const hp_seq_word *)(const void *)first);

	*low = (uint32_t)word;
	*high = (uint32_t)(word >> 32);
}

/* Words of the record as bytes; the last word is there as a whole. */
static inline void hp_seq_get(void *bytes, const void *words, size_t size)
{
	const hp_seq_word *from = words;
	char *to = bytes;
	uint64_t word;

	for (; size >= sizeof(word); size -= sizeof(word), to += sizeof(word)) {
		word = hp_seq_get_word(from++);
		memcpy(to, &word, sizeof(word));
	}
	if (size) {
		word = hp_seq_get_word(from);
		memcpy(to, &word, size);
	}
}

static inline bool hp_seq_is_same(const uint64_t *version, uint64_t number)
{
	return __atomic_load_n(version, __ATOMIC_RELAXED) == number;
}

static inline bool hp_seq_is_same_32(const uint32_t *version, uint32_t number)
{
	return __atomic_load_n(version, __ATOMIC_RELAXED) == number;
}

/* --- a count instead of a number --- */

/*
 * One record that is always there, once it was written: its version counts, and is
 * odd while it is written.  A writer that was killed leaves it odd, and the next one
 * goes on with the next even count.
 */
static inline void hp_seq_count_begin(uint32_t *count)
{
	uint32_t before = __atomic_load_n(count, __ATOMIC_RELAXED);

	__atomic_store_n(count, before | 1, __ATOMIC_RELAXED);
}

static inline void hp_seq_count_end(uint32_t *count)
{
	uint32_t before = __atomic_load_n(count, __ATOMIC_RELAXED);

	__atomic_store_n(count, before + 1, __ATOMIC_RELEASE);
}

/*
 * Copies it.  False = it was being written each time, perhaps by somebody who was killed:
 * then the copy may be half of one and half of the next.
 */
static inline bool hp_seq_count_copy(void *copy, const void *words, size_t size,
				     const uint32_t *count)
{
	for (int tries = 0; tries < HP_SEQ_TRIES; tries++) {
		uint32_t before = hp_seq_look_32(count);

		hp_seq_get(copy, words, size);
		if (!(before & 1) && hp_seq_is_same_32(count, before))
			return true;
	}
	return false;
}

#endif
