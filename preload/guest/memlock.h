/* SPDX-License-Identifier: MIT */
/*
 * memlock.h - excludes our memory when the program locks all of its memory.
 *
 * The segment is a sparse mapping of 1 GiB, the directory and leaves of preload/heap/shadow.h some
 * 16 MiB each. mlockall() would populate them, or fail although the program's
 * own memory is well below the limit.  So the interposed function
 * (preload/hook/hook_memlock.c) locks all other mappings one by one, and our
 * new mappings are exempted at once while MCL_FUTURE is set.
 */
#ifndef HP_PRELOAD_GUEST_MEMLOCK_H
#define HP_PRELOAD_GUEST_MEMLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Private zeroed pages, with MAP_NORESERVE or 0; NULL = refused.  Never locked.  Changes errno. */
void *hp_memlock_map(uint64_t size, int flags);

/* Frees them. Changes errno. */
void hp_memlock_unmap(void *pages, uint64_t size);

/*
 * The range of most of them: [*begin, *end), where the kernel never places the
 * program's mappings on its own.
 */
void hp_memlock_span(uintptr_t *begin, uintptr_t *end);

/* Our first range that ends after `at`: *begin and *end; both `limit` if none exists below it. */
void hp_memlock_next(uintptr_t at, uintptr_t limit, uintptr_t *begin, uintptr_t *end);

/* Later mappings would be locked. */
void hp_memlock_future_set(bool locks);
bool hp_memlock_future(void);

#endif
