/* SPDX-License-Identifier: MIT */
/*
 * future.h - work that is started, waited for and finished: futures, coroutines, threads as tasks,
 * requests to the kernel.
 *
 * See header.h for the terms and common rules.
 */
#ifndef HP_SEGMENT_LAYOUT_FUTURE_H
#define HP_SEGMENT_LAYOUT_FUTURE_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "segment/layout/header.h"

enum hp_future_kind {
	HP_FUTURE_CUSTOM = 1,	/* HOTPATH_FUTURE of include/hotpath.h */
	HP_FUTURE_COROUTINE = 2,	/* C++20, hotpath::promise */
	HP_FUTURE_THREAD = 3,	/* pthread_create to join */
	HP_FUTURE_CONNECT = 4,	/* a connect that returned EINPROGRESS */
	HP_FUTURE_AIO = 5,	/* POSIX AIO */
	HP_FUTURE_TASK = 6,	/* GTask */
	HP_FUTURE_JOB = 7,	/* a job of a GThreadPool */
	HP_FUTURE_URING = 8,	/* io_uring, by liburing */
	HP_FUTURE_UV = 9,	/* a request of libuv */
	HP_FUTURE_CONTEXT = 10,	/* makecontext */
	HP_FUTURE_KINDS
};

enum hp_future_state {
	HP_FUTURE_NONE = 0,	/* the flight is free */
	HP_FUTURE_PENDING = 1,	/* made, never polled */
	HP_FUTURE_RUNNING = 2,	/* a poll is running */
	HP_FUTURE_SUSPENDED = 3,	/* polled, and not ready */
	HP_FUTURE_READY = 4,	/* it ended; only in entries of the log, like the next one */
	HP_FUTURE_CANCELLED = 5,
	HP_FUTURE_STATES
};

/* All calls that begin at one place in the program, or under one label. */
struct hp_future {
	uint64_t next;	/* set once, like all up to `pid` */
	uint32_t kind;	/* enum hp_future_kind */
	uint32_t line;	/* 0 = unknown */
	uint64_t label;	/* offset of a hp_text; 0 = none */
	uint64_t file;	/* offset of a hp_text; 0 = unknown */
	uint64_t site_module;	/* offset of the hp_module of the code; 0 = none */
	uint64_t site_address;	/* in it; a return address, or the function that resumes a coroutine */
	uint32_t pid;
	uint32_t log;	/* once: offset / HP_LINE of hp_future_log; 0 = none yet */
	_Atomic uint64_t lost;	/* any thread: calls without a flight; included in `calls` */

	_Atomic uint64_t calls;	/* any thread: begun */
	_Atomic uint64_t flights;	/* any thread: head of the list of hp_flight */
	_Atomic uint64_t
		free;	/* any thread: turn << 32 | offset / HP_LINE of a free flight; 0 = none */
	_Atomic uint32_t flight_count;	/* any thread */
	uint32_t reserved32;
	_Atomic uint64_t poll_most;	/* any thread: of ended calls, ticks */
	_Atomic uint64_t unseen;	/* any thread: calls that ended, but not which ones */
	uint64_t reserved[2];
};

#define HP_FLIGHTS_MAX 65536	/* of one hp_future */

/*
 * One call at a time, and the sums over all its calls so far. The thread that may currently poll
 * the future writes it: the program ensures that there are never two at once. Sums only grow. The
 * current call's share is the difference to the values at its start (`_before`).
 */
struct hp_flight {
	uint64_t next;	/* set once: list of the hp_future */
	_Atomic uint32_t state;	/* enum hp_future_state */
	uint32_t next_free;	/* offset / HP_LINE of the next free flight */
	uint64_t number;	/* of the call, from 1 */
	uint64_t created;	/* ticks; 0 = not read */
	uint64_t begun;	/* ticks when the current poll began; 0 = none, or not read */
	uint64_t begun_bytes;	/* its thread's allocations at that time */
	uint64_t begun_blocks;
	uint64_t begun_thread;	/* of no use to a reader */

	uint64_t polls;	/* sums, to `alloc_blocks` */
	uint64_t timed;	/* polls with a known duration */
	uint64_t poll_ticks;
	uint64_t alloc_bytes;	/* in polls that ended in the thread that began them */
	uint64_t alloc_blocks;
	uint64_t poll_most;	/* of the present call */
	uint64_t poll_last;
	uint64_t polls_before;

	uint64_t timed_before;
	uint64_t ticks_before;
	uint64_t bytes_before;
	uint64_t blocks_before;
	uint64_t alloc_most;	/* of the present call, bytes of one poll */
	uint64_t alloc_last;
	uint32_t text;	/* offset / HP_LINE of hp_future_text; 0 = none yet */
	uint32_t text_size;	/* of the present call's result; 0 = none */
	uint64_t queued_now;	/* of the present call: ticks from its start to its first poll; 0 = not known */

	uint64_t ended;	/* sums: calls, */
	uint64_t cancelled;	/* of them */
	uint64_t totals;	/* of these: with a known time from start to end */
	uint64_t total_ticks;
	uint64_t total_most;
	uint64_t queued;	/* calls that were polled, with a known time from start to first poll */
	uint64_t queued_ticks;
	uint64_t left;	/* calls that had not ended when their process ended */
};

#define HP_FUTURE_TEXT 80	/* bytes of a result that are kept */
#define HP_FUTURE_ENTRIES 64

struct hp_future_text {
	char bytes[HP_FUTURE_TEXT];
	uint64_t reserved[6];
};

/* An ended call: number n of the logged ones is at n % HP_FUTURE_ENTRIES. */
struct hp_future_entry {
	uint64_t number;	/* of the call, from 1; else unused, or being written (seq.h) */
	uint64_t created;	/* ticks; 0 = not read */
	uint64_t ended;
	uint32_t state;	/* HP_FUTURE_READY or HP_FUTURE_CANCELLED */
	uint32_t text_size;	/* of the result; UINT32_MAX = none */
	uint64_t polls;
	uint64_t timed;
	uint64_t poll_ticks;
	uint64_t poll_most;
	uint64_t poll_last;
	uint64_t alloc_bytes;
	uint64_t alloc_blocks;
	uint64_t alloc_most;
	uint64_t alloc_last;
	uint64_t queued;	/* ticks from start to first poll; 0 = not known */
	char text[HP_FUTURE_TEXT];
};

struct hp_future_log {
	_Atomic uint64_t logged;	/* any thread: entries so far */
	uint64_t reserved[7];
	struct hp_future_entry entries[HP_FUTURE_ENTRIES];
};

static_assert(sizeof(struct hp_future) == 128, "format: readers rely on it");
static_assert(sizeof(struct hp_flight) == 256, "format: readers rely on it");
static_assert(offsetof(struct hp_flight, polls) == 64, "format: readers rely on it");
static_assert(sizeof(struct hp_future_text) == 128, "format: readers rely on it");
static_assert(sizeof(struct hp_future_entry) == 192, "format: readers rely on it");
static_assert(sizeof(struct hp_future_log) % HP_LINE == 0, "format: readers rely on it");

#endif
