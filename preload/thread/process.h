/* SPDX-License-Identifier: MIT */
/*
 * process.h - this process in the session: its record, its threads.
 */
#ifndef HP_PRELOAD_THREAD_PROCESS_H
#define HP_PRELOAD_THREAD_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/thread/spare.h"
#include "preload/call/local.h"
#include "segment/layout/process.h"
#include "segment/segment.h"

struct hp_direct;
struct hp_heap_local;

/* The session's segment; header NULL = we do not record. */
extern struct hp_segment hp_segment;

/*
 * What a process knows of itself.  In a MADV_WIPEONFORK page: a child of any
 * kind finds zeroes, and makes its own record in the same segment with its
 * first hook.
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
};

extern struct hp_self *hp_self;

/* The page itself.  False = no memory, or a kernel without MADV_WIPEONFORK (before 4.14). */
bool hp_self_init(void);

/* Makes the record of this process if it has none yet.  False = no room. */
bool hp_self_open(void);

/* True in the process that owns the record; false in a vfork child. */
bool hp_self_is_me(void);

/* Notes how the process ends: enum hp_ending. */
void hp_self_end(uint32_t ending, int code);

/* The calling thread was the last, and has closed: the records are free for another process. */
void hp_self_leave(void);

/* After hp_self_end with HP_ENDING_EXEC: the exec failed, it goes on. */
void hp_self_go_on(void);

/*
 * A block for the calling thread: one that an ended thread left, or a new one; NULL = full.
 * *user = the hp_local that used it before in this process; NULL = none did.
 */
struct hp_block *hp_self_block(struct hp_local **user);

/* The block is free, of `user` or of nobody. */
void hp_self_give(struct hp_block *block, struct hp_local *user);
void hp_self_add(struct hp_local *me);

/* hp_row_forget in all threads. */
void hp_self_forget(uintptr_t begin, uintptr_t end);

/* Puts a complete record at the head of a list. */
void hp_list_push(_Atomic uint64_t *head, uint64_t offset, uint64_t *next);

/* The kernel refused memory, or an answer that something is not counted without: the report says how often. */
void hp_refused(void);

/* Offset of a new hp_text, 0 = full. */
uint64_t hp_text_new(const char *bytes, size_t length);

#endif
