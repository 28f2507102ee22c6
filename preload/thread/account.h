/* SPDX-License-Identifier: MIT */
/*
 * account.h - resources used by each image of a process: CPU time, page faults,
 * memory.
 *
 * The kernel counts these per process, across exec. An image's own usage is the
 * difference to the counts at its start. An image that only lived from fork to
 * exec counts as part of its successor; otherwise shells and spawners would be
 * listed with a run for each program that they start.
 */
#ifndef HP_PRELOAD_THREAD_ACCOUNT_H
#define HP_PRELOAD_THREAD_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "segment/layout/process.h"

/* Start values of a record's next image. */
struct hp_account_begin {
	uint64_t cpu_ns;	/* the kernel's counts at that time */
	uint64_t minor_faults;
	uint64_t major_faults;
	uint64_t start_ticks;	/* of its lifetime; 0 = unknown */
};

/* CPU time of this process so far; 0 = unknown.  Keeps errno. */
uint64_t hp_account_cpu_ns(void);

/* Adds the CPU time since then to that of our start in this image. */
void hp_account_started(uint64_t since_ns);

/* At the start of an image: its name, and the process in which it began. */
void hp_account_image(uint32_t pid);

/* The process has not been forked since its image began. */
bool hp_account_is_image(void);

/* Data from the process's previous image, if it ended by exec and is recorded; else zeroes. */
void hp_account_before(uint32_t pid, uint64_t started, struct hp_account_begin *begin);

/* Adds the record's image to the sums of its name; the caller owns the record. */
void hp_account_fold(const struct hp_process *process);

/* Makes the otherwise complete record describe the caller's image. */
void hp_account_open(struct hp_process *process, const struct hp_account_begin *begin);

/*
 * A child ended with that status, as its parent learned from wait().  One that was killed could not note its end
 * itself.  May be called in a signal handler; keeps errno.
 */
void hp_account_waited(uint32_t pid, int status);

/* The image ends, by exec or finally.  Returns its own peak RSS in KiB, 0 = unknown. */
uint64_t hp_account_end(const struct hp_process *process, const struct rusage *usage,
			const struct rusage *children);

#endif
