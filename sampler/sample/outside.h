/* SPDX-License-Identifier: MIT */
/*
 * outside.h - where threads wait, for who may not sample the kernel.
 *
 * Switch records tell everybody how long a thread was off the CPU, and only who
 * may see the kernel gets a stack with them.  For others a waiting thread is
 * looked at from outside: the kernel says which system call it is in, with the
 * program counter and stack pointer (/proc/PID/task/TID/syscall), and its stack
 * can be read, since it stands still.  A look is taken back if the thread was
 * on the CPU meanwhile.  Waits that end between two looks stay without a place.
 */
#ifndef HP_SAMPLER_SAMPLE_OUTSIDE_H
#define HP_SAMPLER_SAMPLE_OUTSIDE_H

#include "sampler/sample/sample.h"

#define HP_OUTSIDE_NS UINT64_C(4000000)	/* between two looks, while somebody waits unseen */
#define HP_OUTSIDE_IDLE_NS UINT64_C(50000000)	/* while no one does */

/* Looks at all that wait, since `least_ns` at least, and whose place is not known.  Returns how many were found. */
uint32_t hp_outside_look(struct hp_samples *samples, uint64_t least_ns);

#endif
