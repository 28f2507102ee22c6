/* SPDX-License-Identifier: MIT */
/*
 * hook_confine.h - programs that forbid themselves system calls.
 *
 * A seccomp filter that allows write and exit_group alone kills a process for
 * a getpid() of ours.  From the moment a filter is asked for, we make no system
 * call any more: hooks take memory from pages that were mapped before, and the
 * end is left to the helper process, which sees it without being told.
 */
#ifndef HP_PRELOAD_HOOK_HOOK_CONFINE_H
#define HP_PRELOAD_HOOK_HOOK_CONFINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern _Atomic uint32_t hp_confined;

static inline bool hp_is_confined(void)
{
	return atomic_load_explicit(&hp_confined, memory_order_relaxed) != 0;
}

/* The caller's thread id; 0 = cannot be known in a confined process. */
uint32_t hp_confine_tid(void);

/* Is the caller the process's first thread? */
bool hp_confine_is_main(void);

/* Zeroed pages for confined processes; NULL = none left. */
void *hp_confine_pages(uint64_t size);
void *hp_confine_pages_wiped(void);

#endif
