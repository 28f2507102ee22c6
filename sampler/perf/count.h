/* SPDX-License-Identifier: MIT */
/*
 * count.h - the processor's work between two samples of a thread: was it
 * waiting for memory?
 *
 * If there is a cycle counter, instructions and misses of the last-level cache
 * are counted in a group with the sampling event, and each sample carries the
 * three numbers.  Their growth since the thread's previous sample, on the same
 * processor, shows the kind of time that the sample stands for.
 *
 * Kernels before 6.12 have no such samples of events that threads inherit; and
 * most virtual machines have no such counters.  Then nothing is counted, and
 * samples are unaffected.
 */
#ifndef HP_SAMPLER_PERF_COUNT_H
#define HP_SAMPLER_PERF_COUNT_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#define HP_COUNTS 3
#define HP_COUNT_SLOTS 4096	/* of threads on processors; an equal key replaces it */

/* In the order within a sample: the sampling event is first. */
struct hp_counts {
	uint64_t cycles;
	uint64_t instructions;
	uint64_t misses;
};

/*
 * True if that work waited for memory most of the time. Two conditions must hold:
 * less than one instruction per cycle (B. Gregg, "CPU Utilization is Wrong", 2017:
 * below 1.0 the processor is likely stalled on memory), and misses that would
 * take half of the cycles if they did not overlap, at 240 cycles each (U.
 * Drepper, "What Every Programmer Should Know About Memory", 2007, section 3.2:
 * access to main memory).  The first excludes streams whose misses overlap, the
 * second work that is slow for other reasons (divisions, branches).
 */
bool hp_counts_wait_for_memory(const struct hp_counts *grown);

/* The last counts, by thread and event. */
struct hp_count_slot {
	uint64_t event;	/* identifier, of a processor; 0 = empty */
	uint32_t tid;
	struct hp_counts last;
};

/*
 * The increase since the previous sample.  False = there was none, or the
 * numbers belong to another thread that had this tid.
 */
bool hp_counts_grow(struct hp_count_slot *slots, uint32_t tid, uint64_t event,
		    const struct hp_counts *now, struct hp_counts *grown);

/*
 * Adds the group to the sampling event's attributes, if this machine has it.
 * HOTPATH_TEST_COUNTS uses counters of the kernel instead: context switches for
 * instructions, page faults (of 10 misses each) for misses, ns for cycles.
 */
bool hp_perf_counts_ask(struct perf_event_attr *sampling, bool has_cycles);

/* The other event `which` (1 .. HP_COUNTS - 1) of the group of `leader`; descriptor or -errno. */
int hp_perf_counts_open(const struct perf_event_attr *sampling, int tid, int cpu, int leader,
			int which);

#endif
