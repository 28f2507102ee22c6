/* SPDX-License-Identifier: MIT */
/*
 * room.c - processes that map only a part of the segment.
 *
 * Lists contain records of all processes, so a process that unmapped the end of
 * the segment must not find one there. Hence the bound applies to all
 * processes, but no longer than needed: a configure script may run a short
 * program that limits its address space, and the bound must not outlast it for
 * the build that follows. A process that needs the bound first notes its pid,
 * as does a forked child. The sampler removes the bound when all of them are
 * gone.
 *
 * The bound shares a word with a count of its changes, so a sampler that found
 * nobody removes it only if no one arrived meanwhile.
 */
#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "segment/segment.h"

#define COUNT (uint64_t)(HP_PAGE - 1)	/* these bits of the word */

/* The pid may have been reused; all are in the sampler's PID namespace. */
static bool is_free(uint32_t holder)
{
	int saved = errno;
	bool is_gone = !holder || (syscall(SYS_kill, holder, 0) < 0 && errno == ESRCH);

	errno = saved;
	return is_gone;
}

static bool is_holder(const struct hp_room *room, uint32_t holder)
{
	for (int i = 0; holder != HP_HOLDER_UNSEEN && i < HP_ROOM_HOLDERS; i++)
		if (atomic_load(&room->holders[i]) == holder)
			return true;
	return false;
}

/* False = no free entry, or the pid is unknown. */
static bool hold(struct hp_room *room, uint32_t holder)
{
	if (holder == HP_HOLDER_UNSEEN)
		return false;
	if (is_holder(room, holder))
		return true;
	for (int i = 0; i < HP_ROOM_HOLDERS; i++) {
		uint32_t was = atomic_load(&room->holders[i]);

		if (is_free(was) && atomic_compare_exchange_strong(&room->holders[i], &was, holder))
			return true;
	}
	return false;
}

/*
 * An allocating thread adds to `used` first and then reads the bound. Here the
 * bound is stored first and the caller then reads `used`. All four are
 * sequentially consistent, so its chunk is either below the bound or refused.
 */
static void room_bound(struct hp_room *room, uint64_t end, uint32_t holder)
{
	uint64_t word, next;

	if (!hold(room, holder))
		atomic_store(&room->for_ever, 1);
	word = atomic_load(&room->room);
	do {
		uint64_t was = word & ~COUNT;

		next = (was && was < end ? was : end) | ((word + 1) & COUNT);
	} while (!atomic_compare_exchange_weak(&room->room, &word, next));
}

bool hp_segment_narrow(struct hp_segment *segment, uint64_t most, uint32_t holder)
{
	struct hp_header *header = segment->header;
	uint64_t used = atomic_load(&header->used), keep, end;

	keep = used > most ? used : most;
	keep = (keep + HP_PAGE - 1) & ~(uint64_t)(HP_PAGE - 1);
	if (keep < segment->size || hp_segment_is_narrow(segment))
		room_bound(hp_segment_room(segment), keep < segment->size ? keep : segment->size,
			   holder);
	used = (atomic_load(&header->used) + HP_PAGE - 1) & ~(uint64_t)(HP_PAGE - 1);
	keep = used > keep ? used : keep;
	if (keep >= segment->size)
		return false;
	end = segment->size;
	__atomic_store_n(&segment->size, keep, __ATOMIC_RELAXED);
	munmap((char *)header + keep, end - keep);
	return true;
}

bool hp_segment_is_narrow(const struct hp_segment *segment)
{
	return __atomic_load_n(&segment->size, __ATOMIC_RELAXED) < segment->header->size;
}

bool hp_segment_stay_narrow(const struct hp_segment *segment, uint32_t holder, uint32_t parent)
{
	const struct hp_header *header = segment->header;

	if (atomic_load(&header->used) > segment->size)
		return false;
	/*
	 * A process that registered earlier isn't a vfork child, and its parent may map
	 * everything.
	 */
	if (!is_holder(hp_segment_room(segment), holder))
		room_bound(hp_segment_room(segment), segment->size, parent);
	room_bound(hp_segment_room(segment), segment->size, holder);
	return atomic_load(&header->used) <= segment->size;
}

bool hp_segment_is_bounded(const struct hp_segment *segment)
{
	struct hp_room *room = hp_segment_room(segment);
	uint64_t word = atomic_load(&room->room);

	/* Earlier versions of the library do not register, so their processes are unknown. */
	return (word & COUNT) && (word & ~COUNT) < (segment->header->size & ~COUNT) &&
	       !atomic_load(&room->for_ever);
}

bool hp_segment_widen(const struct hp_segment *segment, bool (*is_gone)(uint32_t pid))
{
	struct hp_room *room = hp_segment_room(segment);
	uint64_t word = atomic_load(&room->room);
	uint64_t size = segment->header->size & ~COUNT;

	if (!hp_segment_is_bounded(segment))
		return false;
	for (int i = 0; i < HP_ROOM_HOLDERS; i++) {
		uint32_t holder = atomic_load(&room->holders[i]);

		if (holder && !is_gone(holder))
			return true;
		if (holder)
			atomic_compare_exchange_strong(&room->holders[i], &holder, 0);
	}
	return !atomic_compare_exchange_strong(&room->room, &word, size | ((word + 1) & COUNT));
}
