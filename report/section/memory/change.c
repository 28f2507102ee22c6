/* SPDX-License-Identifier: MIT */
/*
 * change.c - see change.h.
 */
#include "report/section/memory/change.h"

#include <stdlib.h>
#include <string.h>

#include "report/base/memory.h"

static void room_make(struct hp_alloc_changes *changes, uint32_t place)
{
	size_t room = changes->at_room;

	if (place < room)
		return;
	room = (size_t)place + (size_t)place / 4 + 64;
	changes->at = hp_xrealloc(changes->at, room, sizeof(*changes->at));
	memset(changes->at + changes->at_room, 0, (room - changes->at_room) * sizeof(*changes->at));
	changes->at_room = room;
}

void hp_alloc_change(struct hp_alloc_changes *changes, uint32_t place,
		     const struct hp_alloc_sum *difference)
{
	room_make(changes, place);
	if (!changes->at[place]) {
		changes->list = hp_xgrow(changes->list, changes->count, &changes->room,
					 sizeof(*changes->list));
		changes->list[changes->count++] = (struct hp_alloc_change){ .place = place };
		changes->at[place] = (uint32_t)changes->count;
	}
	hp_alloc_add(&changes->list[changes->at[place] - 1].sum, difference);
}

void hp_alloc_changes_clear(struct hp_alloc_changes *changes)
{
	for (size_t i = 0; i < changes->count; i++)
		changes->at[changes->list[i].place] = 0;
	changes->count = 0;
}

void hp_alloc_changes_release(struct hp_alloc_changes *changes)
{
	free(changes->list);
	free(changes->at);
	*changes = (struct hp_alloc_changes){ .list = NULL };
}
