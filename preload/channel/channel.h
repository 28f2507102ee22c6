/* SPDX-License-Identifier: MIT */
/*
 * channel.h - common parts of stand-ins for pipes, sockets and queues.
 *
 * A table of the process leads from a descriptor to its lanes: one that it sends
 * into, one that it receives from. A descriptor of a file costs only this
 * lookup.  All counts are in the segment: two processes of a session
 * that share a pipe share its lane.
 *
 * Everything is recorded after the real call, so a cancelled or interrupted
 * call does not count. Only a message's probe, with the position in the stream
 * where the message ends, is stored before it is sent, since it may be
 * received before the sender returns. A receiver that has passed that position
 * takes it.
 *
 * Counts are exact; times cost two clock readings each, so as many are taken as
 * fit into 2 % of the time: every message of a channel with up to some hundred
 * thousand per second, some of a faster one.
 *
 * Folder: preload/channel - pipes, sockets, queues and threads' results: their stand-ins,
 *   their messages, and delays.
 * May use: preload/lock preload/wait preload/heap preload/call preload/thread preload/guest
 *   segment segment/layout util include
 */
#ifndef HP_PRELOAD_CHANNEL_CHANNEL_H
#define HP_PRELOAD_CHANNEL_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "preload/guest/above.h"
#include "preload/guest/early.h"
#include "preload/guest/guest.h"
#include "preload/guest/thread_list.h"
#include "preload/guest/ticks.h"
#include "segment/clock.h"
#include "segment/layout/channel.h"
#include "segment/setting.h"

#define HP_FDS 65536	/* higher descriptors are not recorded */

/* In the table: lane to send into << 32 | lane to receive from, as offset / HP_LINE. */
#define HP_FD_UNKNOWN UINT64_C(0)
#define HP_FD_NONE (UINT64_C(1) << 32 | 1)	/* no channel */
#define HP_LANE_NONE 1	/* no lane this way */

#define HP_REMOTE_SEVERAL UINT32_MAX	/* messages came by more than one descriptor */

/* A thread's own state; in a MADV_WIPEONFORK page. */
struct hp_channel_thread {
	uint64_t random;
	uint64_t switches;	/* 1 + how often the thread had waited at the last check; 0 = never checked */
	uint64_t idle_since;	/* the last wait by poll or the like: ticks; 0 = none */
	uint64_t idle_until;
	uint64_t key;	/* unique among threads at a time; 0 = not open */
	struct hp_thread_node node;
	uint32_t tid;
	uint32_t remote; /* 1 + the descriptor by which another thread's message came, or
			 * HP_REMOTE_SEVERAL: an event loop takes note, and clears it */
};

static_assert(HP_EARLY_ZERO(offsetof(struct hp_channel_thread, key)), "see preload/guest/early.h");

HP_THREAD_POINTER(struct hp_channel_thread, channel_thread)
extern HP_HIDDEN _Atomic uint64_t hp_channel_fds[HP_FDS];
extern HP_HIDDEN uint32_t hp_channel_fds_most;	/* HP_FDS; 0 = nothing is recorded */
extern HP_HIDDEN char *hp_channel_base;	/* of the segment */

extern HP_HIDDEN uint32_t hp_channel_text_room;	/* bytes of a message that are kept; 0 = none */
extern HP_HIDDEN bool hp_channel_is_exact;	/* every message is timed */

extern const struct hp_recorder hp_channel_recorder;

void hp_channel_configure(const struct hp_settings *settings, bool is_first);

/* 0 = the thread may not read the clock: not taken. */
static inline uint64_t hp_channel_clock(void)
{
	return hp_ticks();
}

/*
 * Starts the library, and creates the process's record. False = none exists, or this is a
 * signal handler whose thread is creating it.
 */
bool hp_channel_thread_has_process(void);

/* The same; true if channels are recorded. */
bool hp_channel_is_on(void);

/* --- channel.c: channels and lanes --- */

struct hp_channel_wish {
	uint32_t kind;
	uint32_t way;
	uintptr_t caller;	/* 0 with `is_found` */
	uint32_t descriptor;	/* with `is_found` */
	bool is_found;
	bool is_first;	/* the caller did not create it, but uses it first */
	uint32_t unit;
	uint64_t capacity;
	uint64_t safe;
	uint16_t extra;
	uint64_t device;
	uint64_t out_inode;
	uint64_t in_inode;
};

/* A lane for a new object, which nobody else finds before it is held; NULL = no room. */
struct hp_lane *hp_lane_new(const struct hp_channel_wish *wish);

/* A new one must be findable before anybody holds it; it is not needed after all, if nobody
 * holds it. */
void hp_lane_ready(struct hp_lane *lane);
void hp_lane_unmake(struct hp_lane *lane);

/* Names its channel, unless it has a name. */
void hp_channel_label(const struct hp_lane *lane, const char *text, size_t length);

/* The lane that a process of the session has for such an inode; NULL = none. */
struct hp_lane *hp_lane_of_inode(uint64_t device, uint64_t inode, bool is_out);

/*
 * The same for an inherited pipe; created as given, once for all processes of the session, if none
 * exists. NULL = no room.
 */
struct hp_lane *hp_lane_meet(const struct hp_channel_wish *wish);

/* One more descriptor, or one less, that sends or receives. */
void hp_lane_hold(struct hp_lane *lane, bool is_out);
void hp_lane_drop(struct hp_lane *lane, bool is_out);

/*
 * The process ends, or becomes another image that may still have it: that does
 * not count as a close.
 */
void hp_lane_leave(struct hp_lane *lane, bool is_out, bool is_exec);

/* Messages in the queue or in flight are lost. */
void hp_lane_empty(struct hp_lane *lane);

/* hp_lane.out_inode of a bound socket's incoming lane: the rest is its name. */
#define HP_LANE_NAMED (UINT64_C(1) << 63)

/* The process has left the segment: forgets everything in it. */
void hp_channel_forget_lanes(void);

/* One end is gone: noted once. */
void hp_lane_close(struct hp_lane *lane);

/* The thread's own; NULL = no memory. */
struct hp_channel_thread *hp_channel_thread_open(void);

static inline uint64_t hp_lane_id(const struct hp_lane *lane)
{
	return (uint64_t)((const char *)lane - hp_channel_base) / HP_LINE;
}

/* --- fd.c: descriptors --- */

/* A descriptor is about to be closed, or all of these; now exists twice. */
void hp_channel_forget(int fd);
void hp_channel_forget_range(unsigned first, unsigned last);
void hp_channel_copied(int fd, int copy);

/* Part of its traffic is not recorded. */
void hp_channel_veil(int fd);

/* The ends of a new pipe, made with these flags of pipe2. */
void hp_channel_pipe(const int fds[2], int flags, uintptr_t caller);

/* A pair of descriptors, each sending into the other. */
void hp_channel_pair(const int fds[2], const struct hp_channel_wish *wish);

/* fstat; failures for an open descriptor are counted (hp_refused).  Changes errno. */
bool hp_channel_stat(int fd, struct stat *stat);

/* Both ends are one descriptor. */
void hp_channel_single(int fd, const struct hp_channel_wish *wish);

/* The descriptor sends into `out` and receives from `in`; NULL = none. */
void hp_channel_put(int fd, const struct hp_lane *out, const struct hp_lane *in);

/* A further descriptor of an object that both sends to and receives from `lane`. */
void hp_channel_again(int fd, struct hp_lane *lane);

/* A descriptor was received: it is looked up in the kernel when it is used. */
void hp_channel_came(int fd);

/*
 * The effect on descriptors of the program's own system call, made with
 * syscall(). `before` returns whether `after` must be called for it.
 */
bool hp_channel_raw_before(long number, long a, long b, long c);
void hp_channel_raw_after(long a, long result);

/* Recorders are notified when this descriptor is read from and closed: `read`, `closed` of
 * hp_recorder. */
extern HP_HIDDEN _Atomic uint64_t hp_channel_told[HP_FDS / 64];
void hp_channel_tell(int fd);
void hp_channel_told_read(int fd, const void *buffer, size_t size);

static HP_HOT bool hp_channel_is_told(int fd)
{
	return (unsigned)fd < HP_FDS &&
	       atomic_load_explicit(&hp_channel_told[fd / 64], memory_order_relaxed) >> fd % 64 & 1;
}

/* It was passed to another process. */
void hp_channel_share(int fd);

/* fcntl, but for locks. */
int hp_channel_control(int (*real)(int, int, ...), int fd, int command, void *argument);

/* The process ends, or becomes another image, or leaves the segment; or it continues after all. */
void hp_channel_leave(bool is_exec);
void hp_channel_come_back(void);

/* It has left: forgets all descriptors. */
void hp_channel_forget_all(void);

/* A child is about to get the same descriptors; there is no child after all. */
void hp_channel_fork(void);
void hp_channel_fork_failed(void);

/*
 * The descriptor's kind; word of the table.  The second one is for calls that use the position of
 * a file: it may wait as long as they do, while another process reads there.
 */
uint64_t hp_channel_meet(int fd);
uint64_t hp_channel_meet_at_position(int fd);

static HP_HOT uint64_t hp_channel_word(int fd)
{
	uint64_t word;

	if (HP_UNLIKELY((unsigned)fd >= hp_channel_fds_most))
		return HP_FD_NONE;
	word = atomic_load_explicit(&hp_channel_fds[fd], memory_order_relaxed);
	return HP_LIKELY(word) ? word : hp_channel_meet(fd);
}

static HP_HOT uint64_t hp_channel_word_at_position(int fd)
{
	uint64_t word;

	if (HP_UNLIKELY((unsigned)fd >= hp_channel_fds_most))
		return HP_FD_NONE;
	word = atomic_load_explicit(&hp_channel_fds[fd], memory_order_relaxed);
	return HP_LIKELY(word) ? word : hp_channel_meet_at_position(fd);
}

static HP_HOT struct hp_lane *hp_channel_lane(uint64_t id)
{
	return HP_LIKELY(id == HP_LANE_NONE) ? NULL
					     : (struct hp_lane *)(hp_channel_base + id * HP_LINE);
}

/* NULL = it cannot be sent into. */
static HP_HOT struct hp_lane *hp_channel_out(int fd)
{
	return hp_channel_lane(hp_channel_word(fd) >> 32);
}

static HP_HOT struct hp_lane *hp_channel_in(int fd)
{
	return hp_channel_lane(hp_channel_word(fd) & UINT32_MAX);
}

/*
 * Which thread sends next, and who has received from whom: an event loop wants to know that another
 * thread has woken it (hp_channel_thread.remote).  Stored before the send, since the receiver may be
 * faster.
 */
static HP_HOT void hp_lane_sends(struct hp_lane *lane)
{
	struct hp_channel_thread *me = hp_channel_thread();

	if (HP_UNLIKELY(!me->tid))
		me = hp_channel_thread_open();
	__atomic_store_n(&lane->sends.sender, me ? me->tid : 0, __ATOMIC_RELAXED);
}

/* Did another thread of this process send? Unknown for a lane that other processes may have. */
bool hp_lane_is_remote(const struct hp_lane *lane, uint32_t sender);

static HP_HOT void hp_lane_received(const struct hp_lane *lane, int fd)
{
	struct hp_channel_thread *me = hp_channel_thread();
	uint32_t sender = __atomic_load_n(&lane->sends.sender, __ATOMIC_RELAXED);

	if (sender == me->tid || me->remote == (uint32_t)fd + 1 || me->remote == HP_REMOTE_SEVERAL)
		return;
	if (me->tid && hp_lane_is_remote(lane, sender))
		me->remote = me->remote ? HP_REMOTE_SEVERAL : (uint32_t)fd + 1;
}

/* --- wait.c --- */

/*
 * The call with this `frame` may wait for this lane; the call has ended and waited
 * for this many ticks, 0 = it did not wait.
 */
void hp_channel_wait_begin(const void *frame, const struct hp_lane *lane, uint32_t side,
			   uintptr_t caller, uint64_t since);
void hp_channel_wait_end(const void *frame, const struct hp_lane *lane, uint64_t ticks);

/* --- key.c --- */

/* Annotations of channels in the source: hotpath_label of include/hotpath.h. */
void hp_channel_mark(int what, const void *object, const char *text, uintptr_t caller);

/* A thread's result: it starts, created at `at`; it ends; a thread has waited for it. */
void hp_channel_thread_began(uintptr_t at);
void hp_channel_thread_ended(void);
void hp_channel_thread_joined(uintptr_t thread);

/* --- credit.c --- */

/*
 * A message of this side is timed at `now`, ticks: how many pass until the next one is.
 * `random`: the thread's state.
 */
uint32_t hp_channel_gap(struct hp_lane_side *side, uint64_t *random, uint64_t now);

/* --- queue.c: messages --- */

/* They are not received in the order in which they were sent: none is timed from now on. */
static inline void hp_lane_mix(struct hp_lane *lane)
{
	atomic_fetch_or_explicit(&lane->veiled, HP_LANE_MIXED, memory_order_relaxed);
}

/* Amount transferred, in the lane's unit. */
static HP_HOT uint64_t hp_side_units(const struct hp_lane_side *side)
{
	return side->units + atomic_load_explicit(&side->more_units, memory_order_relaxed);
}

static inline uint64_t hp_side_others(const struct hp_lane_side *side)
{
	return side->others + atomic_load_explicit(&side->more_others, memory_order_relaxed);
}

/* Up to which position of the stream it was received. */
static HP_HOT uint64_t hp_lane_place(const struct hp_lane *lane)
{
	return hp_side_units(&lane->receives) +
	       atomic_load_explicit(&lane->abandoned, memory_order_relaxed);
}

static HP_HOT int64_t hp_lane_depth(const struct hp_lane *lane)
{
	return (int64_t)(hp_side_units(&lane->sends) - hp_lane_place(lane));
}

#define HP_END_NONE (-1)	/* none exists */
#define HP_END_HASTY (-2)	/* the call does not wait (MSG_DONTWAIT), whatever its descriptor does */

struct hp_sending {
	struct hp_lane *lane;
	uint64_t since;	/* ticks before the call; 0 = not taken */
	struct hp_probe *probe;	/* NULL = not timed */
	uint64_t size;	/* the units it would send */
	uint64_t end;	/* of the probe */
	uint64_t entry;	/* of the log */
	uint64_t number;	/* of the message */
	int64_t depth;	/* with this message in it; 0 = irrelevant */
	int fd;	/* through which; HP_END_NONE, HP_END_HASTY */
};

/* The message that is about to be sent must be timed. */
void hp_send_time(struct hp_sending *call);

/* It makes the queue deeper than ever, or so deep that the call may wait. */
void hp_send_deep(struct hp_sending *call, int64_t depth, uintptr_t caller);

/* Nothing was sent, and it did not fail. */
void hp_send_none(const struct hp_sending *call);

/* It was sent by another thread than usual; the queue was deep, or it was timed; it was not
 * sent. */
void hp_side_add_more(struct hp_lane_side *side, uint64_t units, uint64_t others);
void hp_send_more(const struct hp_sending *call, uint64_t sent, uint64_t bytes);
void hp_send_failed(const struct hp_sending *call);

/* `size`: in the lane's unit; `fd`: see hp_sending. */
static HP_HOT void hp_send_begin(struct hp_sending *call, struct hp_lane *lane, uint64_t size,
				 int fd)
{
	/* Read once: if two senders both see a 1, neither may subtract one from the other's 0. */
	uint32_t left = __atomic_load_n(&lane->sends.countdown, __ATOMIC_RELAXED);
	int64_t depth;

	call->lane = lane;
	call->since = 0;
	call->size = size;
	call->fd = fd;
	if (HP_UNLIKELY(left == 0))
		hp_send_time(call);
	else
		__atomic_store_n(&lane->sends.countdown, left - 1, __ATOMIC_RELAXED);
	depth = hp_lane_depth(lane) + (int64_t)size;
	if (HP_UNLIKELY(depth > (int64_t)atomic_load_explicit(&lane->calm, memory_order_relaxed)))
		hp_send_deep(call, depth, HP_CALLER);
}

/* The same if only the call itself determines how much that is. */
static HP_HOT void hp_send_begin_some(struct hp_sending *call, struct hp_lane *lane, int fd)
{
	hp_send_begin(call, lane, 1, fd);
	hp_send_deep(call, hp_lane_depth(lane) + 1, HP_CALLER);
}

static HP_HOT void hp_side_add(struct hp_lane_side *side, uint64_t units, uint64_t others)
{
	if (HP_LIKELY(atomic_load_explicit(&side->owner, memory_order_relaxed) ==
		      hp_channel_thread()->key)) {
		side->units += units;
		side->others += others;
	} else {
		hp_side_add_more(side, units, others);
	}
}

/* `units` in the lane's unit were sent; `others`: messages, or bytes. */
static HP_HOT void hp_send_end(const struct hp_sending *call, uint64_t units, uint64_t others,
			       uint64_t bytes)
{
	hp_side_add(&call->lane->sends, units, others);
	if (HP_UNLIKELY(call->since != 0))
		hp_send_more(call, units, bytes);
}

/* One message was sent, and was recorded afterwards. */
void hp_send_late(struct hp_lane *lane, uint64_t bytes);

/* The started send went elsewhere. */
void hp_send_void(const struct hp_sending *call);

/* One message of this many tokens. */
void hp_send_tokens(const struct hp_sending *call, uint64_t tokens, uint64_t bytes);

/* A timed message succeeded: its text may be kept. */
void hp_send_text(const struct hp_sending *call, const void *buffer, uint64_t size);

static HP_HOT void hp_send_kept(const struct hp_sending *call, const void *buffer, uint64_t size)
{
	if (HP_UNLIKELY(hp_channel_text_room && call->since && call->probe && buffer))
		hp_send_text(call, buffer, size);
}

struct hp_receiving {
	struct hp_lane *lane;
	uint64_t since;	/* ticks before the call; 0 = it has something to receive */
};

void hp_receive_waited(const struct hp_receiving *call, uint64_t bytes);
void hp_receive_pop(struct hp_lane *lane, uint64_t bytes);
void hp_receive_failed(const struct hp_receiving *call);
void hp_receive_none(const struct hp_receiving *call);

/* The thread waits by poll or the like. */
static inline uint64_t hp_idle_begin(void)
{
	return hp_channel_thread()->key ? hp_channel_clock() : 0;
}

static inline void hp_idle_end(uint64_t since)
{
	if (!since)
		return;
	hp_channel_thread()->idle_since = since;
	hp_channel_thread()->idle_until = hp_channel_clock();
}

/* There is nothing to receive yet, as far as we know. */
void hp_receive_dry(struct hp_receiving *call, uintptr_t caller);

/* Nothing was received: the wait is not recorded. */
void hp_receive_over(const struct hp_receiving *call);

static HP_HOT void hp_receive_begin(struct hp_receiving *call, struct hp_lane *lane)
{
	call->lane = lane;
	call->since = 0;
	if (HP_UNLIKELY(hp_lane_depth(lane) <= 0))
		hp_receive_dry(call, HP_CALLER);
}

static HP_HOT void hp_receive_end(const struct hp_receiving *call, uint64_t units, uint64_t others,
				  uint64_t bytes)
{
	struct hp_lane *lane = call->lane;

	hp_side_add(&lane->receives, units, others);
	if (HP_UNLIKELY(call->since != 0))
		hp_receive_waited(call, bytes);
	if (HP_UNLIKELY(__atomic_load_n(&lane->tail, __ATOMIC_RELAXED) !=
			atomic_load_explicit(&lane->head, memory_order_relaxed)))
		hp_receive_pop(lane, bytes);
}

#endif
