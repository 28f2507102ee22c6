/* SPDX-License-Identifier: MIT */
/*
 * end.h - recorders hear of a thread's end.
 *
 * All share one key of pthread_key_create.  A process has 1024 of them, and a program that asks for more
 * than are left gets ours: from then on no recorder hears of an end.
 * What a thread had then stays its own, and is in all sums, but no later thread takes it over.
 *
 * Destructors of other keys may run code that is recorded, so a recorder asks to be called again
 * (hp_end_watch in its own call) until the last of PTHREAD_DESTRUCTOR_ITERATIONS rounds.
 */
#ifndef HP_PRELOAD_THREAD_END_H
#define HP_PRELOAD_THREAD_END_H

#include <stdbool.h>

#define HP_ENDS_MOST 7	/* recorders */

/* Returns a number for hp_end_watch; -1 = ends are not to be had.  While the library starts. */
int hp_end_new(void (*end)(void *data));

/* `end` is called with `data`, not NULL, when the calling thread ends.  False = it is not. */
bool hp_end_watch(int number, void *data);

/* The program wants a key, and there is none.  True = there is one now. */
bool hp_end_give_up(void);

#endif
