/* SPDX-License-Identifier: MIT */
/*
 * seq.h - records that are overwritten while others read them.
 *
 * Used for the last calls of a function, their results and the messages of a
 * channel. The writer overwrites the oldest record and never waits; a reader
 * gets a complete record or none. One word of the record is its version: 0 (or
 * HP_SEQ_BUSY) while the record is being written, otherwise a number that is
 * never reused for different contents of the same place.
 *
 *   writer                               reader
 *   hp_seq_begin     version = 0         hp_seq_look     version
 *   hp_seq_set       the words           hp_seq_get      the words
 *   hp_seq_end       version = number    hp_seq_is_same  version again
 *
 * Each word is stored with release and loaded with acquire. Suppose the reader
 * saw version n both times.
 *
 *   - Could a word be newer than n? Then a later writer stored it after
 *     clearing n. The load of that word acquired everything before its store,
 *     so the second read of the version would not have found n.
 *   - Could a word be older? All were stored before n, and the first read acquired n.
 *
 * So the words belong to n. No fence is needed, ThreadSanitizer understands the
 * pattern, and on x86-64 each store and load is a plain instruction. On arm64
 * they are stlr and ldar.
 *
 * A writer killed half-way leaves version 0: only that record is lost.
 * hp_seq_begin is for places with one writer at a time; with several writers,
 * hp_seq_claim admits one.
 *
 * Other data does not need this: data set once and found by its offset only
 * needs a release store of the offset; a queue whose reader holds back the
 * writer is a ring (ring.h); a single word needs neither.
 */
#ifndef HP_SEGMENT_SEQ_H
#define HP_SEGMENT_SEQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HP_SEQ_BUSY UINT64_MAX	/* the version of a claimed place */
#define HP_SEQ_TRIES 100	/* then a reader stops trying: the place is always being written */

/* A word of a record of any type. */
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
 * Claims the place if its version is `was` and nobody else writes it. Acquire:
 * our words come after those of the previous writer.
 */
static inline bool hp_seq_claim_if(uint64_t *version, uint64_t was)
{
	return was != HP_SEQ_BUSY &&
	       __atomic_compare_exchange_n(version, &was, HP_SEQ_BUSY, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* The same for any version. False = another writer was faster, and this one stops trying. */
static inline bool hp_seq_claim(uint64_t *version)
{
	return hp_seq_claim_if(version, __atomic_load_n(version, __ATOMIC_RELAXED));
}

/* A word of the record, an integer of any size. */
#define hp_seq_set(word, value) __atomic_store_n(word, value, __ATOMIC_RELEASE)

/* Two adjacent 32-bit fields that start at a word boundary, in one store. */
static inline void hp_seq_set_pair(uint32_t *first, uint32_t low, uint32_t high)
{
	hp_seq_set((hp_seq_word *)(void *)first, low | (uint64_t)high << 32);
}

/* Copies bytes into words of the record; the last word is padded with zeroes. */
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

/* 0 and HP_SEQ_BUSY = being written; 0 also if never used. */
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

/* Copies words of the record to bytes; the last word is complete. */
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
 * A record that always exists once written: its version counts up and is odd
 * during a write. A killed writer leaves it odd, and the next one continues
 * with the next even count.
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
 * Copies it. False = it was being written at every attempt, perhaps by a killed
 * writer; then the copy may mix two versions.
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
