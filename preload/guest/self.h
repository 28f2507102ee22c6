/* SPDX-License-Identifier: MIT */
/*
 * self.h - this process's own state: the segment that it writes, and a page
 * that a forked child finds zeroed.
 */
#ifndef HP_PRELOAD_GUEST_SELF_H
#define HP_PRELOAD_GUEST_SELF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "preload/guest/guest.h"
#include "preload/guest/free_list.h"
#include "segment/segment.h"

struct hp_direct;
struct hp_heap_local;
struct hp_local;
struct hp_lock_table;
struct hp_waiter_local;

/* The session's segment; header NULL = not recording. */
extern struct hp_segment hp_segment;

enum hp_self_state { HP_SELF_NONE = 0, HP_SELF_OPENING, HP_SELF_OPEN, HP_SELF_REFUSED };

/*
 * In a MADV_WIPEONFORK page: any child finds zeroes and makes its own record in
 * the same segment at its first hook.
 */
struct hp_self {
	_Atomic uint32_t state;	/* enum hp_self_state */
	uint32_t pid;	/* also distinguishes us from a vfork child, which shares this page */
	uint64_t forked_after_ns;	/* hp_self_open_forked(), while it runs */
	_Atomic uintptr_t opener;	/* the thread that makes the record; 0 = none */
	struct hp_process *process;
	struct hp_free_list ended_blocks;
	struct hp_free_list ended_heaps;
	struct hp_free_list ended_waiters;
	_Atomic(struct hp_local *) locals;	/* of all threads, ended ones too */
	_Atomic(struct hp_heap_local *) heaps;	/* the same for allocations, */
	_Atomic uint32_t heap_count;	/* and how many */
	_Atomic(struct hp_lock_table *) locks;	/* NULL = none yet */
	_Atomic(struct hp_waiter_local *) waiters;	/* of all threads, ended ones too */
	_Atomic(struct hp_direct *) direct;	/* its mappings; NULL = none yet */
	/* Used by the child that created the helper (preload/hook/hook_usage.c) */
	struct rusage spent;
	/*
	 * The bytes held, approximately (preload/heap/peak.h). In a cache line of its own, since all
	 * threads write it.
	 */
	_Alignas(64) _Atomic int64_t heap_sum;
};

extern struct hp_self *hp_self;

/*
 * Its earlier value, before the process dropped privileges
 * (preload/thread/level.h); NULL = never.
 */
extern HP_HIDDEN struct hp_self *hp_self_before;

/* True in the process that owns the record; false in a vfork child. */
bool hp_self_is_me(void);

/*
 * True in a vfork child, which has its parent's memory, but its own descriptors.  A forked child
 * that has made no record yet is none.
 */
bool hp_self_is_borrowed(void);

/* Pushes a complete record onto a list. */
void hp_list_push(_Atomic uint64_t *head, uint64_t offset, uint64_t *next);

/* Counts refusals by the kernel (memory, or information needed for counting) for the report. */
void hp_refused(void);

#endif
