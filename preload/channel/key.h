/* SPDX-License-Identifier: MIT */
/*
 * key.h - channels without descriptors: queues at an address, or with a number.
 */
#ifndef HP_PRELOAD_CHANNEL_KEY_H
#define HP_PRELOAD_CHANNEL_KEY_H

#include "preload/channel/channel.h"
#include "preload/guest/guest.h"
#include "util/hash.h"

/* Numbers beside addresses. */
#define HP_KEY_SYSV (UINT64_C(1) << 63)
#define HP_KEY_CUSTOM (UINT64_C(1) << 62)	/* with an address */

#define HP_KEY_THREAD (UINT64_C(1) << 61)	/* the same */

#define HP_KEYS_BITS 13	/* log2 of the places */
#define HP_KEY_PROBES 16

struct hp_channel_key {
	_Atomic uint64_t key;	/* 0 = never used */
	_Atomic uint64_t lane;	/* its id; 0 = no longer exists */
	_Atomic uint64_t holders;	/* references that are known; 0 = unknown */
	uint64_t reserved;
};

/* In pages that a forked child finds empty: there it has its own queues. */
extern HP_HIDDEN struct hp_channel_key *hp_channel_keys;

static HP_HOT uint64_t hp_channel_key_index(uint64_t key)
{
	return key * HP_HASH_GOLDEN >> (64 - HP_KEYS_BITS);
}

/* NULL = not known. */
struct hp_lane *hp_channel_key_find(uint64_t key);

static HP_HOT struct hp_lane *hp_channel_key_lane(uint64_t key)
{
	const struct hp_channel_key *place;
	uint64_t lane;

	if (HP_UNLIKELY(!hp_channel_keys))
		return NULL;
	place = &hp_channel_keys[hp_channel_key_index(key)];
	lane = atomic_load_explicit(&place->lane, memory_order_relaxed);
	if (HP_LIKELY(atomic_load_explicit(&place->key, memory_order_relaxed) == key && lane))
		return hp_channel_lane(lane);
	return hp_channel_key_find(key);
}

/* A lane for it, as given, whatever there was before; NULL = no room. */
struct hp_lane *hp_channel_key_make(uint64_t key, const struct hp_channel_wish *wish);

/* The same, if `lane` is NULL; else that one. */
struct hp_lane *hp_channel_key_take(uint64_t key, struct hp_lane *lane,
				    const struct hp_channel_wish *wish);

/* One reference more; one less: returns true if it was the last known one. */
void hp_channel_key_hold(uint64_t key);
bool hp_channel_key_drop(uint64_t key);

/* It no longer exists. */
void hp_channel_key_gone(uint64_t key);

/* Forgets all. */
void hp_channel_key_forget(void);

#endif
