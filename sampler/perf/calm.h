/* SPDX-License-Identifier: MIT */
/*
 * calm.h - the sampling rate of threads if no samples were requested.
 *
 * The kernel's clock of CPU time arms a timer at each switch to a thread and disarms it at each
 * switch away. If that timer is due before the kernel's tick, the hardware timer is set twice: 1.2
 * us per switch at 249 Hz on a virtual machine, 0.3 at 49. So threads that switch all the time are
 * sampled less often; a computing thread does not pay for switches, and keeps its rate.
 *
 * This does not change the meaning of a sample: each carries the CPU time that it stands for.
 */
#ifndef HP_SAMPLER_PERF_CALM_H
#define HP_SAMPLER_PERF_CALM_H

#include <stdbool.h>
#include <stdint.h>

#define HP_CALM_HZ 49

struct hp_calm {
	uint64_t cpu_ns;	/* where the current count began, */
	uint64_t switches;
	uint64_t still_ns;	/* CPU time with few switches that is required before the rate is restored */
	bool is_low;
};

/*
 * `cpu_ns` and `switches` of all threads, sums that only grow. True = `is_low` has changed.
 */
bool hp_calm_look(struct hp_calm *calm, uint64_t cpu_ns, uint64_t switches);

/* The lower rate is not possible now: as before the last call. */
void hp_calm_refuse(struct hp_calm *calm);

#endif
