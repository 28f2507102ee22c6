/* SPDX-License-Identifier: MIT */
/*
 * drop.h - leaves the segment if this process has dropped privileges (level.h).
 */
#ifndef HP_PRELOAD_THREAD_DROP_H
#define HP_PRELOAD_THREAD_DROP_H

/*
 * Call after a change of the credentials of the whole process or, by raw system
 * call, of the calling thread.
 */
void hp_drop_look(void);
void hp_drop_look_at_thread(void);

/*
 * The same without a known call: on the first thread, if it had any privileges
 * to drop. Data written since is then trusted no more than data written now.
 */
void hp_drop_check(void);

/* The same for what may happen often: the kernel is asked at most once in a millisecond or so. */
void hp_drop_check_at_times(void);

#endif
