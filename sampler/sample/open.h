/* SPDX-License-Identifier: MIT */
/*
 * open.h - waits that continue are in the sums, too.
 *
 * The kernel's record of a wait's end may come in an hour, or never.  So at each
 * round the elapsed time of every open wait is added to its node, and the thread
 * keeps the time up to which it was counted (hp_wait_thread.counted_ns): the end
 * adds the rest, or subtracts the excess.  A wait whose end was lost is taken
 * back whole.
 */
#ifndef HP_SAMPLER_SAMPLE_OPEN_H
#define HP_SAMPLER_SAMPLE_OPEN_H

#include "sampler/sample/sample.h"

#define HP_OPEN_EVERY_NS UINT64_C(100000000) /* between two rounds */

/* The thread's open wait is in the sums up to that time, at the node where it is known to be now. */
void hp_open_count(struct hp_samples *samples, struct hp_wait_thread *thread, uint64_t until_ns);

/* The thread's open wait is over; it is in no sum. */
void hp_open_forget(struct hp_samples *samples, struct hp_wait_thread *thread);

/*
 * A thread that was there before its events: if it waits and no record tells since
 * when, it has done so since `now_ns`, which is after its events were opened.
 * Records that come later and are older put that right.  True if it waits.
 */
bool hp_open_meet(struct hp_samples *samples, uint32_t pid, uint32_t tid, uint64_t now_ns);

/* A new image: the waits of the process's other threads are gone, with their numbers. */
void hp_open_exec(struct hp_samples *samples, uint32_t pid);

/* A round: all that wait.  The kernel's records up to that time, ns, were read. */
void hp_open_round(struct hp_samples *samples, uint64_t until_ns);

/* The last one before the report, which gets events of them, too. */
void hp_open_finish(struct hp_samples *samples, uint64_t until_ns);

#endif
