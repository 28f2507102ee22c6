/* SPDX-License-Identifier: MIT */
/*
 * self.c - see self.h.
 */
#include "preload/guest/self.h"

#include <unistd.h>

#include "preload/guest/confine.h"
#include "util/assert.h"

struct hp_segment hp_segment = HP_SEGMENT_NONE;
struct hp_self *hp_self;
struct hp_self *hp_self_before;

bool hp_self_is_me(void)
{
	return hp_self && !hp_is_confined() &&
	       atomic_load_explicit(&hp_self->state, memory_order_acquire) == HP_SELF_OPEN &&
	       hp_self->pid == (uint32_t)getpid();
}

bool hp_self_is_borrowed(void)
{
	return hp_self && hp_self->pid && !hp_is_confined() && hp_self->pid != (uint32_t)getpid();
}

void hp_list_push(_Atomic uint64_t *head, uint64_t offset, uint64_t *next)
{
	HP_ASSERT(offset != 0 && offset % HP_LINE == 0);
	*next = atomic_load_explicit(head, memory_order_relaxed);
	/* Release: a reader that finds the record in the list finds it complete. */
	while (!atomic_compare_exchange_weak_explicit(head, next, offset, memory_order_release,
						      memory_order_relaxed))
		;
}

void hp_refused(void)
{
	struct hp_room *room = hp_segment_room(&hp_segment);

	if (room)
		atomic_fetch_add_explicit(&room->refusals, 1, memory_order_relaxed);
}
