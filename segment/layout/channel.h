/* SPDX-License-Identifier: MIT */
/*
 * channel.h - channels, their lanes, and messages that are timed.
 *
 * See header.h for the terms and common rules.
 */
#ifndef HP_SEGMENT_LAYOUT_CHANNEL_H
#define HP_SEGMENT_LAYOUT_CHANNEL_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "segment/layout/header.h"

enum hp_channel_kind {
	HP_CHANNEL_PIPE = 1,
	HP_CHANNEL_FIFO = 2,
	HP_CHANNEL_STREAM = 3,	/* socketpair(AF_UNIX, SOCK_STREAM) */
	HP_CHANNEL_PACKET = 4,	/* SOCK_SEQPACKET */
	HP_CHANNEL_DATAGRAM = 5,	/* SOCK_DGRAM */
	HP_CHANNEL_EVENT = 6,	/* eventfd */
	HP_CHANNEL_MQ = 7,	/* POSIX message queue */
	HP_CHANNEL_SYSV = 8,	/* System V message queue */
	HP_CHANNEL_QUEUE = 9,	/* GAsyncQueue */
	HP_CHANNEL_THREAD = 10,	/* a thread's result: pthread_create -> pthread_join */
	HP_CHANNEL_CUSTOM = 11,	/* HOTPATH_CHANNEL of include/hotpath.h */
	HP_CHANNEL_KINDS
};

/* How a channel became known. */
enum hp_channel_origin {
	HP_CHANNEL_MADE = 0,	/* the site created it */
	HP_CHANNEL_FOUND = 1,	/* an inherited descriptor; `number` is the descriptor */
	HP_CHANNEL_FIRST = 2,	/* the site used it first */
};

struct hp_channel {
	uint64_t next;	/* set once */
	uint32_t kind;	/* set once: enum hp_channel_kind */
	uint32_t way;	/* set once: of a pair: 0 = from the first to the second, 1 = back; 2 = by name */
	uint64_t site_module;	/* set once: offset of the hp_module of the code that created it; 0 = none */
	uint64_t site_address;	/* set once: a return address */
	uint32_t number;	/* set once: its number at its site, from 0; FOUND: the descriptor */
	uint32_t origin;	/* set once: enum hp_channel_origin */
	_Atomic uint64_t label;	/* any thread: offset of a hp_text; 0 = none */
	_Atomic uint64_t lanes;	/* any thread: head of the list of hp_lane */
	_Atomic uint32_t instances;	/* any thread: created objects; UINT32_MAX = that or more, and */
	_Atomic uint32_t closed;	/* any thread: of these, closed at one end: stops there, too */
};

/*
 * The sending or receiving side.  The first such thread has its own plain
 * counters; all others share the other two.
 */
struct hp_lane_side {
	_Atomic uint64_t owner;	/* key of the thread that writes the next two, or HP_OWNER_NONE */
	uint64_t units;	/* owner: amount transferred, in the lane's unit */
	uint64_t others;	/* owner: messages, where the unit is bytes; else bytes */
	_Atomic uint64_t more_units;	/* other threads */
	_Atomic uint64_t more_others;
	uint64_t last_ticks; /* senders: when the last timed one was sent */
	int64_t credit; /* senders: ticks that timing may still take */
	uint32_t countdown; /* senders: messages until one is timed */
	uint32_t sender; /* senders by descriptor: tid of the last one */
};

#define HP_OWNER_NONE 1

struct hp_lane_wait {
	_Atomic uint64_t count;
	_Atomic uint64_t ticks;
	_Atomic uint64_t most;
};

enum hp_lane_state {
	HP_LANE_FREE = 0,
	HP_LANE_TAKEN = 1,
	HP_LANE_MADE = 2,	/* taken, and no descriptor has it yet */
};

/* The unit of its queue. */
enum hp_lane_unit {
	HP_LANE_BYTES = 0,
	HP_LANE_MESSAGES = 1,
	HP_LANE_TOKENS = 2,	/* a message may be several: the value added to an eventfd */
};

/*
 * In its unit the fill level is
 *
 *   depth = sent - received - abandoned
 *
 * where a receive may be recorded before the send. A reused lane continues
 * counting; messages left in the queue are abandoned.
 */
struct hp_lane {
	uint64_t next;	/* set once */
	uint64_t channel;	/* set once: offset of hp_channel */
	_Atomic uint32_t state;	/* enum hp_lane_state */
	uint32_t unit;	/* its creator: enum hp_lane_unit */
	uint64_t capacity;	/* any thread: in its unit; 0 = unbounded or unknown */
	uint64_t safe;	/* any thread: fill level up to which nobody waits */
	uint64_t device;	/* its creator: of the inodes below; 0 = none */
	uint64_t out_inode;	/* of the end that sends */
	uint64_t in_inode;	/* of the end that receives */

	struct hp_lane_side sends;
	struct hp_lane_side receives;

	_Atomic uint64_t most;	/* any thread: highest fill level */
	_Atomic uint64_t abandoned;	/* any thread */
	_Atomic uint64_t head;	/* senders: number of the next probe */
	uint64_t tail;	/* holder of `popping`: of the oldest one */
	_Atomic uint64_t calm;	/* any thread: fill level up to which nothing needs to be recorded */
	_Atomic uint32_t popping;	/* receivers: 1 = one of them is checking probes */
	uint32_t probes;	/* once: offset / HP_LINE of hp_lane_log; 0 = none yet */
	_Atomic uint64_t ends;	/* known descriptors that send; << 32: that receive */
	_Atomic uint32_t shared;	/* any thread: 1 = another process may have it, too */
	_Atomic uint32_t closed;	/* any thread: 1 = one end is permanently closed */

	struct hp_lane_wait blocked;	/* senders that found it full */
	struct hp_lane_wait starved;	/* receivers that found it empty */
	_Atomic uint64_t refused;	/* sends that would have had to wait */
	_Atomic uint64_t empty;	/* receives that would have had to wait */

	uint64_t timed;	/* holder of `popping`, like the next ones: messages whose delay was timed */
	uint64_t delay_ticks;	/* their sum, from before the send to after the receive */
	uint64_t delay_most;
	uint64_t first_ticks;	/* a sender: when the first message was sent */
	uint64_t idle;	/* a receiver: end of the last wait by poll that counts in `starved` */
	uint32_t delays;	/* offset / HP_LINE of hp_spread; 0 = none */
	uint32_t maker;	/* its creator's pid */
	_Atomic uint32_t veiled;	/* any thread: HP_VEILED_* */
	uint32_t priority;	/* a sender to a queue with priorities: 1 + the first message's priority */
	uint32_t texts;	/* once: offset / HP_LINE of hp_lane_texts; 0 = none are kept */
	uint16_t extra;	/* its creator: the most bytes that the kernel adds to a message; 0 = unknown */
	_Atomic uint16_t crowd;	/* any thread: messages since the fill level was at most `safe` */
};

/*
 * There may be unrecorded traffic: a stdio stream uses it, or an eventfd was passed
 * to another process.
 */
#define HP_VEILED_SENDS 1
#define HP_VEILED_RECEIVES 2
#define HP_LANE_MIXED 4	/* not first in, first out */

/* Entries for several senders and receivers, so not ring.h: `end` publishes each one, and frees
 * it. */
struct hp_probe {
	_Atomic uint64_t
		end;	/* a sender: the sum sent with it, all earlier ones included; 0 = unused */
	uint64_t since;	/* a sender: ticks before the send; 0 = not sent */
	uint64_t number;	/* a sender: of the message, from 1 */
	uint64_t entry;	/* a sender: number of its hp_message */
};

#define HP_PROBES_MAX 256
#define HP_MESSAGES 64

/* A timed message, in a ring: number n at n % HP_MESSAGES. */
struct hp_message {
	uint64_t ticks;	/* when; 0 = never used */
	uint64_t delay;	/* sent: until it was received, 0 = not received */
	uint64_t number;	/* of the message, from 1; else unused, or being written (seq.h) */
	uint32_t size;	/* bytes */
	uint32_t tid;
};

struct hp_lane_log {
	_Atomic uint64_t sent_count;	/* senders: entries so far */
	uint64_t received_count;	/* holder of `popping` */
	_Atomic uint64_t
		passed;	/* receivers: probes up to this sum were received when nobody could take them */
	uint64_t reserved[5];
	struct hp_probe probes[HP_PROBES_MAX];
	struct hp_message sent[HP_MESSAGES];
	struct hp_message received[HP_MESSAGES];
};

/* With HOTPATH_LOG_PAYLOAD, the bytes sent: number n of the log at n % HP_MESSAGES. */
struct hp_lane_texts {
	uint32_t room;	/* set once: bytes of each, after its hp_lane_text */
	uint32_t reserved[15];
};

struct hp_lane_text {
	uint64_t number;	/* a sender: of the message; else unused, or being written (seq.h) */
	uint32_t length;	/* a sender: bytes that are kept */
	uint32_t reserved;
};

static_assert(sizeof(struct hp_channel) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_lane_side) == 64, "each side has its own line");
static_assert(offsetof(struct hp_lane, sends) == 64, "each side has its own line");
static_assert(offsetof(struct hp_lane, most) == 192, "each side has its own line");
static_assert(sizeof(struct hp_lane) == 384, "format: readers rely on it");
static_assert(sizeof(struct hp_probe) == 32, "format: readers rely on it");
static_assert(sizeof(struct hp_message) == 32, "format: readers rely on it");
static_assert(sizeof(struct hp_lane_log) % HP_LINE == 0, "format: readers rely on it");
static_assert(sizeof(struct hp_lane_texts) == HP_LINE, "format: readers rely on it");
static_assert(sizeof(struct hp_lane_text) == 16, "format: readers rely on it");

#endif
