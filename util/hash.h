/* SPDX-License-Identifier: MIT */
/*
 * hash.h - hashes of numbers and of text, for tables in memory.
 *
 * Folder: util - small things that several layers need; headers only
 * May use:
 *
 * Nothing here is cryptographic, and no value is stored in a file, so a factor
 * may change between versions. Everything is inline and calls nothing, so the
 * library may use it inside the target, also in a signal handler.
 */
#ifndef HP_UTIL_HASH_H
#define HP_UTIL_HASH_H

#include <stddef.h>
#include <stdint.h>

/*
 * An odd factor without a pattern, from the SplitMix64 generator (Steele, Lea
 * and Flood, OOPSLA 2014).  The upper bits of a product with it are well mixed,
 * so one multiplication and a shift make a table's index.  The golden ratio
 * would make keys at some regular distances collide.
 */
#define HP_HASH_FACTOR UINT64_C(0xbf58476d1ce4e5b9)

/* 2^64 divided by the golden ratio: its multiples are spread evenly, so neighbouring keys land far apart. */
#define HP_HASH_GOLDEN UINT64_C(0x9e3779b97f4a7c15)

/* The upper `bits` of the product, 1 to 63: an index into a table of 2^bits places. */
static inline uint64_t hp_hash_index(uint64_t key, unsigned bits)
{
	return (key * HP_HASH_FACTOR) >> (64 - bits);
}

/*
 * Adds one number to `hash`.  The factor is one of MurmurHash3's final
 * step (A. Appleby, public domain); the shift lets the upper bits reach the
 * lower ones, which tables use.
 */
static inline uint64_t hp_hash_add(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0xff51afd7ed558ccd);
	return hash ^ hash >> 32;
}

/* Mixes all bits of a number (SplitMix64): distinct numbers have distinct results. */
static inline uint64_t hp_hash_mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* Adds each byte of a text, without its 0. */
static inline uint64_t hp_hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = hp_hash_add(hash, (unsigned char)*text);
	return hash;
}

/* FNV-1a over bytes (draft-eastlake-fnv); begin with HP_FNV_SEED. */
#define HP_FNV_SEED UINT64_C(0xcbf29ce484222325)

static inline uint64_t hp_fnv_byte(uint64_t hash, unsigned char byte)
{
	return (hash ^ byte) * UINT64_C(0x100000001b3);
}

static inline uint64_t hp_fnv(uint64_t hash, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < size; i++)
		hash = hp_fnv_byte(hash, at[i]);
	return hash;
}

/* The same over a text, without its 0. */
static inline uint64_t hp_fnv_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = hp_fnv_byte(hash, (unsigned char)*text);
	return hash;
}

#endif
