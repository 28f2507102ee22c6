/* SPDX-License-Identifier: MIT */
/*
 * perf_crowd.h - sessions with many threads, or with many that start: events of the CPUs instead of
 * the threads'.
 *
 * A thread gets a copy of each of its creator's events, one for each CPU and kind. For 10,000
 * threads that are started, wait and end, this took three times as long as the rest. When a thread
 * ends, the kernel also walks all events that were opened for a ring, once for each of its own
 * (ring_buffer_wakeup).
 *
 * So with permission for all CPUs, and more than HP_CROWD_MANY threads, threads have no events. The
 * CPUs are sampled, and report switches, mappings and tasks; those of other processes are dropped.
 * All waits are still recorded, and each sample is still that of one thread. Threads have events
 * again when there have been few of them for a while.
 *
 * A thread that ever had events keeps a list of them, and even an empty one costs 0.23 us at each of
 * its switches. A thread or process that starts gets a copy of each of its creator's events. So with
 * permission for all CPUs, threads have no events in the session's first quarter of a second: by then
 * a program that switches often, or has many threads, is known as such, and they need none later.
 * The same applies while hundreds of threads and processes start in a second.
 *
 * The CPUs are sampled at the threads' rate, and report all switches, mappings and tasks, so nothing
 * is less exact. The records of other processes are dropped. If these are more than the session's
 * own, its threads get events at once.
 *
 * Not if samples, waits or a rate were requested.
 */
#ifndef HP_SAMPLER_SESSION_PERF_CROWD_H
#define HP_SAMPLER_SESSION_PERF_CROWD_H

#include "sampler/session/perf.h"

#define HP_CROWD_MANY 256u	/* threads alive */

/* There are many already, in processes that have no events yet. */
void hp_perf_crowd_begin(struct hp_perf *perf);

/* Records were read: threads may have become many. */
void hp_perf_crowd_look(struct hp_perf *perf);

/* At each scan of the threads: they may have become many, or few. */
void hp_perf_crowd_scan(struct hp_perf *perf, uint64_t now_ns);

/* True if there still are many threads, and the CPUs report what bursts did not. */
bool hp_perf_crowd_again(struct hp_perf *perf);

/* Instead of hp_perf_open_process, for the root. False = it needs events of its own. */
bool hp_perf_starts_first(struct hp_perf *perf, uint32_t pid);

/* Records were read: many tasks may have started, or few. */
void hp_perf_starts_look(struct hp_perf *perf, uint64_t now_ns);

/* Other events have replaced those of the CPUs. */
void hp_perf_starts_leave(struct hp_perf *perf);

#endif
