/* SPDX-License-Identifier: MIT */
/*
 * stream.h - streams: an object that yields items until it ends.
 *
 * See header.h for the terms and common rules.
 */
#ifndef HP_SEGMENT_LAYOUT_STREAM_H
#define HP_SEGMENT_LAYOUT_STREAM_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "segment/layout/header.h"

enum hp_stream_kind {
	HP_STREAM_CUSTOM = 1,	/* HOTPATH_STREAM of include/hotpath.h */
	HP_STREAM_FILE = 2,	/* FILE * */
	HP_STREAM_DIR = 3,	/* DIR *, scandir */
	HP_STREAM_ACCEPT = 4,	/* a listening socket: an item is a connection */
	HP_STREAM_TIMER = 5,	/* timerfd: an item is a read */
	HP_STREAM_SIGNAL = 6,	/* signalfd: an item is a signal */
	HP_STREAM_INOTIFY = 7,	/* an item is an event */
	HP_STREAM_GINPUT = 8,	/* GInputStream */
	HP_STREAM_WRITTEN = 9,	/* FILE * that is only written: no items, no parts */
	HP_STREAM_KINDS
};

/* How a stream became known. */
enum hp_stream_origin {
	HP_STREAM_OPENED = 0,	/* the site opened it */
	HP_STREAM_FIRST = 1,	/* the site used it first */
	HP_STREAM_STDIN = 2,	/* the same of stdin */
};

/* How an instance ended. */
enum hp_stream_end {
	HP_STREAM_ENDED = 0,	/* closed at its end */
	HP_STREAM_CLOSED = 1,	/* closed before */
	HP_STREAM_FAILED = 2,	/* with an error */
	HP_STREAM_LEFT = 3,	/* still open when the process ended */
	HP_STREAM_ENDS
};

/* hp_stream.flags */
#define HP_STREAM_NAMES 1	/* instances have different names */
#define HP_STREAM_NO_BYTES 2	/* bytes of some instances are not known */
#define HP_STREAM_NO_ITEMS 4	/* the same of items */

/*
 * The streams that one place opens: those of a thousand files are one record.  An open instance
 * has a part of it; later instances reuse the part, and its counts continue.
 *
 *   instances = ended[0] + ... + ended[3] + parts in use
 */
struct hp_stream {
	uint64_t next;	/* set once */
	uint32_t kind;	/* set once: enum hp_stream_kind */
	uint32_t origin;	/* set once: enum hp_stream_origin */
	uint64_t site_module;	/* set once: offset of the hp_module of the code that opened it; 0 = none */
	uint64_t site_address;	/* set once: a return address */
	uint64_t name;	/* set once: offset of a hp_text: path of the first instance; 0 = none */
	_Atomic uint64_t label;	/* any thread: offset of a hp_text; 0 = none */
	_Atomic uint64_t parts;	/* any thread: head of the list of hp_stream_part */
	uint32_t path;	/* set once: id of the hp_step that opened the first one; 0 = unknown */
	_Atomic uint32_t flags;	/* any thread: HP_STREAM_NAMES, ... */

	_Atomic uint32_t instances;	/* any thread, as all that follows; UINT32_MAX = that or more */
	_Atomic uint32_t ended[HP_STREAM_ENDS];	/* the same */
	uint32_t log;	/* once: offset / HP_LINE of hp_stream_log; 0 = none yet */
	uint32_t gaps_at;	/* once: offset / HP_LINE of hp_spread; 0 = none yet */
	_Atomic uint32_t same;	/* any thread: later instances with the first one's name */
	_Atomic uint64_t gaps;	/* between two items of one instance: how many were timed, */
	_Atomic uint64_t gap_ticks;	/* their sum, */
	_Atomic uint64_t gap_most;	/* and the longest */
	uint64_t reserved;
};

/* One open instance. Its holder counts items in `items`, all others add to `more_items`. */
struct hp_stream_part {
	uint64_t next;	/* set once */
	uint64_t stream;	/* set once: offset of hp_stream */
	_Atomic uint32_t state;	/* enum hp_state: taken by compare-exchange */
	uint32_t pid;	/* its owner */
	_Atomic uint64_t bytes;	/* any thread: as far as they are known */
	_Atomic uint64_t
		first;	/* any thread: ticks of the current instance's first item; 0 = none */
	_Atomic uint64_t last;	/* any thread: ticks of the last item that was timed */
	_Atomic uint64_t
		active_ticks;	/* of earlier instances: from the first item to the last, or the end */
	_Atomic uint64_t opened;	/* any thread: ticks */

	uint64_t items;	/* owner */
	_Atomic uint64_t more_items;	/* any thread */
	_Atomic uint64_t base;	/* who claimed it: items + more_items of earlier instances */
	_Atomic uint64_t due;	/* any thread: number of the next item that is timed */
	_Atomic uint64_t timed;	/* any thread: number of the last timed one */
	int64_t credit;	/* any thread: ticks that timing may still take */
	_Atomic uint32_t settled;	/* any thread: 0 = bytes of the current instance are missing */
	uint32_t reserved0;
	uint64_t reserved;
};

#define HP_STREAM_ENTRIES 64
#define HP_STREAM_BYTES 80

/* One item: number n of those that were logged is at (n - 1) % HP_STREAM_ENTRIES. */
struct hp_stream_entry {
	uint64_t number;	/* in the log, from 1; else unused, or being written (seq.h) */
	uint64_t ticks;
	uint64_t item;	/* of its instance, from 1 */
	uint64_t size;	/* bytes of the item; UINT64_MAX = unknown */
	uint32_t tid;
	uint32_t length;	/* of `text`; HP_STREAM_CUT = there was more */
	char text[HP_STREAM_BYTES];	/* the program's text for it */
	uint64_t reserved;
};

#define HP_STREAM_CUT (UINT32_C(1) << 31)

struct hp_stream_log {
	_Atomic uint64_t logged;	/* any thread: entries so far */
	uint64_t reserved[7];
	struct hp_stream_entry entries[HP_STREAM_ENTRIES];
};

static_assert(sizeof(struct hp_stream) == 128, "format: readers rely on it");
static_assert(offsetof(struct hp_stream, instances) == 64, "what is counted has its own line");
static_assert(sizeof(struct hp_stream_part) == 128, "format: readers rely on it");
static_assert(offsetof(struct hp_stream_part, items) == 64, "the owner's line");
static_assert(sizeof(struct hp_stream_entry) == 128, "format: readers rely on it");
static_assert(sizeof(struct hp_stream_log) % HP_LINE == 0, "format: readers rely on it");

#endif
