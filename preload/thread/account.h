/* SPDX-License-Identifier: MIT */
/*
 * account.h - what each image of a process took: CPU time, page faults, memory.
 *
 * The kernel counts these for a process, across exec.  An image's own are the
 * difference to what was counted when it began.  An image that only lived from
 * fork to exec is part of the one that followed: shells and spawners would else
 * be listed with a run for each program that they start.
 */
#ifndef HP_PRELOAD_THREAD_ACCOUNT_H
#define HP_PRELOAD_THREAD_ACCOUNT_H

#include <stdint.h>
#include <sys/resource.h>

#include "segment/layout/process.h"

/* What the image that comes next in a record begins with. */
struct hp_account_begin {
	uint64_t cpu_ns;	/* what the kernel counted by then */
	uint64_t minor_faults;
	uint64_t major_faults;
	uint64_t start_ticks;	/* of its life; 0 = unknown */
};

/* At the start of an image: its name, and in which process it began. */
void hp_account_image(uint32_t pid);

/* What the image before in this process left, if it ended by exec and is recorded; else zeroes. */
void hp_account_before(uint32_t pid, uint64_t started, struct hp_account_begin *begin);

/* Adds the image that the record describes to the sums of its name; the record is the caller's. */
void hp_account_fold(const struct hp_process *process);

/* The record, which is complete but for this, describes the caller's image from here on. */
void hp_account_open(struct hp_process *process, const struct hp_account_begin *begin);

/* The image ends, by exec or for good. */
void hp_account_end(const struct hp_process *process, const struct rusage *usage,
		    const struct rusage *children);

#endif
