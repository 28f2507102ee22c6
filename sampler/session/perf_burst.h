/* SPDX-License-Identifier: MIT */
/*
 * perf_burst.h - when switches are recorded in bursts only, and which events that takes.
 *
 * Two things make a switch dear: the record that the kernel writes of it, and the timer of a CPU
 * clock that belongs to a thread, which is stopped and started with it.  Where a CPU switches
 * more than HP_BURST_MANY times a second, switches are recorded in bursts (sampler/sample/burst.h), and
 * whoever may see all CPUs samples these instead of the threads.
 *
 * If waits were requested (HOTPATH_REPORT names them), all of them are recorded
 * at any price.
 */
#ifndef HP_SAMPLER_SESSION_PERF_BURST_H
#define HP_SAMPLER_SESSION_PERF_BURST_H

#include "sampler/session/perf.h"

#define HP_BURST_MANY UINT64_C(10000) /* switches of one CPU in a second */

/* Records were read: begins with bursts if there are too many switches. */
void hp_perf_burst_look(struct hp_perf *perf, uint64_t now_ns);

/* While perf->burst.is_on: begins and ends bursts, or all of them.  Sets perf->look_ns. */
void hp_perf_burst_do(struct hp_perf *perf, uint64_t now_ns);

/* All threads have been given a CPU so often, a sum that only grows. */
void hp_perf_burst_count(struct hp_perf *perf, uint64_t switches);

/* The report follows. */
void hp_perf_burst_finish(struct hp_perf *perf, uint64_t now_ns);

#endif
