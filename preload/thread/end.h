/* SPDX-License-Identifier: MIT */
/*
 * end.h - notifies recorders of a thread's end.
 *
 * All share one key of pthread_key_create. A process has 1024 keys, and a
 * program that runs out of them gets ours: from then on no recorder is
 * notified. A thread's records then stay in all sums, but no later thread
 * reuses them.
 *
 * Destructors of other keys may run recorded code, so a recorder requests
 * another call (hp_end_watch from its callback) until the last of
 * PTHREAD_DESTRUCTOR_ITERATIONS rounds.
 */
#ifndef HP_PRELOAD_THREAD_END_H
#define HP_PRELOAD_THREAD_END_H

#include <stdbool.h>

#define HP_ENDS_MAX 10 /* recorders */

/* Returns a number for hp_end_watch; -1 = unavailable. Only during the library's start. */
int hp_end_new(void (*end)(void *data));

/* Calls `end` with `data` (not NULL) when the calling thread ends. False = unavailable. */
bool hp_end_watch(int number, void *data);

/* The program is out of keys: releases ours. True = released. */
bool hp_end_give_up(void);

#endif
