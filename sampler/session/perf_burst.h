/* SPDX-License-Identifier: MIT */
/*
 * perf_burst.h - when switches are recorded only in bursts, and with which events.
 *
 * Two things make a switch expensive: the kernel's record of it, and the timer of a thread's CPU
 * clock, which is stopped and started with it. If a CPU switches more than HP_BURST_MANY times a
 * second, switches are recorded in bursts (sampler/sample/burst.h), and with permission for all
 * CPUs, these are sampled instead of the threads.
 *
 * If waits were requested (HOTPATH_REPORT names them), all of them are recorded
 * at any cost.
 */
#ifndef HP_SAMPLER_SESSION_PERF_BURST_H
#define HP_SAMPLER_SESSION_PERF_BURST_H

#include "sampler/session/perf.h"

#define HP_BURST_MANY UINT64_C(10000)	/* switches of one CPU in a second */

/* Records were read: starts bursts if there are too many switches. */
void hp_perf_burst_look(struct hp_perf *perf, uint64_t now_ns);

/* Short time slices for the helper, so that it runs soon: while threads switch often, or may. */
void hp_perf_burst_hurry(struct hp_perf *perf, bool is_in_hurry);

/* While perf->burst.is_on: starts and ends a burst, or ends bursts altogether. Sets
 * perf->look_ns. */
void hp_perf_burst_do(struct hp_perf *perf, uint64_t now_ns);

/* The total number of all threads' time slices, which only grows. */
void hp_perf_burst_count(struct hp_perf *perf, uint64_t switches);

/* The report follows. */
void hp_perf_burst_finish(struct hp_perf *perf, uint64_t now_ns);

#endif
