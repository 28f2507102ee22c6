/* SPDX-License-Identifier: MIT */
/*
 * wait.c - waits for a message, or for room, besides those for locks.
 *
 * Whether a call had to wait is known when it returns. A call that finds no
 * message, or no room, may have to: some stores record that beforehand, so that
 * the report of a hanging program includes the call. The path and the sums follow if it was
 * a wait, which then took some microseconds.
 */
#include <errno.h>

#include "preload/channel/channel.h"
#include "preload/guest/guest.h"
#include "preload/lock/lock.h"

static struct hp_lock_call call_of(const struct hp_lane *lane, uint32_t side, uintptr_t caller)
{
	return (struct hp_lock_call){ .address = (uintptr_t)hp_channel_base + lane->channel,
				      .caller = caller,
				      .kind = HP_LOCK_CHANNEL,
				      .side = side };
}

void hp_channel_wait_begin(const void *frame, const struct hp_lane *lane, uint32_t side,
			   uintptr_t caller, uint64_t since)
{
	struct hp_lock_call call = call_of(lane, side, caller);
	struct hp_use *use = hp_lock_use(&call);
	struct hp_waiter_local *me = hp_waiter();

	if (!use || !hp_lock_shut(me))
		return;
	hp_wait_repair(me, 0);
	if (!me->wait_frame)
		hp_wait_publish(me, frame, use, &call, 0, 0, since);
	hp_lock_reopen(me);
}

static HP_COLD void told(struct hp_waiter_local *me, const struct hp_lock_call *call,
			 uint64_t since, uint64_t ticks)
{
	const struct hp_lock_holder nobody = { 0, 0, 0, NULL };
	struct hp_use *use = hp_lock_use(call);
	int saved = errno;

	if (use && hp_lock_shut(me)) {
		use->count++;
		hp_wait_add(me, use,
			    hp_lock_contest_of(me, use, call->caller, &nobody, hp_lock_path()),
			    since, ticks);
		hp_lock_reopen(me);
	}
	errno = saved;
}

/*
 * In a child of fork there is none, and a wait that was left by a jump has a
 * different frame.
 */
void hp_channel_wait_end(const void *frame, const struct hp_lane *lane, uint64_t ticks)
{
	struct hp_waiter_local *me = hp_waiter();
	struct hp_lock_call call;
	uint64_t since;

	if (HP_LIKELY(me->wait_frame != (uintptr_t)frame))
		return;
	since = me->waiter->since;
	call = call_of(lane, me->waiter->side, (uintptr_t)me->waiter->at);
	hp_wait_over(me);
	if (ticks)
		told(me, &call, since, ticks);
}
