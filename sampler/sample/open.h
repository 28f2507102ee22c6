/* SPDX-License-Identifier: MIT */
/*
 * open.h - includes ongoing waits in the sums.
 *
 * The kernel's record of a wait's end may arrive in an hour, or never. So each
 * round adds the elapsed time of every open wait to its node, and the thread
 * keeps the time up to which it was counted (hp_wait_thread.counted_ns): the end
 * adds the rest, or subtracts the excess. A wait whose end was lost is removed
 * completely.
 */
#ifndef HP_SAMPLER_SAMPLE_OPEN_H
#define HP_SAMPLER_SAMPLE_OPEN_H

#include "sampler/sample/sample.h"

#define HP_OPEN_EVERY_NS UINT64_C(100000000)	/* between two rounds */

/* Counts the thread's open wait up to that time, at the node where it is now known to be. */
void hp_open_count(struct hp_samples *samples, struct hp_wait_thread *thread, uint64_t until_ns);

/* The thread's open wait has ended; removes it from the sums. */
void hp_open_forget(struct hp_samples *samples, struct hp_wait_thread *thread);

/*
 * A thread that is older than its events: if it waits and no record says since
 * when, the wait counts from `now_ns`, which is after its events were opened.
 * Older records that arrive later correct that. True if it waits.
 */
bool hp_open_meet(struct hp_samples *samples, uint32_t pid, uint32_t tid, uint64_t now_ns);

/* A new image: the waits of the process's other threads end, and their ids are gone. */
void hp_open_exec(struct hp_samples *samples, uint32_t pid);

/* A round: all waiting threads. The kernel's records up to that time, ns, were read. */
void hp_open_round(struct hp_samples *samples, uint64_t until_ns);

/* The last one before the report, which gets events of them, too. */
void hp_open_finish(struct hp_samples *samples, uint64_t until_ns);

#endif
