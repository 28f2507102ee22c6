/* SPDX-License-Identifier: MIT */
/*
 * birth.h - records a thread's creator, start, end and function.
 */
#ifndef HP_PRELOAD_HOOK_BIRTH_H
#define HP_PRELOAD_HOOK_BIRTH_H

#include <stdint.h>

#include "preload/guest/above.h"

struct hp_thread;

extern const struct hp_recorder hp_thread_recorder;

/* A thread is being created at `at` to run `routine`; NULL = not recorded. */
struct hp_thread *hp_birth(uintptr_t routine, void *argument, uintptr_t at);

/* Runs first in the thread; returns its argument. */
void *hp_birth_begin(struct hp_thread *thread);

/* Threads without a record are counted, so that the report can mention them. */
void hp_birth_more(uintptr_t at);

/* The thread was not created after all. */
void hp_birth_failed(struct hp_thread *thread);

/*
 * In a child of fork(), before it continues: it belongs to the session even if
 * it never calls us.
 */
void hp_birth_forked(void);

#endif
