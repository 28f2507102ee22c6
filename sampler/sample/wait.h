/* SPDX-License-Identifier: MIT */
/*
 * wait.h - threads that gave up the CPU: since when, and where.
 *
 * The kernel reports each switch away from a thread and back to it to every
 * user; the stack is in a sample just before, if sampling the kernel is
 * permitted. A preempted thread does not wait.
 */
#ifndef HP_SAMPLER_SAMPLE_WAIT_H
#define HP_SAMPLER_SAMPLE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "segment/layout/sample.h"

struct hp_event;

/* An ended wait whose place is not known, or only from outside (outside.h). */
struct hp_wait_open {
	uint64_t out_ns;
	uint64_t in_ns;
	struct hp_event *event;	/* NULL = not kept */
	uint32_t node;	/* where it is counted; 0 = it has no place */
};

#define HP_TID_GONE UINT32_MAX
#define HP_WAITS_OPEN 256	/* of a thread; the oldest goes */

struct hp_wait_thread {
	uint32_t tid;	/* 0 = empty */
	uint32_t node;	/* of the last stack; 0 = none */
	uint64_t node_ns;	/* when that was */
	uint64_t out_ns;	/* start of its wait; 0 = not waiting */
	uint32_t pid;
	uint32_t wait_node;	/* its place; 0 = not known */
	uint64_t look_ns;	/* time at which it was seen there from outside; 0 = never */
	uint64_t counted_ns;	/* time up to which this wait is in the sums; 0 = it is not */
	uint64_t told_ns;	/* time up to which it has an event; 0 = it has none */
	uint32_t counted_node;	/* in the sums of this node */
	struct hp_wait_open *open;	/* HP_WAITS_OPEN, some in use; NULL = never used */
	uint32_t open_count;
	bool is_ended;
	uint64_t slices;	/* with bursts (burst.h): its time slices so far */
	uint64_t slices_ns;	/* at this time, in a tracked wait; 0 = none */
};

struct hp_waits {
	struct hp_wait_thread *threads;	/* open addressing */
	uint32_t room;	/* a power of two */
	uint32_t count;
};

/*
 * The thread, found or created; NULL = no memory, or a number that no thread has: records of a thread
 * that the kernel has already removed have HP_TID_GONE. Valid until the next call.
 */
struct hp_wait_thread *hp_wait_thread_of(struct hp_waits *waits, uint32_t tid);
/* Keeps a wait until a note says its place. */
void hp_wait_keep(struct hp_wait_thread *thread, const struct hp_wait_open *wait);

void hp_waits_release(struct hp_waits *waits);

#endif
