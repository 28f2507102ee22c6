/* SPDX-License-Identifier: MIT */
/*
 * tids.c - see tids.h.
 */
#include "sampler/base/tids.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_FIRST 64

static uint32_t *slot_of(const struct hp_tids *tids, uint32_t tid)
{
	uint32_t at = tid * UINT32_C(0x9E3779B1);

	for (;; at++) {
		uint32_t *slot = &tids->slots[at & (tids->room - 1)];

		if (!*slot || *slot == tid)
			return slot;
	}
}

static bool grow(struct hp_tids *tids)
{
	struct hp_tids larger = { .room = tids->room ? tids->room * 2 : ROOM_FIRST,
				  .count = tids->count };

	if (tids->count * 2 < tids->room)
		return true;
	larger.slots = calloc(larger.room, sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (uint32_t i = 0; i < tids->room; i++)
		if (tids->slots[i])
			*slot_of(&larger, tids->slots[i]) = tids->slots[i];
	free(tids->slots);
	*tids = larger;
	return true;
}

bool hp_tids_add(struct hp_tids *tids, uint32_t tid)
{
	uint32_t *slot;

	if (!tid || !grow(tids))
		return false;
	slot = slot_of(tids, tid);
	if (*slot)
		return false;
	*slot = tid;
	tids->count++;
	return true;
}

bool hp_tids_has(const struct hp_tids *tids, uint32_t tid)
{
	return tid && tids->room && *slot_of(tids, tid) == tid;
}

void hp_tids_release(struct hp_tids *tids)
{
	free(tids->slots);
	memset(tids, 0, sizeof(*tids));
}
