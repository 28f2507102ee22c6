/* SPDX-License-Identifier: MIT */
/*
 * perf_crowd.h - sessions with many threads: events of the CPUs instead of the threads'.
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

#endif
