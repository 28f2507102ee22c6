/* SPDX-License-Identifier: MIT */
/*
 * tid.h - the calling thread's id.
 *
 * The kernel is asked, unless the caller is the first thread and has asked before.
 */
#ifndef HP_PRELOAD_GUEST_TID_H
#define HP_PRELOAD_GUEST_TID_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* pthread_self(), which is elsewhere in libc: for a forked child that would be a page fault. */
static inline uintptr_t hp_tid_pointer(void)
{
#if defined(__x86_64__) && defined(__LP64__)
	uintptr_t pointer;

	/* gcc before 11 has no __builtin_thread_pointer here. */
	__asm__("movq %%fs:0, %0" : "=r"(pointer));
	return pointer;
#else
	return (uintptr_t)pthread_self();
#endif
}

/* 0 = unknown in a confined process. */
uint32_t hp_tid(void);

/* The same in a thread that the C library has just created: it knows the id, too. */
uint32_t hp_tid_born(void);

/* Is the caller the process's first thread? */
bool hp_tid_is_main(void);

/* Before the first filter: finds out where the C library stores a thread's id. */
void hp_tid_prepare(void);

#endif
