/* SPDX-License-Identifier: MIT */
/*
 * memlock.h - our memory is not locked when the program locks all of its own.
 *
 * The segment is a sparse mapping of 1 GiB, the directory and leaves of preload/heap/shadow.h some
 * 16 MiB each.  mlockall() would fill them with pages, or fail for a limit that the program's own
 * memory is well below.  So the stand-in (preload/hook/hook_memlock.c) locks what is not ours, mapping by mapping, and
 * what we map while later mappings are to be locked is exempted at once.
 */
#ifndef HP_PRELOAD_GUEST_MEMLOCK_H
#define HP_PRELOAD_GUEST_MEMLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Private zeroed pages, with MAP_NORESERVE or 0; NULL = refused.  Never locked.  Changes errno. */
void *hp_memlock_map(uint64_t size, int flags);

/* Gives them back.  Changes errno. */
void hp_memlock_unmap(void *pages, uint64_t size);

/* Where most of them are: [*begin, *end), in which the kernel puts nothing of the program's by itself. */
void hp_memlock_span(uintptr_t *begin, uintptr_t *end);

/* The first of ours that ends behind `at`: *begin and *end; both `limit` if there is none below it. */
void hp_memlock_next(uintptr_t at, uintptr_t limit, uintptr_t *begin, uintptr_t *end);

/* What is mapped from now on would be locked. */
void hp_memlock_future_set(bool locks);
bool hp_memlock_future(void);

#endif
