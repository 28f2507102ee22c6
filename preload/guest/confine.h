/* SPDX-License-Identifier: MIT */
/*
 * confine.h - programs that restrict their own system calls.
 *
 * A seccomp filter that only allows write and exit_group would kill the process
 * for our getpid(). Once a filter is requested, we make no more system calls:
 * hooks take memory from pages mapped before (pages.h), and the helper process
 * detects the end by itself. preload/hook/hook_confine.c interposes the calls
 * that install filters.
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

#endif
