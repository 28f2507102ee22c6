/* SPDX-License-Identifier: MIT */
/*
 * process.h - this process in the session: its record, its threads.
 */
#ifndef HP_PRELOAD_THREAD_PROCESS_H
#define HP_PRELOAD_THREAD_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/guest/self.h"
#include "segment/layout/process.h"

struct hp_local;

/* hp_self itself.  False = no memory, or a kernel without MADV_WIPEONFORK (before 4.14). */
bool hp_self_init(void);

/* Makes the record of this process if it has none yet.  False = no room. */
bool hp_self_open(void);

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

/* Offset of a new hp_text, 0 = full. */
uint64_t hp_text_new(const char *bytes, size_t length);

#endif
