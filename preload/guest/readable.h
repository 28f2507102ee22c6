/* SPDX-License-Identifier: MIT */
/*
 * readable.h - which memory of this process can be read, for walks of stacks.
 *
 * Asked of the kernel, which answers for memory that is gone with an error
 * instead of a fault.  No lock, no memory: signal handlers ask too.  errno is kept.
 */
#ifndef HP_PRELOAD_GUEST_READABLE_H
#define HP_PRELOAD_GUEST_READABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/walk.h"

#define HP_READABLE_MOST (UINT64_C(1) << 30)	/* a larger span is no stack */

/* True if each page of [address, address + size) can be read.  Confined: nobody may ask, so false. */
bool hp_readable(uintptr_t address, uintptr_t size);

/* The same of up to a page of bytes, faster where they can be read. */
bool hp_readable_few(uintptr_t address, uintptr_t size);

/* In the first thread of the process, before there are others. */
void hp_readable_begin(void);

/* The end of the stack that `sp` is on: the main thread's, or the caller's by glibc; 0 = another. */
uintptr_t hp_readable_stack_end(uintptr_t sp);

/*
 * Before a walk from `sp`, where that is below the walker's home: it becomes part of it if all in between can be read.
 * Else it is on a stack of the program's own, and so is what is below it.  Looking takes 10 us for
 * each MiB of that, so it is not done at each walk of a fiber.
 */
void hp_readable_home(struct hp_walker *walker, uintptr_t sp);

#endif
