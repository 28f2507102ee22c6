/* SPDX-License-Identifier: MIT */
/*
 * map.c - an open-addressing hash table.
 */
#include "report/base/map.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"
#include "util/hash.h"

#define FIRST_BITS 6

/* Fibonacci hashing (Knuth, TAOCP 6.4), after folding the high half down. */
static size_t first_place(const struct hp_map *map, uint64_t key)
{
	key ^= key >> 32;
	return (size_t)((key * HP_HASH_GOLDEN) >> (64 - map->bits));
}

static struct hp_map_slot *slot_of(const struct hp_map *map, uint64_t key)
{
	size_t mask = ((size_t)1 << map->bits) - 1;
	size_t i = first_place(map, key);

	while (map->slots[i].key && map->slots[i].key != key)
		i = (i + 1) & mask;
	return &map->slots[i];
}

static void grow(struct hp_map *map, unsigned bits)
{
	struct hp_map old = *map;
	size_t old_size = old.bits ? (size_t)1 << old.bits : 0;

	map->bits = bits;
	map->slots = hp_xcalloc((size_t)1 << map->bits, sizeof(*map->slots));
	for (size_t i = 0; i < old_size; i++)
		if (old.slots[i].key)
			*slot_of(map, old.slots[i].key) = old.slots[i];
	free(old.slots);
}

uint32_t *hp_map_at(struct hp_map *map, uint64_t key, bool *is_new)
{
	struct hp_map_slot *slot;

	if (!map->bits || map->count * 2 >= (size_t)1 << map->bits)
		grow(map, map->bits ? map->bits + 1 : FIRST_BITS);
	slot = slot_of(map, key);
	*is_new = slot->key == 0;
	if (*is_new) {
		slot->key = key;
		map->count++;
	}
	return &slot->value;
}

const uint32_t *hp_map_find(const struct hp_map *map, uint64_t key)
{
	const struct hp_map_slot *slot = map->bits && key ? slot_of(map, key) : NULL;

	return slot && slot->key ? &slot->value : NULL;
}

void hp_map_reserve(struct hp_map *map, size_t count)
{
	unsigned bits = FIRST_BITS;

	while (count * 2 >= (size_t)1 << bits)
		bits++;
	if (map->count == 0 && bits > map->bits)
		grow(map, bits);
}

void hp_map_clear(struct hp_map *map)
{
	if (map->bits)
		memset(map->slots, 0, sizeof(*map->slots) << map->bits);
	map->count = 0;
}

void hp_map_release(struct hp_map *map)
{
	free(map->slots);
	*map = (struct hp_map)HP_MAP_NONE;
}
