/* SPDX-License-Identifier: MIT */
/*
 * readable.h - finds readable memory of this process, for stack walks.
 *
 * Uses system calls, which return an error for unmapped memory instead of
 * faulting. No lock, no allocation: signal handlers may call it. errno is
 * preserved.
 */
#ifndef HP_PRELOAD_GUEST_READABLE_H
#define HP_PRELOAD_GUEST_READABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "unwind/walk.h"

#define HP_READABLE_MAX (UINT64_C(1) << 30)	/* a larger span is not a stack */

/* True if each page of [address, address + size) is readable. Always false when confined. */
bool hp_readable(uintptr_t address, uintptr_t size);

/* The same for up to a page of bytes, faster if readable. */
bool hp_readable_few(uintptr_t address, uintptr_t size);

/* In the first thread of the process, before there are others. */
void hp_readable_begin(void);

/* The end of the stack that `sp` is on: the main thread's, or the caller's by glibc; 0 = another. */
uintptr_t hp_readable_stack_end(uintptr_t sp);

/*
 * Before a walk from an `sp` below the walker's home: extends the home if
 * everything in between is readable. Otherwise `sp` and everything below it are
 * on a stack of the program's own. The check takes 10 us per MiB, so it is not
 * repeated for each walk of a fiber.
 */
void hp_readable_home(struct hp_walker *walker, uintptr_t sp);

#endif
