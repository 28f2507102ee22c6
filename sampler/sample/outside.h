/* SPDX-License-Identifier: MIT */
/*
 * outside.h - where threads wait, for users who may not sample the kernel.
 *
 * Switch records tell everyone how long a thread was off the CPU, but contain a
 * stack only for users who may sample the kernel. For others a waiting thread
 * is examined from outside: the kernel tells its system call, program counter
 * and stack pointer (/proc/PID/task/TID/syscall), and its stack can be read,
 * since it does not run. A result is discarded if the thread was on the CPU
 * meanwhile. Waits that end between two scans remain without a place.
 */
#ifndef HP_SAMPLER_SAMPLE_OUTSIDE_H
#define HP_SAMPLER_SAMPLE_OUTSIDE_H

#include "sampler/sample/sample.h"

#define HP_OUTSIDE_NS UINT64_C(4000000)	/* between two scans, while some wait has no place */
#define HP_OUTSIDE_IDLE_NS UINT64_C(50000000)	/* while none has */

/*
 * Scans all threads that have been waiting for at least `least_ns` at an unknown
 * place. Returns how many places were found.
 */
uint32_t hp_outside_look(struct hp_samples *samples, uint64_t least_ns);

/* When the next scan is due if that one began at `since_ns`; in crowds of threads, later. */
uint64_t hp_outside_next(uint64_t since_ns, uint64_t interval_ns);

#endif
