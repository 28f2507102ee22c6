/* SPDX-License-Identifier: MIT */
/*
 * confine.h - programs that forbid themselves system calls.
 *
 * A seccomp filter that allows write and exit_group alone kills a process for
 * a getpid() of ours.  From the moment a filter is asked for, we make no system
 * call any more: hooks take memory from pages that were mapped before (pages.h),
 * and the end is left to the helper process, which sees it without being told.
 * The stand-ins that see a filter coming are in preload/hook/hook_confine.c.
 */
#ifndef HP_PRELOAD_GUEST_CONFINE_H
#define HP_PRELOAD_GUEST_CONFINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern _Atomic uint32_t hp_confined;

static inline bool hp_is_confined(void)
{
	return atomic_load_explicit(&hp_confined, memory_order_relaxed) != 0;
}

/* Before the first filter: where the C library keeps a thread's id is looked up. */
void hp_confine_prepare(void);

/* The caller's thread id; 0 = cannot be known in a confined process. */
uint32_t hp_confine_tid(void);

#endif
