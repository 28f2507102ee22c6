/* SPDX-License-Identifier: MIT */
/*
 * cpu_timer.h - samples that the profiled processes took of themselves, with
 * timers (preload/wait/cpu_timer.h): read from their rings and added to the tree
 * of stacks.
 *
 * The sampler checks for them if the kernel's counters are refused, or
 * HOTPATH_CPU=timer requests only them.
 */
#ifndef HP_SAMPLER_SESSION_CPU_TIMER_H
#define HP_SAMPLER_SESSION_CPU_TIMER_H

#include "sampler/session/perf.h"

#define HP_TICKS_EVERY_NS UINT64_C(50000000)	/* a ring has room for more than that */

struct hp_ticks {
	struct hp_perf *perf;	/* whose record and settings are ours */
	struct hp_samples samples;
	bool is_on;	/* there are timers */
	uint64_t free_ns;	/* when rings of ended processes were searched for */
};

/* `ticks` is zero: it is large, so its pages are not touched here. */
void hp_ticks_init(struct hp_ticks *ticks, struct hp_perf *perf);

/* Reads all that is available. */
void hp_ticks_read(struct hp_ticks *ticks);

/* The same; the report follows, so an empty result is explained. */
void hp_ticks_finish(struct hp_ticks *ticks);

#endif
