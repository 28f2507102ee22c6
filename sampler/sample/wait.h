/* SPDX-License-Identifier: MIT */
/*
 * wait.h - threads that gave up the CPU: since when, and where.
 *
 * The kernel tells every user of each switch away from a thread and back to it;
 * the stack comes with a sample just before, where samples of the kernel are
 * allowed.  A thread that lost the CPU to another one does not wait.
 */
#ifndef HP_SAMPLER_SAMPLE_WAIT_H
#define HP_SAMPLER_SAMPLE_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "segment/layout/sample.h"

struct hp_event;

/* A wait that is over, and has no place yet. */
struct hp_wait_open {
	uint64_t out_ns;
	uint64_t in_ns;
	struct hp_event *event; /* NULL = not kept */
};

#define HP_WAITS_OPEN 256 /* of a thread; the oldest goes */

struct hp_wait_thread {
	uint32_t tid; /* 0 = empty */
	uint32_t node; /* of the last stack; 0 = none */
	uint64_t node_ns; /* when that was */
	uint64_t out_ns; /* since when it waits; 0 = it does not */
	uint32_t pid;
	uint32_t wait_node; /* where; 0 = not known */
	uint64_t look_ns; /* seen there from outside, at this time; 0 = not */
	uint64_t counted_ns; /* until when this wait is in the sums; 0 = it is not */
	uint64_t told_ns; /* until when it has an event; 0 = it has none */
	uint32_t counted_node; /* in those of this node */
	struct hp_wait_open *open; /* HP_WAITS_OPEN, some in use; NULL = none ever was */
	uint32_t open_count;
	bool is_ended;
	uint64_t slices; /* with bursts (burst.h): time slices that it had had */
	uint64_t slices_ns; /* at this time, in a wait that is followed; 0 = it is not */
};

struct hp_waits {
	struct hp_wait_thread *threads; /* open addressing */
	uint32_t room; /* a power of two */
	uint32_t count;
};

/* The thread, found or made; NULL = no memory.  Valid until the next call. */
struct hp_wait_thread *hp_wait_thread_of(struct hp_waits *waits, uint32_t tid);
/* Keeps a wait until its place is known. */
void hp_wait_keep(struct hp_wait_thread *thread, const struct hp_wait_open *wait);

void hp_waits_release(struct hp_waits *waits);

#endif
