/* SPDX-License-Identifier: MIT */
/*
 * switch.h - did the kernel preempt this thread?
 *
 * A call that is only counted has no clock readings, and the one call in a
 * million that was preempted or blocked would go unnoticed. The kernel reports
 * this at no cost: it keeps a word in the thread's struct rseq (rseq(2), registered by glibc 2.35
 * and later).  While that word names a critical section, the kernel clears it
 * whenever it has preempted the thread or delivered a signal outside the
 * section (kernel/rseq.c: lazily, without any other effect).  Our section is a
 * single instruction that is never executed.  So a hook that finds the word
 * zero knows that it must measure the time since the last hook, which belongs
 * to the top call.
 *
 * A program that uses such sections itself overwrites our word with its own,
 * and then with zero: at worst, that causes a needless clock reading.
 */
#ifndef HP_PRELOAD_CALL_SWITCH_H
#define HP_PRELOAD_CALL_SWITCH_H

#include <stdint.h>

#include "preload/call/local.h"

/* The word of the calling thread; without effect if the kernel or the C library has none. */
void hp_switch_init(struct hp_local *me);

/* The thread ends: restores the word. */
void hp_switch_release(struct hp_local *me);

/* True if the thread was preempted since the last hp_switch_arm. */
static inline bool hp_switch_seen(const struct hp_local *me)
{
	return *(volatile uint64_t *)me->switch_word == 0;
}

/* The same, read once in a hook: without `volatile`, load and comparison are one instruction. */
static inline bool hp_switch_seen_once(const struct hp_local *me)
{
	return *me->switch_word == 0;
}

void hp_switch_arm(struct hp_local *me);

#endif
