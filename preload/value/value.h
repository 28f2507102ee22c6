/* SPDX-License-Identifier: MIT */
/*
 * value.h - values that a program publishes: expressions, values, gauges.
 *
 * HOTPATH_DBG, HOTPATH_VAL and HOTPATH_GAUGE_* of include/hotpath.h come here.  A value and the
 * number of its change are one 16-byte word that changes by compare-exchange, so counts, the last value,
 * least and most are exact whatever threads do.  A log entry needs the clock, which costs more
 * than all the rest, so as many changes are logged as fit into 2 % of the time; each entry has
 * its change's number.
 *
 * A place in the program stores its record and the record's process: a forked child, or a
 * process that has entered another segment, finds another process there and searches again.
 *
 * Folder: preload/value - values that the program shows by include/hotpath.h
 * May use: preload/channel preload/call preload/thread preload/guest
 *   segment segment/layout util include
 */
#ifndef HP_PRELOAD_VALUE_VALUE_H
#define HP_PRELOAD_VALUE_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/guest/above.h"
#include "preload/guest/guest.h"
#include "preload/guest/self.h"
#include "segment/layout/value.h"

#define HOTPATH_DECLARATIONS
#include "include/hotpath.h"

extern const struct hp_recorder hp_value_recorder;

/* The record of a place, found or created; NULL = nothing is recorded, or no room. */
struct hp_shown *hp_value_meet(struct hotpath_value *place, enum hp_value_kind kind);

/* The place's `key` is its record. */
static inline bool hp_value_is_met(const struct hotpath_value *place)
{
	const void *owner = __atomic_load_n(&place->owner, __ATOMIC_ACQUIRE);

	return owner && owner == hp_self->process;
}

static inline struct hp_shown *hp_value_of(struct hotpath_value *place, enum hp_value_kind kind)
{
	return HP_LIKELY(hp_value_is_met(place)) ? place->key : hp_value_meet(place, kind);
}

/* Data of a change to be logged. */
struct hp_value_change {
	const struct hotpath_value *place;
	uint64_t bits;
	uint32_t type;	/* enum hp_value_type */
	uint32_t size;	/* of `bytes` */
	const char *bytes;	/* NULL = none */
};

/* Change `number` is logged, since it is due; the last one with bytes is kept anyway. */
void hp_value_log(struct hp_shown *value, uint64_t number, const struct hp_value_change *changed);
void hp_value_keep(struct hp_shown *value, uint64_t number, const struct hp_value_change *changed);

/* Is this change due? Not a countdown: the next locked instruction would wait for its store. */
static inline bool hp_value_is_due(const struct hp_shown *value, uint64_t number)
{
	return number >= __atomic_load_n(&value->due, __ATOMIC_RELAXED);
}

/*
 * Replaces both words if they still have the expected values; else returns the current ones.
 * Uses the processor's instruction: compilers would call a function of libatomic, which takes
 * a lock if there is none.
 */
static inline bool hp_value_swap(struct hp_shown *value, uint64_t was[2], uint64_t bits,
				 uint64_t count)
{
#if defined(__x86_64__)
	bool is_done;

	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(is_done), "+m"(*(uint64_t(*)[2]) & value->bits), "+a"(was[0]),
			   "+d"(was[1])
			 : "b"(bits), "c"(count)
			 : "memory");
	return is_done;
#else
	__extension__ unsigned __int128 expected = (unsigned __int128)was[1] << 64 | was[0], found;

	found = __sync_val_compare_and_swap((unsigned __int128 *)(void *)&value->bits, expected,
					    (unsigned __int128)count << 64 | bits);
	was[0] = (uint64_t)found;
	was[1] = (uint64_t)(found >> 64);
	return found == expected;
#endif
}

#endif
