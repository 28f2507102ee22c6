/* SPDX-License-Identifier: MIT */
/*
 * whole.h - samples everything that a CPU runs, and keeps the session's samples.
 *
 * An inherited event starts its period anew in each thread. A thread that ends
 * before a period does is never sampled; and since the kernel passes the
 * events of one thread to the next when it switches between two with the same
 * events (the swap of contexts in perf_event_context_sched_out), the elapsed
 * part of a period is lost with the first thread to end, so the remaining ones
 * get few samples too. A CPU's timer never restarts its period. It interrupts
 * other users' work there as well, so it is used only if samples are missing,
 * and only with permission to sample everything.
 */
#ifndef HP_SAMPLER_PERF_WHOLE_H
#define HP_SAMPLER_PERF_WHOLE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "sampler/perf/ring.h"

struct hp_whole {
	struct perf_event_attr attr;
	int *fds;	/* NULL = the threads' own events are sampled */
	uint32_t count;
	bool is_begun;
	bool is_refused;
	uint64_t cpu_ns;	/* of the program when it began, */
	uint64_t sampled_ns;	/* and the weight of samples then, */
	uint32_t ended;
};

/*
 * The kernel's counts for a process: user and system time of it and of its children
 * that were waited for.
 */
struct hp_whole_use {
	uint64_t cpu_ns;	/* grain 1/sysconf(_SC_CLK_TCK) */
	uint32_t threads;
	uint32_t ended;	/* threads, and those of processes, whose end was recorded; not by hp_whole_use */
};

/* Reads /proc/PID/stat.  False = it is gone. */
bool hp_whole_use(uint32_t pid, struct hp_whole_use *use);

/*
 * True if at least a third of the CPU time since the first call has no sample: more
 * than all threads' pending periods (at most `period_ns` each), and no more than
 * the ended threads may have cost. Time may lack samples for other reasons that CPU
 * sampling does not fix: on some machines a third of the kernel's counts for two
 * alternating threads is the switches.
 */
bool hp_whole_is_wanted(struct hp_whole *whole, const struct hp_whole_use *use, uint64_t sampled_ns,
			uint64_t period_ns);

/*
 * Opens events like `attr` on all CPUs, into their rings, at this rate in Hz (0 = without samples);
 * they do not count yet. Returns 0 or -errno, and then it is permanently
 * refused.
 */
int hp_whole_open(struct hp_whole *whole, const struct perf_event_attr *attr,
		  const struct hp_perf_rings *rings, uint64_t hz);
void hp_whole_begin(struct hp_whole *whole);

/*
 * The same events, which report mappings and tasks of all processes, too, or no longer. Returns 0
 * or -errno, and then nothing has changed.
 */
int hp_whole_report(struct hp_whole *whole, const struct hp_perf_rings *rings, bool reports);

/* The same events, with this many bytes of the stack. */
void hp_whole_resize(struct hp_whole *whole, const struct hp_perf_rings *rings,
		     uint32_t stack_size);

void hp_whole_release(struct hp_whole *whole);

#endif
