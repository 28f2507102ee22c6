/* SPDX-License-Identifier: MIT */
/*
 * loop.h - waits for several descriptors, and the time between them.
 *
 * A stand-in reads the clock before and after the real call.  Both readings go to the record of the
 * thread's waits at this call: the time between two waits is a busy span.  The first waits
 * (HP_LOOP_MIN) are counted only in the thread's memory, since most polling threads poll only
 * a few times; then they get a record in the segment.
 *
 * Everything is recorded after the real call, so a wait that is cancelled or left by a jump does
 * not count: the next one finds the frame of that wait and ignores it. Waits of a signal handler
 * that interrupted one are not recorded. That includes the busy span before the wait: a system
 * call waits for what its thread computes, while after it the processor counts as it reads the
 * clock. Only one of the longest spans is noted before the call, which may never return.
 *
 * Folder: preload/loop - event loops: stand-ins for calls that wait for several descriptors
 * May use: preload/channel preload/lock preload/wait preload/heap preload/thread preload/guest
 *   segment segment/layout util include
 */
#ifndef HP_PRELOAD_LOOP_LOOP_H
#define HP_PRELOAD_LOOP_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/channel/channel.h"
#include "preload/guest/above.h"
#include "preload/guest/early.h"
#include "preload/guest/guest.h"
#include "preload/guest/self.h"
#include "preload/guest/thread_list.h"
#include "preload/guest/ticks.h"
#include "preload/wait/offcpu_note.h"
#include "segment/clock.h"
#include "segment/histogram.h"
#include "segment/layout/lock.h"
#include "segment/layout/loop.h"

#define HP_LOOP_SITES 12	/* calls at which one thread waits; further ones are not recorded */

struct hp_watch_counts;

struct hp_loop_first {	/* a busy span without a record */
	uint64_t begin;
	uint64_t ticks;
	uint32_t events;	/* of the wait before it */
	bool is_expired;	/* that ended by its timeout */
};

/* Waits at one call; `told` once they have a record. */
struct hp_loop_site {
	uintptr_t site;	/* return address; 0 = unused */
	struct hp_loop *told;	/* NULL = they are counted in `own` */
	struct hp_loop *own;	/* NULL = they are not counted */
	struct hp_loop_first *spans;	/* of `own`: HP_LOOP_MIN of them */
};

#define HP_LOOP_OWN 4	/* calls whose waits are counted before they have a record */

/* A thread's own state; in a MADV_WIPEONFORK page. */
struct hp_looper {
	struct hp_loop *loop;	/* where waits at `site` are counted; NULL = not counted */
	uintptr_t frame;	/* of the waiting stand-in; 0 = none */
	uint64_t long_least;	/* busy spans of at least this many ticks are among the longest */
	uintptr_t site;	/* of the last wait; 0 = not open, or forgotten */
	struct hp_loop_site *at;	/* of `site` */
	struct hp_watch_counts *at_instance;	/* of the last wait; NULL = not known, or no epoll */
	uint64_t at_changes;	/* of `at_instance`, as the record has them (hp_watch_changes) */
	struct hp_thread_node node;
	uint32_t tid;
	uint32_t count;	/* of `sites` */
	uint32_t own_count;
	uint64_t label;	/* of the next wait: offset of a hp_text; 0 = none */
	int only_fd;	/* the epoll instance that the last wait's only event came from */
	uint32_t only_call;	/* enum hp_loop_call; 0 = it returned none, or several */
	uint64_t only_source;	/* of that event: number of the descriptor or, for epoll, its data */
	struct hp_loop_site sites[HP_LOOP_SITES];
	struct hp_loop own[HP_LOOP_OWN];
	struct hp_loop_first spans[HP_LOOP_OWN][HP_LOOP_MIN];
};

static_assert(sizeof(struct hp_looper) <= HP_PAGE, "one wiped page each");
static_assert(HP_EARLY_ZERO(offsetof(struct hp_looper, site)), "see preload/guest/early.h");

HP_THREAD_POINTER(struct hp_looper, looper)

extern const struct hp_recorder hp_loop_recorder;

/* The library has started, and event loops weren't requested. */
extern HP_HIDDEN bool hp_loop_is_off;

/* One wait. */
struct hp_turn {
	struct hp_loop *loop;	/* NULL = it is not recorded */
	uint64_t since;	/* ticks; 0 = not taken */
	uint64_t noted;	/* the same for the helper's notes, which need no further readings */
	enum hp_wait_on on;	/* what it waits for */
};

/* The first wait at this call, or after another one: where it is counted. */
struct hp_loop *hp_loop_meet(uintptr_t caller, enum hp_loop_call call);

/* The next wait of the thread is at the place that the text names; NULL or "" does nothing. */
void hp_loop_label(const char *text);

/* The thread has received from another one since its last wait. */
void hp_loop_remote(struct hp_looper *me);

/* A busy span that ends now is among the longest, or its loop has no record. */
void hp_loop_span_long(struct hp_looper *me, struct hp_loop *loop, uint64_t ticks);

/* Counts a busy span that has ended; its group has no counters yet, or its loop no record. */
void hp_loop_span_first(const struct hp_looper *me, struct hp_loop *loop, uint64_t ticks);

/* A wait ended by its timeout; its events are the first ones, or from another source; it was the
 * one that creates a record. */
void hp_loop_expired(struct hp_loop *loop, uint64_t ticks, uint64_t asked_ns);
void hp_loop_source(struct hp_loop *loop, uint64_t source);
void hp_loop_tell(struct hp_looper *me);

/* Descriptors were added to its epoll instance, or removed. */
void hp_loop_changed(struct hp_looper *me, struct hp_loop *loop, uint64_t changes);

/*
 * The stack where the stand-in was called.  Not the frame pointer: the sampler unwinds a waiting
 * thread with only the kernel's information, the program counter and the stack pointer.
 */
#ifdef __clang__
#define HP_LOOP_FRAME ((uintptr_t)__builtin_frame_address(0))
#else
#define HP_LOOP_FRAME ((uintptr_t)__builtin_dwarf_cfa())
#endif

/*
 * Counts a busy span that has ended. The process may have left the segment during the wait: then
 * the thread has forgotten the loop.
 */
static HP_HOT void hp_loop_span(const struct hp_looper *me, struct hp_loop *loop, uint64_t ticks)
{
	const unsigned group = hp_bucket_group(ticks);
	const char *segment = (const char *)hp_segment.header;
	const struct hp_spread *spread =
		(const void *)(segment + (uint64_t)loop->spans_at * HP_LINE);
	uint64_t *counters;

	loop->busy_ticks += ticks;
	loop->span_most = ticks > loop->span_most ? ticks : loop->span_most;
	loop->spans++;
	if (HP_UNLIKELY(me->loop != loop || !loop->spans_at || !spread->groups[group])) {
		hp_loop_span_first(me, loop, ticks);
		return;
	}
	counters = (void *)(segment + (uint64_t)spread->groups[group] * HP_LINE);
	counters[hp_bucket_place(ticks, group)]++;
}

/* A handler's wait during another wait is below it on the stack.  `now`: ticks; 0 = not read yet. */
static HP_HOT void hp_turn_begin_at(struct hp_turn *turn, uintptr_t caller, enum hp_loop_call call,
				    enum hp_wait_on on, uint64_t now)
{
	const uintptr_t frame = HP_LOOP_FRAME;
	struct hp_looper *me = hp_looper();
	struct hp_loop *loop;

	if (HP_UNLIKELY(hp_channel_thread()->remote))
		hp_loop_remote(me);
	loop = HP_LIKELY(me->site == caller) ? me->loop
	       : hp_loop_is_off		     ? NULL
					     : hp_loop_meet(caller, call);
	turn->loop = NULL;
	turn->on = on;
	if (HP_UNLIKELY(me->site != caller))
		me = hp_looper();
	if (HP_UNLIKELY(!loop || (me->frame && frame < me->frame))) {
		turn->since = hp_idle_begin();
		turn->noted = turn->since ? turn->since : hp_offcpu_note_begin();
		return;
	}
	turn->noted = turn->since = now ? now : hp_ticks();
	if (HP_UNLIKELY(!turn->since))
		return;
	turn->loop = loop;
	if (HP_LIKELY(loop->until != 0)) {
		const uint64_t ticks = hp_clock_between(loop->until, turn->since);

		if (HP_UNLIKELY(ticks >= me->long_least))
			hp_loop_span_long(me, loop, ticks);
	} else {
		loop->first = turn->since;
	}
	me->frame = frame;
	loop->since = turn->since;
}

static HP_HOT void hp_turn_begin(struct hp_turn *turn, uintptr_t caller, enum hp_loop_call call,
				 enum hp_wait_on on)
{
	hp_turn_begin_at(turn, caller, call, on, 0);
}

/* As hp_offcpu_note_end(); the wait ended at `now`. */
static HP_HOT void hp_turn_note(const struct hp_turn *turn, uint64_t now)
{
	const uint32_t least = hp_offcpu_note_least();

	if (HP_UNLIKELY(least) && turn->noted && hp_clock_between(turn->noted, now) >= least)
		hp_offcpu_note_write(turn->noted, turn->on, HP_OFFCPU_NO_FD);
}

/* `asked_ns`: the timeout; < 0 = none.  Returns the ticks; 0 = they were not needed. */
static HP_HOT uint64_t hp_turn_end(const struct hp_turn *turn, int result, int most,
				   int64_t asked_ns)
{
	struct hp_loop *loop = turn->loop;
	struct hp_looper *me;
	uint64_t now, ticks;

	if (HP_UNLIKELY(!loop)) {
		hp_idle_end(turn->since);
		if (HP_UNLIKELY(turn->noted))
			hp_turn_note(turn, hp_ticks());
		return 0;
	}
	now = hp_ticks();
	hp_turn_note(turn, now);
	me = hp_looper();
	ticks = hp_clock_between(turn->since, now);
	if (hp_channel_thread()->key) {
		hp_channel_thread()->idle_since = turn->since;
		hp_channel_thread()->idle_until = now;
	}
	if (HP_LIKELY(loop->until != 0))
		hp_loop_span(me, loop, hp_clock_between(loop->until, turn->since));
	loop->since = 0;
	loop->until = now;
	loop->wait_ticks += ticks;
	loop->parks += asked_ns != 0;
	loop->last_events = result > 0 ? (uint32_t)result : 0;
	me->frame = 0;
	if (result > 0) {
		loop->events += (uint64_t)result;
		loop->woken++;
		loop->full += result == most;
	} else if (result == 0 && asked_ns > 0) {
		hp_loop_expired(loop, ticks, (uint64_t)asked_ns);
	}
	if (HP_UNLIKELY(++loop->waits == HP_LOOP_MIN))
		hp_loop_tell(me);
	return now;
}

#endif
