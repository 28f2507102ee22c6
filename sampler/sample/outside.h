/* SPDX-License-Identifier: MIT */
/*
 * outside.h - where threads wait, for users who may not sample the kernel.
 *
 * Switch records tell everyone how long a thread was off the CPU, but give a
 * stack only to users who may see the kernel.  For others a waiting thread is
 * looked at from outside: the kernel says which system call it is in, with the
 * program counter and stack pointer (/proc/PID/task/TID/syscall), and its stack
 * can be read, since it stands still.  A result is discarded if the thread was
 * on the CPU meanwhile.  Waits that end between two scans stay without a place.
 */
#ifndef HP_SAMPLER_SAMPLE_OUTSIDE_H
#define HP_SAMPLER_SAMPLE_OUTSIDE_H

#include "sampler/sample/sample.h"

#define HP_OUTSIDE_NS UINT64_C(4000000)	/* between two scans, while some wait is unseen */
#define HP_OUTSIDE_IDLE_NS UINT64_C(50000000)	/* while no one does */

/*
 * Scans all threads that have been waiting for `least_ns` or longer at an unknown
 * place.  Returns how many were found.
 */
uint32_t hp_outside_look(struct hp_samples *samples, uint64_t least_ns);

#endif
