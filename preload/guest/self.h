/* SPDX-License-Identifier: MIT */
/*
 * self.h - what this process knows of itself: the segment that it writes, and
 * the page that a forked child finds empty.
 */
#ifndef HP_PRELOAD_GUEST_SELF_H
#define HP_PRELOAD_GUEST_SELF_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "preload/guest/guest.h"
#include "preload/guest/spare.h"
#include "segment/segment.h"

struct hp_direct;
struct hp_heap_local;
struct hp_local;
struct hp_lock_table;
struct hp_waiter_local;

/* The session's segment; header NULL = we do not record. */
extern struct hp_segment hp_segment;

enum hp_self_state { HP_SELF_NONE = 0, HP_SELF_OPENING, HP_SELF_OPEN, HP_SELF_REFUSED };

/*
 * In a MADV_WIPEONFORK page: a child of any kind finds zeroes, and makes its own
 * record in the same segment with its first hook.
 */
struct hp_self {
	_Atomic uint32_t state;	/* enum hp_self_state */
	uint32_t pid;	/* also tells a vfork child, which shares this page, from us */
	struct hp_process *process;
	struct hp_spares spare_blocks;
	struct hp_spares spare_heaps;
	struct hp_spares spare_waiters;
	_Atomic(struct hp_local *) locals;	/* of all threads, ended ones too */
	_Atomic(struct hp_heap_local *) heaps;	/* the same of the allocation stand-ins */
	_Atomic(struct hp_lock_table *) locks;	/* NULL = none yet */
	_Atomic(struct hp_waiter_local *) waiters;	/* of all threads, ended ones too */
	_Atomic(struct hp_direct *) direct;	/* what it mapped; NULL = nothing yet */
	struct rusage spent;	/* by the child that made the helper (preload/hook/hook_usage.c) */
};

extern struct hp_self *hp_self;

/* What it was before the process gave up rights (preload/thread/level.h); NULL = it never did. */
extern HP_HIDDEN struct hp_self *hp_self_before;

/* True in the process that owns the record; false in a vfork child. */
bool hp_self_is_me(void);

/* Is the caller the process's first thread? */
bool hp_self_is_main(void);

/* Puts a complete record at the head of a list. */
void hp_list_push(_Atomic uint64_t *head, uint64_t offset, uint64_t *next);

/* The kernel refused memory, or an answer that something is not counted without: the report says how often. */
void hp_refused(void);

#endif
