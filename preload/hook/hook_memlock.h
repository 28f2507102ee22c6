/* SPDX-License-Identifier: MIT */
/*
 * hook_memlock.h - our memory is not locked when the program locks all of its own.
 *
 * The segment is a sparse mapping of 1 GiB, the directory and leaves of preload/heap/shadow.h some
 * 16 MiB each.  mlockall() would fill them with pages, or fail for a limit that the program's own
 * memory is well below.  So the stand-in locks what is not ours, mapping by mapping, and
 * what we map while later mappings are to be locked is exempted at once.
 */
#ifndef HP_PRELOAD_HOOK_HOOK_MEMLOCK_H
#define HP_PRELOAD_HOOK_HOOK_MEMLOCK_H

#include <stdint.h>

/* Private zeroed pages, with MAP_NORESERVE or 0; NULL = refused.  Never locked.  Changes errno. */
void *hp_memlock_map(uint64_t size, int flags);

/* Gives them back.  Changes errno. */
void hp_memlock_unmap(void *pages, uint64_t size);

/* Where most of them are: [*begin, *end), in which the kernel puts nothing of the program's by itself. */
void hp_memlock_span(uintptr_t *begin, uintptr_t *end);

#endif
