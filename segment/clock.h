/* SPDX-License-Identifier: MIT */
/*
 * clock.h - the clock of a session: ticks, and how they become nanoseconds.
 *
 * Every time in the segment is a number of ticks of one clock, chosen once by
 * the creator of the segment: the processor's own counter if it runs at one
 * rate on all cores and may be read (10 ns or less), else CLOCK_MONOTONIC_RAW.
 * Its frequency is never queried: the header holds two moments, each a reading
 * of both time bases, and readers interpolate between them.
 *
 * Used inside the target: no malloc, no stdio, errno is kept.
 */
#ifndef HP_SEGMENT_CLOCK_H
#define HP_SEGMENT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "segment/layout/header.h"

/* Ticks of HP_CLOCK_MONOTONIC_RAW. */
uint64_t hp_clock_raw_ns(void);

/*
 * From now on these come from a system call: in user space the C library reads
 * the counter, which faults in some thread.
 */
void hp_clock_avoid_user_space(void);

/* This thread may read the processor's counter (PR_SET_TSC can forbid that). */
bool hp_clock_is_readable(void);

/*
 * The processor's counter; ticks of HP_CLOCK_TSC and HP_CLOCK_CNTVCT.  Not
 * ordered against the instructions around it: a fence would double its cost.
 */
static inline uint64_t hp_clock_tsc(void)
{
#if defined(__x86_64__) || defined(__i386__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return hp_clock_raw_ns();
#endif
}

/* A reading of the clock `kind`. */
static inline uint64_t hp_clock_read(uint32_t kind)
{
	return kind == HP_CLOCK_MONOTONIC_RAW ? hp_clock_raw_ns() : hp_clock_tsc();
}

/*
 * Ticks from `since` to `now`; 0 if the clock went back. Counters of two
 * processors may differ by less than the kernel notices, and a thread may
 * migrate between them or use another thread's reading.
 */
static inline uint64_t hp_clock_between(uint64_t since, uint64_t now)
{
	return now > since ? now - since : 0;
}

/* The best clock of this machine that this process may read: enum hp_clock_kind. */
uint32_t hp_clock_choose(void);

/* All readings are multiples of this many ticks. */
uint64_t hp_clock_grain(uint32_t kind);

/* Both time bases at one moment: the tightest of a few tries, some 30 ns apart. */
struct hp_moment hp_clock_moment(uint32_t kind);

/* Now, into hp_header.last (seq.h).  One caller at a time. */
void hp_clock_note(struct hp_header *header);

/* Reads it back. False = a writer was killed half-way, so the value may mix two writes. */
bool hp_clock_last(const struct hp_header *header, struct hp_moment *last);

#endif
