/* SPDX-License-Identifier: MIT */
/*
 * loop.h - event loops: threads that wait for several descriptors, again and again.
 *
 * See header.h for the terms and common rules.
 */
#ifndef HP_SEGMENT_LAYOUT_LOOP_H
#define HP_SEGMENT_LAYOUT_LOOP_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "segment/layout/header.h"

/* The family of the call that waits. */
enum hp_loop_call {
	HP_LOOP_EPOLL = 1,
	HP_LOOP_POLL = 2,
	HP_LOOP_SELECT = 3,
	HP_LOOP_URING = 4,	/* io_uring, by liburing */
	HP_LOOP_CALLS
};

#define HP_LOOP_MIN 16	/* waits of a thread at one call before there is a record */

/*
 * The waits of one thread at one call.  A record does not say that this is an event loop: the
 * report decides that from these fields.  Time is recorded once a wait or a busy span is
 * over:
 *
 *   life = earlier_ticks + (until - first), busy_ticks + wait_ticks = life
 *
 * What follows the last wait is apart, in tail_ticks: up to the end of the thread, or until it
 * closes the epoll instance. If the process ended first, readers add what follows `until`.
 *
 * A later thread that waits at the same call takes over the record of one that has ended.
 */
struct hp_loop {
	uint64_t next;	/* set once */
	_Atomic uint32_t state;	/* enum hp_state: taken by compare-exchange, freed by its thread */
	uint32_t call;	/* set once: enum hp_loop_call */
	uint64_t site_module;	/* set once: offset of the hp_module of the code that waits; 0 = none */
	uint64_t site_address;	/* set once: a return address */
	uint32_t pid;	/* its thread, as all that follows */
	uint32_t tid;
	uint32_t threads;	/* how many threads have used this record */
	uint32_t path;	/* id of the hp_step of the first wait told; 0 = unknown */
	uint64_t label;	/* offset of a hp_text: the program's HOTPATH_LOOP; 0 = none */
	uint32_t spans_at;	/* offset / HP_LINE of hp_spread of the busy spans; 0 = none */
	uint32_t longest_at;	/* offset / HP_LINE of hp_loop_longest; 0 = none */

	uint64_t first;	/* ticks when its first wait began; 0 = its thread has ended, or the loop */
	uint64_t since;	/* when the current wait began; 0 = it does not wait */
	uint64_t until;	/* when the last wait ended */
	uint64_t earlier_ticks;	/* lifetimes of the earlier threads */
	uint64_t waits;
	uint64_t parks;	/* of these: waits that were allowed to sleep */
	uint64_t wait_ticks;
	uint64_t busy_ticks;

	uint64_t spans;	/* from the end of a wait to the start of the next one */
	uint64_t span_most;	/* the longest, ticks */
	uint64_t events;
	uint64_t woken;	/* waits that returned some */
	uint64_t full;	/* of these: as many as there was room for */
	uint64_t expired;	/* waits that ended by their timeout */
	uint64_t expired_ticks;	/* how long these took, */
	uint64_t expired_ns;	/* and how long they were meant to take */

	uint64_t late_ticks;	/* the same of the latest one */
	uint64_t late_ns;
	uint64_t timeout_ns;	/* the first timeout that expired */
	uint32_t timeouts;	/* 2 = others, too */
	uint32_t sources;	/* of the events: 1 = one descriptor, 2 = several */
	uint64_t source;	/* that one: number of a descriptor or, for epoll, its data */
	uint32_t last_events;	/* of the last wait */
	uint32_t watched;	/* watched descriptors */
	uint64_t registered;	/* epoll: descriptors added, */
	uint64_t deregistered;	/* and removed */

	uint64_t woken_remote; /* waits with events, after which it received from another thread of the process */
	uint64_t timer_reads; /* of timerfds: reads, */
	uint64_t timer_missed; /* expirations beyond one a read, */
	uint64_t timer_timed; /* reads of which is known how late they were, */
	uint64_t timer_late_ns; /* their sum, */
	uint64_t timer_late_most; /* and the longest, ns */
	uint64_t tail_ticks; /* after the last waits of loops that have ended */
	uint64_t expired_at; /* the number of the last wait that ended by its timeout; 0 = none */
};

static_assert(sizeof(struct hp_loop) == 5 * HP_LINE, "format: readers rely on it");

#define HP_LOOP_LONGEST 8
#define HP_LOOP_TIMEOUT (-2)	/* the wait before ended by its timeout */

/* In the number of a span that ended with the loop, beside how many waits preceded it. */
#define HP_LOOP_TAIL (UINT64_C(1) << 62)

/* One of the longest busy spans. */
struct hp_loop_span {
	uint64_t number;	/* of the span, from 1; else unused, or being written (seq.h) */
	uint64_t begin;	/* ticks */
	uint64_t ticks;
	uint64_t source;	/* as hp_loop.source, of its only event */
	uint32_t events;	/* of the wait before it */
	int32_t fd;	/* with one event: its descriptor; -1 = not known, or HP_LOOP_TIMEOUT */
	uint32_t tid;
	uint32_t reserved;
	uint64_t rest[2];
};

struct hp_loop_longest {
	struct hp_loop_span spans[HP_LOOP_LONGEST];	/* in no order */
};

static_assert(sizeof(struct hp_loop_span) == HP_LINE, "format: readers rely on it");

#endif
