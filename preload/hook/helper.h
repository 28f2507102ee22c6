/* SPDX-License-Identifier: MIT */
/*
 * helper.h - hides the helper process from the program's waits.
 */
#ifndef HP_PRELOAD_HOOK_HELPER_H
#define HP_PRELOAD_HOOK_HELPER_H

#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "preload/guest/confine.h"
#include "preload/guest/guest.h"

extern HP_HIDDEN _Atomic int hp_helper_child;	/* 0 = not our child, as nearly always */

/* For process 1, once its session is known: if the helper became its child, no wait reports it. */
void hp_helper_hide(uint32_t pid);

/*
 * The child to hide from the caller; 0 in children of process 1, which have a
 * copy of this state.
 */
static inline int hp_helper_hidden(void)
{
	int pid = atomic_load_explicit(&hp_helper_child, memory_order_relaxed);

	return HP_LIKELY(pid == 0) || hp_is_confined() || getpid() != 1 ? 0 : pid;
}

#endif
