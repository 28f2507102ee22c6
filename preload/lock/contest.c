/* SPDX-License-Identifier: MIT */
/*
 * contest.c - the owner of a contended lock, and sums of waits by waiting and
 * holding place.
 *
 * The lock itself identifies the holder, if it contains a thread's id. That
 * thread's `held` says where it acquired the lock; the waiter reads it, so
 * that the holder pays only one store. If it has released the lock meanwhile,
 * the holder is not known.
 */
#include "preload/call/local.h"
#include "preload/guest/self.h"
#include "preload/lock/lock.h"
#include "preload/thread/module.h"
#include "preload/thread/state.h"

#define HP_LOOKS_MAX 1024	/* threads searched for a holder, */
#define HP_LOOKS_LONG 64	/* and for a lock's holder, which takes longer */
#define HP_CONTESTS_MAX 4096	/* in the list of a waiter */

/* --- the holder --- */

/* Where the other thread acquired the lock. It keeps running: values read here may be from
 * different moments. */
static struct hp_held *held_of(const struct hp_waiter_local *other, uintptr_t address)
{
	struct hp_held *held = other->waiter->held;

	for (int i = 0; i < HP_HELD_MAX; i++) {
		uintptr_t there = atomic_load_explicit(&held[i].address, memory_order_relaxed);

		if (there == address)
			return &held[i];
		if (!there)
			break;
	}
	return NULL;
}

/* If the lock does not name its owner, a thread that claims it is believed. */
struct hp_lock_holder hp_lock_holder_of(const struct hp_lock_call *call)
{
	const struct hp_waiter_local *other =
		atomic_load_explicit(&hp_self->waiters, memory_order_acquire);
	int looks = call->holder ? HP_LOOKS_MAX : HP_LOOKS_LONG;
	struct hp_lock_holder holder = { 0, 0, call->holder, NULL };

	for (int i = 0; other && i < looks; i++, other = other->next) {
		if (call->holder && other->tid != call->holder)
			continue;
		holder.held = other->tid ? held_of(other, call->address) : NULL;
		holder.at = holder.held ? (uintptr_t)holder.held->at : 0;
		if (!holder.at && !call->holder)
			continue;
		holder.waiter = (uint32_t)(hp_segment_offset(&hp_segment, other->waiter) / HP_LINE);
		holder.tid = other->tid;
		break;
	}
	return holder;
}

/* The instrumented call that waits; 0 = none. */
static uint64_t instrumented_row(void)
{
	const struct hp_local *me = hp_local();
	const struct hp_row *row;

	if (me->state != HP_THREAD_OPEN || me->top <= me->stack->part->frames + 1)
		return 0;
	row = (const struct hp_row *)(uintptr_t)me->top[-1].row;
	return row ? (uint64_t)((const char *)row - me->base) : 0;
}

/* --- contests --- */

struct contest_key {
	uint64_t use;
	uint64_t row;
	uint64_t at;
	uint64_t holder_at;
	uint32_t holder;
	uint32_t path;
};

static uint64_t plain_of(uint64_t module, uint64_t address)
{
	const struct hp_module *record =
		module ? hp_segment_at(&hp_segment, module, sizeof(*record)) : NULL;

	return record ? address + record->bias : address;
}

static bool is_contest(const void *record, const void *what)
{
	const struct hp_contest *contest = record;
	const struct contest_key *wanted = what;

	return contest->use == wanted->use && contest->row == wanted->row &&
	       contest->holder == wanted->holder && contest->path == wanted->path &&
	       plain_of(contest->at_module, contest->at_address) == wanted->at &&
	       plain_of(contest->holder_module, contest->holder_address) == wanted->holder_at;
}

void hp_lock_place(uint64_t at, uint64_t *module, uint64_t *address)
{
	const struct hp_module *found = at ? hp_module_of((uintptr_t)at) : NULL;

	*module = found ? hp_segment_offset(&hp_segment, found) : 0;
	*address = found ? at - found->bias : at;
}

static struct hp_contest *contest_get(struct hp_waiter_local *me, const struct contest_key *wanted)
{
	uint64_t hash = hp_lock_hash(wanted->use ^ wanted->at << 1 ^ wanted->holder_at << 7 ^
				     (uint64_t)wanted->holder << 40 ^ wanted->row << 20 ^
				     (uint64_t)wanted->path << 12);
	uint64_t entry = *hp_lock_known(me, hash, is_contest, wanted);
	struct hp_contest *contest;

	if (entry)
		return (struct hp_contest *)(me->base + (entry & UINT32_MAX) * HP_LINE);
	if (me->contest_count >= HP_CONTESTS_MAX)
		return NULL;
	contest = hp_lock_take(me, sizeof(*contest));
	if (!contest || !hp_lock_known_fill(me, hash, contest))
		return NULL;
	me->contest_count++;
	contest->use = wanted->use;
	contest->row = wanted->row;
	contest->holder = wanted->holder;
	contest->path = wanted->path;
	hp_lock_place(wanted->at, &contest->at_module, &contest->at_address);
	hp_lock_place(wanted->holder_at, &contest->holder_module, &contest->holder_address);
	contest->next = atomic_load_explicit(&me->waiter->contests, memory_order_relaxed);
	atomic_store_explicit(&me->waiter->contests, (uint64_t)((char *)contest - me->base),
			      memory_order_release);
	return contest;
}

struct hp_contest *hp_lock_contest_of(struct hp_waiter_local *me, const struct hp_use *use,
				      uintptr_t caller, const struct hp_lock_holder *holder,
				      uint32_t path)
{
	struct contest_key key = { .use = (uint64_t)((const char *)use - me->base),
				   .row = instrumented_row(),
				   .at = caller,
				   .holder_at = holder->at,
				   .holder = holder->waiter,
				   .path = path };

	return contest_get(me, &key);
}
