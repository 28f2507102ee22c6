/* SPDX-License-Identifier: MIT */
/*
 * map.h - from a number to a number: offsets of the segment to places in arrays.
 *
 * Open addressing, at most half full.  Keys are not 0.
 */
#ifndef HP_REPORT_BASE_MAP_H
#define HP_REPORT_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_map_slot {
	uint64_t key;	/* 0 = empty */
	uint32_t value;
};

struct hp_map {
	struct hp_map_slot *slots;
	size_t count;
	unsigned bits;	/* 2^bits slots; 0 = none yet */
};

#define HP_MAP_NONE \
	{ \
		.slots = NULL, .count = 0, .bits = 0 \
	}

/*
 * Pointer to the value of `key`; valid until the next call.  A new key gets the
 * value 0 and sets *is_new.
 */
uint32_t *hp_map_at(struct hp_map *map, uint64_t key, bool *is_new);

/* The same without inserting: NULL = absent. */
const uint32_t *hp_map_find(const struct hp_map *map, uint64_t key);

/* Makes an empty map large enough for `count` keys; memory is only used as they are added. */
void hp_map_reserve(struct hp_map *map, size_t count);

/* Forgets the keys, keeps the memory. */
void hp_map_clear(struct hp_map *map);
void hp_map_release(struct hp_map *map);

#endif
