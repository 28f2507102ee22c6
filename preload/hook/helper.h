/* SPDX-License-Identifier: MIT */
/*
 * helper.h - the helper process is no child of the program.
 */
#ifndef HP_PRELOAD_HOOK_HELPER_H
#define HP_PRELOAD_HOOK_HELPER_H

#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "preload/guest/confine.h"
#include "preload/guest/guest.h"

extern HP_HIDDEN _Atomic int hp_helper_child;	/* 0 = it is none, as nearly always */

/* Process 1, once its session is known: if the helper became its child, no wait tells of it. */
void hp_helper_hide(uint32_t pid);

/* The child to hide from the caller; 0 in children of process 1, which have a copy of all this. */
static inline int hp_helper_hidden(void)
{
	int pid = atomic_load_explicit(&hp_helper_child, memory_order_relaxed);

	return HP_LIKELY(pid == 0) || hp_is_confined() || getpid() != 1 ? 0 : pid;
}

#endif
