/* SPDX-License-Identifier: MIT */
/*
 * lock.c - see lock.h: the gate, room in the segment, and a thread's state.
 */
#include "preload/lock/lock.h"

#include <errno.h>

#include "preload/guest/bulky.h"
#include "preload/guest/early.h"
#include "preload/guest/pages.h"
#include "preload/guest/self.h"
#include "preload/thread/drop.h"
#include "preload/thread/state.h"
#include "util/assert.h"

/* The first one is on the waiter's page: life.c. */
#define HP_CHUNK_SECOND 3072
#define HP_CHUNK_FEW 8192	/* of a waiter with a few uses and contests: */
#define HP_KNOWN_FEW 8

HP_BULKY struct hp_waiter_local hp_waiter_unborn = { .state = HP_THREAD_UNBORN };

/* Locks in a function that locks internally, which is recorded as a whole. */
HP_BULKY_DATA struct hp_waiter_local hp_lock_paused = { .state = HP_THREAD_BUSY };

__thread struct hp_waiter_local *hp_waiter_pointer = &hp_waiter_unborn;

HP_BULKY _Atomic uint32_t hp_lock_generations[HP_LOCK_GENERATIONS];
bool hp_lock_is_wanted;
bool hp_lock_is_refused;
bool hp_lock_tells;

HP_COLD void hp_lock_tell(bool is_over, uintptr_t lock, uint32_t holder)
{
	int saved = errno;

	HP_ABOVE(parks, is_over, lock, holder);
	errno = saved;
}

/* --- room --- */

static bool has_first(const struct hp_waiter *waiter)
{
	return waiter->arena_end == hp_segment_offset(&hp_segment, waiter) + HP_PAGE;
}

/* Thousands of threads may wait a few times each: what they use is close together, on few pages. */
static uint64_t chunk_size(const struct hp_waiter_local *me, uint64_t size)
{
	if (has_first(me->waiter) && size <= HP_CHUNK_SECOND)
		return HP_CHUNK_SECOND;
	if (me->known_count <= HP_KNOWN_FEW && size <= HP_CHUNK_FEW)
		return HP_CHUNK_FEW;
	return HP_CHUNK_NEXT;
}

void *hp_lock_take(struct hp_waiter_local *me, uint64_t size)
{
	struct hp_waiter *waiter = me->waiter;
	uint64_t chunk, at;

	size = (size + HP_LINE - 1) & ~(uint64_t)(HP_LINE - 1);
	chunk = chunk_size(me, size);
	HP_ASSERT(size <= chunk);
	if (waiter->arena_end - waiter->arena < size) {
		/* Only the first thread's credentials count. */
		if (me->tid == waiter->pid)
			hp_drop_check();
		at = hp_segment_take(&hp_segment, chunk, HP_LINE);
		if (at == 0)
			return NULL;
		waiter->arena = at;
		waiter->arena_end = at + chunk;
	}
	at = waiter->arena;
	waiter->arena += size;
	return me->base + at;
}

/* --- locks that the thread knows --- */

/* From the upper bits, which an entry keeps; a table has less than 2^32 places. */
static uint64_t known_index(const struct hp_waiter_local *me, uint64_t hash)
{
	return hash >> me->known_shift;
}

uint64_t *hp_lock_known(struct hp_waiter_local *me, uint64_t hash,
			bool (*is_it)(const void *record, const void *key), const void *what)
{
	uint64_t last = (UINT64_C(1) << (64 - me->known_shift)) - 1;
	uint64_t i = known_index(me, hash);

	for (; me->known[i]; i = (i + 1) & last) {
		uint64_t offset = (me->known[i] & UINT32_MAX) * HP_LINE;

		if (me->known[i] >> 32 == hash >> 32 && is_it(me->base + offset, what))
			break;
	}
	return &me->known[i];
}

static void known_put(struct hp_waiter_local *me, uint64_t entry)
{
	uint64_t last = (UINT64_C(1) << (64 - me->known_shift)) - 1;
	uint64_t i = known_index(me, entry);

	while (me->known[i])
		i = (i + 1) & last;
	me->known[i] = entry;
}

static bool known_grow(struct hp_waiter_local *me)
{
	uint64_t count = UINT64_C(1) << (64 - me->known_shift);
	uint64_t *old = me->known;
	uint64_t size = count * sizeof(*old);
	uint64_t *wide = 2 * size < HP_PAGE ? hp_part(2 * size) : hp_pages(2 * size);

	if (!wide)
		return false;
	me->known = wide;
	me->known_shift--;
	for (uint64_t i = 0; i < count; i++)
		if (old[i])
			known_put(me, old[i]);
	if (size >= HP_PAGE)
		hp_pages_release(old, size);
	return true;
}

bool hp_lock_known_fill(struct hp_waiter_local *me, uint64_t hash, const void *record)
{
	uint64_t count = UINT64_C(1) << (64 - me->known_shift);
	uint64_t offset = (uint64_t)((const char *)record - me->base);

	if (me->known_count >= count / 2 && !known_grow(me) && me->known_count >= count - count / 8)
		return false;
	known_put(me, hash >> 32 << 32 | offset / HP_LINE);
	me->known_count++;
	return true;
}

/* --- slow paths --- */

bool hp_lock_shut(struct hp_waiter_local *me)
{
	if (me->state != HP_THREAD_OPEN)
		return false;
	me->state = HP_THREAD_BUSY;
	atomic_signal_fence(memory_order_seq_cst);
	return true;
}

void hp_lock_reopen(struct hp_waiter_local *me)
{
	atomic_signal_fence(memory_order_seq_cst);
	me->state = HP_THREAD_OPEN;
}

struct hp_waiter_local *hp_lock_pause(void)
{
	struct hp_waiter_local *was;

	if (hp_is_early())
		return NULL;
	was = hp_waiter();
	hp_waiter_set(&hp_lock_paused);
	return was;
}

void hp_lock_go_on(struct hp_waiter_local *was)
{
	if (was)
		hp_waiter_set(was);
}
