/* SPDX-License-Identifier: MIT */
/*
 * birth.h - who made a thread, when it began and ended, what it ran.
 */
#ifndef HP_PRELOAD_HOOK_BIRTH_H
#define HP_PRELOAD_HOOK_BIRTH_H

#include <stdint.h>

#include "preload/guest/above.h"

struct hp_thread;

extern const struct hp_recorder hp_thread_recorder;

/* A thread is made at `at` that is to run `routine`; NULL = it is not recorded. */
struct hp_thread *hp_birth(uintptr_t routine, void *argument, uintptr_t at);

/* Its first words; returns its argument. */
void *hp_birth_begin(struct hp_thread *thread);

/* Those beyond the records are counted, so that the report can say that they are in no list. */
void hp_birth_more(void);

/* In a child of fork(), before it goes on: it is one of the session's, whether it ever calls us or not. */
void hp_birth_forked(void);

#endif
