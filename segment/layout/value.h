/* SPDX-License-Identifier: MIT */
/*
 * value.h - values that a program publishes: expressions, values, gauges.
 *
 * See header.h for the terms and common rules.
 */
#ifndef HP_SEGMENT_LAYOUT_VALUE_H
#define HP_SEGMENT_LAYOUT_VALUE_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "segment/layout/header.h"

enum hp_value_kind {
	HP_VALUE_DBG = 1,	/* an expression, by its place */
	HP_VALUE_VAL = 2,	/* by its key */
	HP_VALUE_GAUGE = 3,	/* by its name */
	HP_VALUE_KINDS
};

/* As HOTPATH_TYPE_* of include/hotpath.h, which tells the size too; here there is one for each size. */
enum hp_value_type {
	HP_VALUE_OTHER = 0,	/* bits: its size */
	HP_VALUE_BOOL = 1,
	HP_VALUE_CHAR = 2,
	HP_VALUE_INT = 3,	/* bits: sign-extended */
	HP_VALUE_UINT = 4,
	HP_VALUE_DOUBLE = 5,	/* bits: of the double */
	HP_VALUE_FLOAT = 6,	/* the same of a float, which has fewer digits */
	HP_VALUE_POINTER = 7,
	HP_VALUE_TEXT =
		8,	/* `bytes` of the entry; bits: their number, HP_VALUE_CUT if there are more */
	HP_VALUE_UNREADABLE = 9,	/* a pointer that leads to no text */
	HP_VALUE_WIDE = 10,	/* `bytes` of the entry: 16 of a signed number */
	HP_VALUE_UWIDE = 11,
	HP_VALUE_LONG = 12,	/* the same: a long double */
	HP_VALUE_COMPLEX = 13,	/* two doubles */
	HP_VALUE_TYPES
};

#define HP_VALUE_CUT (UINT64_C(1) << 32)
#define HP_VALUE_TYPE_BITS 8	/* of hp_value.count */
#define HP_VALUE_ENTRIES 64
#define HP_VALUE_LASTS 4
#define HP_VALUE_BYTES 80

/*
 * `bits` and `count` change together, by one 16-byte compare-exchange, so no change of any thread
 * is lost, and change number n has its own value.  A reader takes `count`, `bits`, and `count` again.
 */
struct hp_shown {
	uint64_t next;	/* set once */
	uint32_t kind;	/* set once: enum hp_value_kind */
	uint32_t line;	/* set once: of the first place seen */
	uint64_t name;	/* set once: offset of a hp_text */
	uint64_t file;	/* set once: offset of a hp_text; 0 = unknown */
	_Atomic uint32_t
		pid;	/* any thread: its process; the sum of a gauge starts again with another one */
	uint32_t reserved0;
	uint64_t reserved[3];

	uint64_t bits;	/* any thread: the last value, as its type says */
	uint64_t count;	/* any thread: changes << HP_VALUE_TYPE_BITS | enum hp_value_type of the last */
	uint64_t least;	/* any thread, of a gauge: bits of a double; +inf = none yet */
	uint64_t most;	/* the same; -inf */
	uint64_t due;	/* any thread: number of the next change that is logged */
	uint64_t last_ticks;	/* any thread: when the last one was logged */
	int64_t credit;	/* any thread: ticks that logging may still take */
	uint32_t log;	/* once: offset / HP_LINE of hp_value_log; 0 = none yet */
	uint32_t rest;
};

/* One change: of those that were logged number n is at n % HP_VALUE_ENTRIES. */
struct hp_value_entry {
	uint64_t number;	/* of the change, from 1; else unused, or being written (seq.h) */
	uint64_t ticks;	/* 0 = the thread must not read a clock */
	uint32_t tid;
	uint32_t type;	/* enum hp_value_type */
	uint32_t line;	/* where */
	uint32_t file;	/* offset / HP_LINE of a hp_text; 0 = unknown */
	uint64_t bits;
	char bytes[HP_VALUE_BYTES];
	uint64_t reserved;
};

struct hp_value_log {
	_Atomic uint64_t logged;	/* any thread: entries so far */
	uint64_t reserved[7];
	struct hp_value_entry entries[HP_VALUE_ENTRIES];
	struct hp_value_entry
		lasts[HP_VALUE_LASTS];	/* of types with `bytes`: change n at n % HP_VALUE_LASTS */
};

static_assert(sizeof(struct hp_shown) == 128, "format: readers rely on it");
static_assert(offsetof(struct hp_shown, bits) == 64, "a 16-byte word, and a line of its own");
static_assert(sizeof(struct hp_value_entry) == 128, "format: readers rely on it");
static_assert(sizeof(struct hp_value_log) % HP_LINE == 0, "format: readers rely on it");

#endif
