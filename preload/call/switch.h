/* SPDX-License-Identifier: MIT */
/*
 * switch.h - did the kernel take the processor away from this thread?
 *
 * A call that is counted only has no clock, and the one call in a million that
 * was preempted or blocked would be lost.  The kernel tells for nothing: it
 * keeps a word in the thread's struct rseq (rseq(2), registered by glibc 2.35
 * and later).  While that word names a critical section, the kernel clears it
 * whenever it has preempted the thread or delivered a signal outside of the
 * section (kernel/rseq.c: lazily, without any other effect).  Our section is a
 * single instruction that is never executed.  So a hook that finds the word
 * zero knows that the time since the last hook must be measured, and whose it
 * was: that of the call on top.
 *
 * A program which uses such sections itself stores its own word over ours, and
 * zero after it: then the clock is read in vain, nothing worse.
 */
#ifndef HP_PRELOAD_CALL_SWITCH_H
#define HP_PRELOAD_CALL_SWITCH_H

#include <stdint.h>

#include "preload/call/local.h"

/* The word of the calling thread; of no use where the kernel or the C library has none. */
void hp_switch_init(struct hp_local *me);

/* The thread ends: the word is left as it was found. */
void hp_switch_release(struct hp_local *me);

/* True if the thread lost the processor since the last hp_switch_arm. */
static inline bool hp_switch_seen(const struct hp_local *me)
{
	return *(volatile uint64_t *)me->switch_word == 0;
}

void hp_switch_arm(struct hp_local *me);

#endif
